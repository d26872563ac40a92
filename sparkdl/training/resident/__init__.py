"""Workers that stay for a whole fit, and the driver's side of them."""
