"""Makes clocks jump by an hour: an executor's and its Python's, or the driver JVM's (clock.c)."""

import os
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.spark.slow import executor_of

SOURCE, HOUR = Path(__file__).with_name("clock.c"), 3600
OF_EXECUTORS = {"spark.executorEnv.CHAOS_CLOCK": "clock"}  # in the folder of each


@contextmanager
def adjustable_clocks(folder):
    """Gives adjustable clocks to the JVMs this process starts and to their executors' Python."""
    library, clock = Path(folder, "clock.so"), Path(folder, "clock")
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    before = dict(os.environ)
    os.environ.update(LD_PRELOAD=str(library), CHAOS_CLOCK=str(clock))
    try:
        yield
    finally:
        for name in ("LD_PRELOAD", "CHAOS_CLOCK"):
            os.environ.pop(name)
            os.environ.update({name: before[name]} if name in before else {})


def turning_executor(seconds):
    def turn(worker):
        turn_clock(Path(executor_of(worker).cwd(), "clock"), seconds)

    return turn


def turning_driver(seconds):
    def turn(_):
        turn_clock(os.environ["CHAOS_CLOCK"], seconds)

    return turn


def turn_clock(path, seconds):
    """Moves a clock forward by some seconds; all processes that use it see this at once."""
    with open(path, "r+b", buffering=0) as file:
        [ahead] = struct.unpack("=q", file.read(8))
        file.seek(0)
        file.write(struct.pack("=q", ahead + seconds))


CLOCK_FAULTS = {
    "executor's clock an hour ahead": turning_executor(HOUR),
    "executor's clock an hour back": turning_executor(-HOUR),
    "driver's clock an hour ahead": turning_driver(HOUR),
    "driver's clock an hour back": turning_driver(-HOUR),
}
