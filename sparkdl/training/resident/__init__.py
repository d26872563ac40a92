"""Workers that stay for a whole fit, and the driver's part in running them."""
