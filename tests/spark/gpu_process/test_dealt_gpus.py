"""Training and predicting on executors whose GPUs Spark assigns, end to end."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from tests.support.cuda.compiler import PLACE
from tests.support.cuda.on_host import require_compiler

LIMIT = 900  # seconds


@pytest.mark.timeout(LIMIT)
def test_each_task_computes_on_the_gpu_that_spark_has_dealt_to_it(tmp_path):
    require_compiler()
    program = [sys.executable, "-m", "tests.spark.gpu_fit", str(tmp_path)]
    own = {"TMPDIR": str(tmp_path), PLACE: tempfile.gettempdir()}  # reuses compiled kernels
    done = subprocess.run(
        program, capture_output=True, text=True, timeout=LIMIT, env=os.environ | own
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    here = found.pop("on the processor")
    assert here["devices"] == {"the processor": 2}
    for name in ("together", "rounds", "in one task"):
        assert found[name]["devices"] == {"the host (GPU-0)": 1, "the host (GPU-1)": 1}
    for name in ("together", "in one task"):
        np.testing.assert_allclose(found[name]["losses"], here["losses"], rtol=1e-5)
    [reason] = found["killed"]  # only the replica's process: Spark's own worker lived on
    assert "ended with exit code -9" in reason or "rank" in reason, reason
    assert found["again"] == found["together"]["losses"][0]
    training, validation = found["rounds"]["losses"]
    assert validation < training < 1.5
    assert found["used on the processor"] == {"the processor": 3}
    assert set(found["used"]) <= {"the host (GPU-0)", "the host (GPU-1)"}
    assert sum(found["used"].values()) >= 7  # at least one partition of the DataFrame, plus 2 x 3
    assert found["rounds of one task"] == {"the host (GPU-0)": 2}
    assert found["uses of one task"] == {"the host (GPU-0)": 6}
    np.testing.assert_allclose(found["predicted"], found["expected"], rtol=1e-5)
