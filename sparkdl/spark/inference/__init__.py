"""Networks in use on Spark: predictions, features, evaluations, and tables of them."""
