"""Networks trained and used over Spark Connect, where there is no SparkContext and no RDD."""
