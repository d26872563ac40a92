"""Workers tell each other what they compute on before they join."""

from types import SimpleNamespace

import pytest

from sparkdl.nn.execution.device import PROCESSOR
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.resident import lifecycle

CARD = "NVIDIA H200 (GPU-1)"
DEVICES = {
    "a GPU each": ([CARD, "NVIDIA H200 (GPU-2)"], None),
    "two on one GPU": ([CARD, "NVIDIA H200 (GPU-2)", CARD], f"2 workers compute on one {CARD}:"),
    "the processors of hosts": ([PROCESSOR, PROCESSOR], None),
}


@pytest.mark.parametrize("name", DEVICES)
def test_workers_on_one_gpu_are_told(name, monkeypatch, caplog):
    devices, expected = DEVICES[name]
    monkeypatch.setattr(lifecycle.Group, "form", lambda rendezvous, secret, **options: "a group")
    shared = SimpleNamespace(master=AllReduceSGD(), secret=b"", address=("127.0.0.1", 1))
    meeting = SimpleNamespace(all_gather=lambda text, timeout: devices)
    assert lifecycle.join_group(shared, meeting, devices[0]) == "a group"
    if expected is None:
        assert not caplog.text
    else:
        assert expected in caplog.text and "spark.task.resource.gpu.amount=1" in caplog.text
