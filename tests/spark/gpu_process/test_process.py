"""A process that cannot be killed, such as one stuck in the GPU driver."""

from types import SimpleNamespace

from sparkdl.spark.gpu_process.process import GpuProcess
from sparkdl.training.workers.fork_server.process_end import LIMIT


def test_a_process_that_does_not_end_is_named_and_waited_for_no_longer(caplog):
    limits, process = [], GpuProcess.__new__(GpuProcess)
    process.device, process._pipe = "GPU 3", SimpleNamespace(close=list)
    process._process = SimpleNamespace(
        pid=42, kill=list, join=lambda limit=None: limits.append(limit), is_alive=lambda: True
    )
    process.kill()
    assert limits == [LIMIT]
    assert "process 42 on " in caplog.text
    assert "GPU 3: has not ended 30 s after it was killed; check its GPU" in caplog.text
