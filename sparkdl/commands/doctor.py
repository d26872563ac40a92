"""sparkdl doctor: checks for what keeps a cluster from training."""

from sparkdl.spark.cluster_check.doctor import doctor as examine
from sparkdl.spark.session import session


def doctor(arguments):
    """Prints the diagnosis; exits with 1 if it found problems."""
    with session(arguments.master, name="sparkdl doctor") as spark:
        diagnosis = examine(spark)
    print(diagnosis)
    if diagnosis.problems:
        raise SystemExit(1)
