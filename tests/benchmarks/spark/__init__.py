"""Whole fits and predictions on Spark: sparkdl against peers and bare Spark, alternating.

Each figure comes from a new process and session with two executors of one core; the sides of a row
alternate, and medians are compared. All JVMs get the same options. The records are MNIST's if
`--mnist` names its folder, else the package's digits, repeated. The first run creates the
environment of Elephas.
"""


def main(arguments):
    from tests.benchmarks.spark import table  # peer processes import this package too

    table.main(arguments)
