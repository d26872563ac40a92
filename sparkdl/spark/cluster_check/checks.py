"""Checks that derive a cluster's problems, each with its cure, from the facts of its processes."""

GIGABYTE = 2**30
NEEDED = "sparkdl", "numpy", "pyarrow", "pandas"
MUST_BE_EQUAL = "sparkdl", "numpy", "pyarrow", "onednn-cpu-gomp"
CLOCK_LIMIT = 5.0  # seconds
SAME_PYTHON = (
    "let PYSPARK_PYTHON, or spark.pyspark.python, name the same Python everywhere, or send one "
    "along with spark.archives (python build.py package makes it)"
)


def check_pythons(driver, executors):
    for one in executors:
        if minor(one["python"]) != minor(driver["python"]):
            yield (
                f"{one['name']} has Python {one['python']}, the driver {driver['python']}; "
                f"{SAME_PYTHON}"
            )


def check_packages(driver, executors):
    for one in executors:
        for name in NEEDED:
            version = one["packages"][name]
            if version is None or version.startswith("not importable"):
                yield (
                    f"{name} is {version or 'missing'} on {one['name']} ({one['executable']} on "
                    f"{one['host']}); install it there, or: {SAME_PYTHON}"
                )


def check_versions(driver, executors):
    for one in executors:
        for name in MUST_BE_EQUAL:
            ours, theirs = driver["packages"][name], one["packages"][name]
            if theirs and ours and theirs != ours and not theirs.startswith("not importable"):
                yield f"{name} is {theirs} on {one['name']}, {ours} on the driver; {SAME_PYTHON}"


def check_library(driver, executors):
    for one in executors:
        if one["library"] and one["packages"]["sparkdl"]:
            yield (
                f"{one['name']} computes without oneDNN, many times slower: {one['library']}; "
                "install onednn-cpu-gomp in the executors' Python"
            )


def check_features(driver, executors):
    kinds = sorted({tuple(one["features"]) for one in executors})
    if len(kinds) > 1:
        names = " and ".join("+".join(kind) or "none" for kind in kinds)
        yield (
            f"executors have different processors ({names}): their kernels round differently, so "
            "two fits give the same weights only where workers land on the same hosts; ask for "
            "hosts of one kind where that matters"
        )


def check_memory(driver, executors):
    for one in executors:
        if one["free_memory"] is not None and one["free_memory"] < GIGABYTE / 2:
            yield (
                f"{one['name']} has {one['free_memory'] / GIGABYTE:.1f} GB of memory left for "
                "Python; give executors more by spark.executor.memoryOverhead, or the JVM less"
            )


def check_disk(driver, executors):
    for one in executors:
        if one["free_disk"] < GIGABYTE:
            yield (
                f"{one['name']} has {one['free_disk'] / GIGABYTE:.1f} GB of disk left for records; "
                "let spark.local.dir name a larger disk"
            )


def check_clocks(driver, executors):
    for one in executors:
        if abs(one["clock_error"]) > CLOCK_LIMIT:
            yield (
                f"the clock of {one['host']} is {one['clock_error']:+.0f} s off the driver's; run "
                "an NTP client there: times in logs and checkpoints mislead"
            )


def check_gpus(driver, executors):
    for one in executors:
        if one["gpus"] and not one["gpus_of_a_task"]:
            yield (
                f"{one['name']} has {one['gpus']} GPUs and Spark deals out none; set "
                "spark.executor.resource.gpu.amount and spark.task.resource.gpu.amount"
            )


CHECKS = (
    check_pythons,
    check_packages,
    check_versions,
    check_library,
    check_features,
    check_memory,
    check_disk,
    check_clocks,
    check_gpus,
)


def minor(version):
    """Returns "3.11" for "3.11.7"."""
    return version.rpartition(".")[0]


def find_problems(driver, executors):
    """Returns the problems found by the checks, in their order."""
    return [problem for check in CHECKS for problem in check(driver, executors)]
