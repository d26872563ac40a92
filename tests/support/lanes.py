"""Groups the tests for runs in several processes (tests/support/forks.py); one runs each group.

Tests of a file stay together because they share its fixtures. So do files of one lane: each process
that needs Spark or a Hadoop cluster starts its own, which costs seconds and a gigabyte.
"""

import ast
import re
from functools import cache
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLUSTER, SPARK = "cluster", "Spark"
OF_FIXTURE = {"hdfs": CLUSTER, "yarn": CLUSTER, "spark": SPARK, "sc": SPARK}
OF_FOLDER = {"tests/cluster": CLUSTER}  # build.py test --fast ignores these folders
OF_FOLDER |= dict.fromkeys(("tests/spark", "tests/ml", "tests/end_to_end"), SPARK)
IN_NONE = {  # tests of Spark that need no context of this process
    "tests/chaos/test_faults.py",
    "tests/spark/gpu_process/test_dispatch.py",
    "tests/spark/gpu_process/test_dealt_gpus.py",
    "tests/spark/gpu_process/test_worker_processes.py",
    "tests/spark/test_changing_executors.py",
    "tests/spark/test_full_disks.py",
    "tests/spark/test_killed_driver.py",
    "tests/spark/test_two_hosts.py",
    "tests/end_to_end/test_demo.py",
}
# What takes longest starts first, lest one process ends minutes after the others.
FIRST = [CLUSTER, SPARK]
NOTEBOOKS = "tests/test_notebook.py"
OWN_JVMS = ["tests/commands/caffe/test_memory.py", NOTEBOOKS, *sorted(IN_NONE)]
JVMS = 2  # groups that may have JVMs at a time: each takes up to two gigabytes
APART = {SPARK, NOTEBOOKS}  # one reads a transformer, which all processes of its Spark hold too
THEN = [
    *OWN_JVMS,
    "tests/oracle/test_jax_translation.py",
    "tests/training/masters/test_base.py",
    "tests/training/resident/test_supervisor.py",
]


@cache
def lane(path):
    """Returns the lane of a test file, given by its path in the project, or the path if none."""
    if path in IN_NONE:
        return path
    wanted = {OF_FIXTURE[name] for name in arguments(ROOT / path) if name in OF_FIXTURE}
    wanted |= {name for folder, name in OF_FOLDER.items() if path.startswith(folder + "/")}
    return next((name for name in FIRST if name in wanted), path)


def needs_jvm(item):
    """Returns whether a test uses Spark or a Hadoop cluster."""
    below = any(path_of(item).startswith(f"{folder}/") for folder in OF_FOLDER)
    return below or not OF_FIXTURE.keys().isdisjoint(getattr(item, "fixturenames", ()))


def arguments(path):
    """Yields the argument names of a file's functions, including the lanes' fixtures."""
    text = path.read_text()
    if not re.search(rf"\b({'|'.join(OF_FIXTURE)})\b", text):  # to parse it takes longer
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield from (argument.arg for argument in node.args.args)


def in_order(items):
    """Sorts tests into the order in which processes take them: lanes first, then long files.

    Within a lane, tests that need YARN come first: it ends before Spark starts.
    """
    places = {name: place for place, name in enumerate([*FIRST, *THEN])}

    def place(item):
        own = places.get(lane(path_of(item)), len(places))
        return own, own < len(FIRST) and "yarn" not in getattr(item, "fixturenames", ())

    return sorted(items, key=place)


def groups(items):
    """Returns lists of indices into `items`, one per lane or per file without a lane, in order."""
    of = groupby(range(len(items)), lambda place: lane(path_of(items[place])))
    return [list(places) for _, places in of]


def has_jvms(item):
    """Returns whether a test's group runs JVMs, its lane's or its own."""
    return lane(path_of(item)) in (*FIRST, *OWN_JVMS)


def may_join(item, others):
    """Returns whether there is memory to run a test's group beside the groups of others."""
    apart = APART.issubset(lane(path_of(each)) for each in (item, *others))
    return not (apart or (has_jvms(item) and sum(map(has_jvms, others)) >= JVMS))


def path_of(item):
    return item.nodeid.partition("::")[0]
