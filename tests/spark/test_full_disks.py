"""Disks that fill up during a fit: it continues or fails clearly; the session stays usable."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.disks import may_mount


@pytest.mark.skipif(not may_mount(), reason="needs a user who may mount disks (unshare --mount)")
def test_a_full_disk_ends_a_fit_by_name_or_not_at_all(tmp_path):
    command = ["unshare", "--mount", sys.executable, "-m", "tests.spark.full_disks", str(tmp_path)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    kept = found.pop("checkpoints")
    assert kept["error"] == "CheckpointError" and "No space left on device" in kept["text"]
    assert kept["latest"].startswith(f"{tmp_path}/checkpoints/net/round-")
    rounds = found.pop("the driver averages")
    assert "No space left on device" in rounds["text"]
    if rounds["error"] == "DataError":
        assert f"{tmp_path}/spark/" in rounds["text"] and "make room there" in rounds["text"]
    else:
        assert rounds["error"] == "WorkerError"
    many = found.pop("more records than room")
    # Spark's own files may run out of space first, which shows as a lost task.
    says = {"DataError": "of records, got: No space left", "WorkerError": "No space left"}
    assert says[many["error"]] in many["text"]
    whole = {"epochs": 4, "restarts": 0}
    assert found == {"workers stay": whole, "afterwards": whole}
