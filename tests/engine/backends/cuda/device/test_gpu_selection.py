"""GPUs assigned to a task, for a table of the environment variables that clusters set."""

from types import SimpleNamespace

import pytest

from sparkdl.engine.backends.cuda.device import cupy_driver, gpu_selection
from sparkdl.engine.backends.cuda.device.gpu_selection import task_devices
from sparkdl.engine.backends.device_grant import DeviceGrant
from sparkdl.errors import DeviceError, UnsupportedError

A, B, C = "GPU-5fd4f087-86f3", "GPU-5fd4f1aa-0be2", "MIG-9c1a77d0-22e1"

OWNED = {
    "one GPU, no addresses": ([], None, [A], [0]),
    "several, no addresses: all": ([], None, [A, B, C], [0, 1, 2]),
    "a number of the machine's": (["1"], None, [A, B, C], [1]),
    "several of the machine's": (["2", "0"], None, [A, B, C], [2, 0]),
    "a number among those seen": (["1"], "4,7", [A, B], [1]),
    "the only one seen, as the cluster numbers it": (["7"], "7", [A], [0]),
    "the only one seen, by id": (["3"], B, [B], [0]),
    "an id": ([B], None, [A, B], [1]),
    "an id, other letters": ([B.lower()], f"{A},{B}", [A, B], [1]),
    "the beginning of an id": (["GPU-5fd4f1"], None, [A, B], [1]),
    "a part of a GPU": ([C], None, [A, C], [1]),
    "a part of a GPU, as CUDA names it": ([C], C, [C.replace("MIG", "GPU")], [0]),
}
REFUSED = {
    "none seen": (["0"], None, [], "sees none; CUDA_VISIBLE_DEVICES is not set"),
    "all hidden": ([], "", [], "sees none; CUDA_VISIBLE_DEVICES is ''"),
    "a number past the end": (["2"], "4,7", [A, B], "GPU 2 is not there: this process sees 2"),
    "a number past the end of one": (["1"], None, [A], "GPU 1 is not there"),
    "an unknown id": (["GPU-00"], None, [A, B], "GPU GPU-00 is not there"),
    "an id that says too little": (["GPU-5fd4f"], None, [A, B], "may be any of 2"),
    "the same twice": (["5", "6"], "5", [A], "the same GPU several times"),
}


@pytest.mark.parametrize("name", OWNED)
def test_the_gpus_that_a_task_owns(name):
    addresses, visible, ids, expected = OWNED[name]
    assert task_devices(addresses, visible, ids) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_task_whose_gpu_is_not_there_is_told_why(name):
    addresses, visible, ids, why = REFUSED[name]
    with pytest.raises(DeviceError, match=why):
        task_devices(addresses, visible, ids)


MINE = {
    "the cluster's": (["1"], 0, 1),
    "the first of several": (["2", "0"], 1, 2),
    "of those seen, the first process": ([], 0, 0),
    "of those seen, the second": ([], 1, 1),
    "more processes than GPUs": ([], 4, 1),
}


@pytest.mark.parametrize("name", MINE)
def test_the_gpu_that_a_process_computes_on(name, monkeypatch, caplog):
    addresses, turn, expected = MINE[name]
    monkeypatch.setattr(gpu_selection, "GRANT", DeviceGrant(tuple(addresses), turn))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu_selection.choose_gpu([A, B, C]) == expected
    assert ("gpu.amount=1 gives each GPU a task" in caplog.text) == (len(addresses) > 1)


ABSENT = {
    "no CuPy": (False, True, None, "CuPy is not installed: pip install 'sparkdl-hadoop[gpu]'"),
    "no driver": (True, False, None, "there is no NVIDIA driver (/dev/nvidiactl or /dev/dxg)"),
    "hidden": (True, True, "", "CUDA_VISIBLE_DEVICES is '', which hides all GPUs"),
    "one may be": (True, True, "3", None),
}


@pytest.mark.parametrize("name", ABSENT)
def test_what_shows_that_there_is_no_gpu(name, monkeypatch, tmp_path):
    library, driver, visible, expected = ABSENT[name]
    monkeypatch.setattr(gpu_selection, "find_spec", lambda name: library or None)
    if driver:
        monkeypatch.setattr(gpu_selection, "DRIVERS", [tmp_path])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu_selection.absent() == expected and gpu_selection.installed() == bool(library)


class Runtime:
    """Imitates the CUDA runtime as CuPy exposes it."""

    class CUDARuntimeError(Exception):
        def __init__(self, status):
            super().__init__(f"status {status}")
            self.status = status

    def __init__(self, count=0, status=0):
        self.count, self.status = count, status

    def getDeviceCount(self):
        if self.status:
            raise self.CUDARuntimeError(self.status)
        return self.count


NO_GPUS = {
    "no driver": (35, "no NVIDIA driver, or one too old for CuPy's CUDA: status 35"),
    "no device": (100, "a driver, but no device: status 100; CUDA_VISIBLE_DEVICES is '9'"),
    "anything else": (3, "no GPU is available: status 3"),
}


@pytest.mark.parametrize("name", NO_GPUS)
def test_cuda_says_why_there_is_no_gpu(name, monkeypatch):
    status, why = NO_GPUS[name]
    found = SimpleNamespace(runtime=Runtime(status=status))
    monkeypatch.setattr(cupy_driver, "load_cupy", lambda: found)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "9")
    with pytest.raises(UnsupportedError, match=why):
        cupy_driver.ids()


def test_the_ids_of_gpus(monkeypatch):
    monkeypatch.setattr(cupy_driver, "load_cupy", lambda: SimpleNamespace(runtime=Runtime(2)))
    monkeypatch.setattr(cupy_driver, "id_of", lambda number: f"GPU-{number}")
    assert cupy_driver.ids() == ["GPU-0", "GPU-1"]
