"""Local SGD: workers train in step at first, then alone between averages."""
