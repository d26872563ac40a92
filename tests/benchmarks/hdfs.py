"""File access on a local HDFS cluster: native RPC (hdfs://) against HTTP (webhdfs://).

The two alternate, and the best of several rounds counts, so that disks matter little.
"""

import argparse
import os
import tempfile
import time

import numpy as np

from sparkdl.data import files
from sparkdl.data.host_copy import host_copy
from tests.cluster.hdfs import Hdfs

MB = 2**20
WAYS = "hdfs", "webhdfs"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=128, help="of the one big file")
    parser.add_argument("--small", type=int, default=200, help="small files")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Hdfs(f"{folder}/hdfs").start()
        try:
            os.environ["HADOOP_CONF_DIR"] = str(cluster.conf)
            os.environ["SPARKDL_COPIES"] = f"{folder}/copies"
            measure(options)
        finally:
            cluster.stop()


def measure(options):
    content = np.random.default_rng(0).bytes(options.megabytes * MB)
    names = [f"{i:05d}" for i in range(options.small)]
    tasks = {
        "write a big file, MB/s": (lambda way: write(way, content), options.megabytes),
        "read it whole, MB/s": (read, options.megabytes),
        "copy it to the host, MB/s": (copy, options.megabytes),
        "ranges of 4 KB of it, 1/s": (lambda way: ranges(way, len(content)), 100),
        "write small files, 1/s": (lambda way: write_small(way, names), len(names)),
        "list them and their sizes, 1/s": (lambda way: sizes(way, names), len(names)),
        "read them, 1/s": (lambda way: read_small(way, names), len(names)),
    }
    print(f"{'':32}" + "".join(f"{way:>10}" for way in WAYS) + f"{'ratio':>8}")
    for name, (task, amount) in tasks.items():
        rates = [amount / seconds for seconds in best(task, options.rounds)]
        print(f"{name:32}" + "".join(f"{rate:10.0f}" for rate in rates), end="")
        print(f"{rates[0] / rates[1]:8.1f}", flush=True)


def best(task, rounds):
    """Returns the least seconds of each protocol."""
    found = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            began = time.perf_counter()
            task(way)
            found[way].append(time.perf_counter() - began)
    return [min(found[way]) for way in WAYS]


def write(way, content):
    with files.open(f"{way}:///big-{way}", "wb") as file:
        for start in range(0, len(content), MB):
            file.write(content[start : start + MB])


def read(way):
    with files.open(f"{way}:///big-{way}") as file:
        while file.read(MB):
            pass


def copy(way):
    os.remove(host_copy(f"{way}:///big-{way}"))


def ranges(way, size):
    rng = np.random.default_rng(0)
    for start in rng.integers(0, size - 4096, 100):
        with files.open(f"{way}:///big-{way}") as file:
            file.seek(start)
            file.raw.read(4096)


def write_small(way, names):
    for name in names:
        files.write(f"{way}:///small-{way}/{name}", b"x" * 4096)


def sizes(way, names):
    for path in files.tree(f"{way}:///small-{way}"):
        files.size(path)


def read_small(way, names):
    for name in names:
        with files.open(f"{way}:///small-{way}/{name}") as file:
            file.read()
