"""Whole fits and predictions on Spark: sparkdl against Elephas and against Spark itself, in turns.

Each figure is taken in a process of its own with a session of its own on two executors of one core;
the sides of a row take turns, and the medians are compared. Both sides' JVMs get the same options.
MNIST's files, where `--mnist` names their folder, are the records; else the package's digits,
repeated. The environment of Elephas is made on the first run.
"""


def main(arguments):
    from tests.benchmarks.spark import table  # peers' processes import this package too

    table.main(arguments)
