"""JVM options for tests, whose JVMs end before slow-starting optimizations pay off."""

import os

from tests.support import python_zips
from tests.support.class_archive import JARS, place

SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
# A heap begins with a 64th of the machine's memory, needed or not; and growing metaspace collects.
GROWING = "-Xms48m -XX:MetaspaceSize=64m"
# Archives stay where they were made for. Elsewhere each JVM would write 200 MB of its own.
# To verify the bytecode of Hadoop's and Spark's jars is a tenth of what a short JVM does.
IN_PLACE = "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
IN_PLACE += " -XX:-BytecodeVerificationRemote"
UNSHARED = f"{SMALL} {GROWING} {IN_PLACE}"  # for those whose jars are others
# Where the archive is none of this JVM's, it starts as ever, and is not to print that.
FRUGAL = f"{UNSHARED} -XX:SharedArchiveFile={place()} -Xlog:cds=off,cds+dynamic=off"
PARTS = "driver", "executor"
# Else a task that has begun may count only at the next heartbeat, up to 10 s later.
AT_ONCE = {"spark.ui.liveUpdate.period": "0"}


def frugal_spark(folder):
    """Makes drivers and executors frugal if this process or its children start them.

    Parameters
    ----------
    folder : Path
        Where spark-defaults.conf goes.
    """
    folder.mkdir(exist_ok=True)
    own = options() | {"spark.executorEnv.SPARK_HOME": python_zips.home()}
    lines = (f"{key} {value}\n" for key, value in own.items())
    (folder / "spark-defaults.conf").write_text("".join(lines))
    os.environ["SPARK_CONF_DIR"] = str(folder)


def options(*more):
    """Returns Spark options that make drivers, executors and `more` frugal."""
    own = {f"spark.{part}.extraJavaOptions": FRUGAL for part in (*PARTS, *more)}
    return AT_ONCE | own | {f"spark.{part}.extraClassPath": JARS for part in PARTS}
