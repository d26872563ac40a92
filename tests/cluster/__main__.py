"""build.py cluster: runs the tests' HDFS and YARN for use by hand."""

import argparse
import os
import signal
import tempfile

from tests.cluster.hdfs import Hdfs
from tests.cluster.jars import Unavailable
from tests.cluster.submission import programs
from tests.cluster.yarn import Yarn

SHOWN = "HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON"


def main(arguments=None):
    """Starts the cluster, prints its addresses, and stops it at Ctrl-C or SIGTERM."""
    options = parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # shells make background jobs ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="sparkdl-cluster-") as folder:
        hdfs = yarn = None
        try:
            print("starting; this takes some 20 s", flush=True)
            hdfs = Hdfs(folder, options.datanodes).start()
            yarn = Yarn(hdfs, options.nodes).start() if options.nodes else None
            print(described(hdfs, yarn), flush=True)
            while True:
                signal.pause()
        except Unavailable as error:
            raise SystemExit(f"build.py cluster: {error}") from error
        except KeyboardInterrupt:
            print("ending")
        finally:
            for part in filter(None, (yarn, hdfs)):
                part.stop()


def parser():
    one = argparse.ArgumentParser(prog="build.py cluster", description=__doc__)
    count = {"type": int, "default": 2, "metavar": "N"}
    one.add_argument("--datanodes", **count, help="that keep the files (2)")
    one.add_argument("--nodes", **count, help="NodeManagers (2); 0: HDFS alone, no YARN")
    return one


def described(hdfs, yarn):
    """Text with all addresses, and the commands to run in another shell."""
    lines = [f"HDFS    {hdfs.uri}", f"        {hdfs.web}"]
    settings = {"HADOOP_CONF_DIR": str(hdfs.conf)}
    if yarn is not None:
        lines.append(f"YARN    {yarn.web}")
        settings = {name: yarn.environment[name] for name in SHOWN}
        settings["PATH"] = os.pathsep.join([*programs(yarn.folder), "$PATH"])
    lines += [f"logs    {hdfs.folder}", "", "In another shell:", ""]
    lines += [f'  export {name}="{value}"' for name, value in settings.items()]
    return "\n".join([*lines, "", "Ctrl-C ends it, and all files in it are gone."])


if __name__ == "__main__":
    main()
