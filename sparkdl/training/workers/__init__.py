"""Workers: the interface that they implement, and local processes that do."""
