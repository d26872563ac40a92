"""A real HDFS and YARN on this machine: the fixtures `hdfs` and `yarn`, and build.py cluster."""
