"""sparkdl doctor: checks for what keeps a cluster from training."""

from sparkdl.spark.cluster_check.doctor import doctor as examine
from sparkdl.spark.session import session


def doctor(arguments):
    """Prints the diagnosis; the exit code is 1 where something is to mend."""
    with session(arguments.master, name="sparkdl doctor") as spark:
        diagnosis = examine(spark)
    print(diagnosis)
    if diagnosis.problems:
        raise SystemExit(1)
