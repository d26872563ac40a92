"""Block momentum: averages of parameters pass through a filter with momentum."""
