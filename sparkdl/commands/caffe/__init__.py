"""sparkdl caffe: solvers of Caffe on Spark, with the flags of CaffeOnSpark."""
