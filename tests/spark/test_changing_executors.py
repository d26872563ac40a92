"""Executors that are lost and added during training: same number of workers, same weights."""

import json
import re
import subprocess
import sys

from sparkdl.training.network import Network
from sparkdl.training.workers.base import MORE_SLOTS
from sparkdl.training.workers.local import LocalWorkers
from tests.spark.changing_fit import EPOCHS, RECORDS, WORKERS, master
from tests.spark.networks import arrays, rich
from tests.support.waiting import LIMIT

NAME = "gradients of 1 bit"  # each worker keeps its own residual


def test_weights_are_those_of_the_quiet_run_on_2_1_2_1_and_2_executors():
    """One loss is a killed executor, the other a decommissioned one."""
    program = [sys.executable, "-m", "tests.spark.changing_fit", "[2, 1, 2, -1, 2]", NAME]
    output = subprocess.run(program, stdout=subprocess.PIPE, timeout=LIMIT, check=True).stdout
    found, quiet = json.loads(output), Network(rich())
    with LocalWorkers(WORKERS, threads=1) as workers:
        quiet.fit(arrays(RECORDS), EPOCHS, master=master(NAME), workers=workers)
    assert bytes.fromhex(found["params"]) == quiet.state.params.tobytes()
    assert found["examples"] == [RECORDS] * EPOCHS
    assert [workers for _, workers, _ in found["restarts"]] == [WORKERS] * 4
    [killed, wider, decommissioned, again] = [reason for _, _, reason in found["restarts"]]
    assert wider == again == MORE_SLOTS
    assert re.match("worker|rank", killed)
    assert re.fullmatch(r"decommissioned: executor \d", decommissioned)
    assert [lost for lost, _, _ in found["restarts"]][1:] == [0, 0, 0]
