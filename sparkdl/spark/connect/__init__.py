"""Training and use of networks over Spark Connect, without a SparkContext or RDDs."""
