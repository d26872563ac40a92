"""Choice of a process's backend from its options and the devices present."""

import pytest

from sparkdl.engine.backends import base
from sparkdl.engine.backends.device_grant import GRANT, DeviceGrant
from sparkdl.errors import UnsupportedError
from sparkdl.nn import NetworkConf, Output
from sparkdl.nn.execution import device
from sparkdl.nn.execution.device import (
    PROCESSOR,
    choose_backend,
    describe_device,
    device_for,
    restrict_gpus,
)
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from tests.support.cuda.on_host import require_compiler

HERE, BROKEN = "tests.support.cuda.backend", "tests.nn.no_gpu"
PLACED = {
    "told nothing, and there is none": ("auto", "auto", "no driver", HERE, "auto"),
    "told nothing, and there is one": ("auto", "auto", None, HERE, "cuda"),
    "told nothing, and it does not work": ("auto", "auto", None, BROKEN, "auto"),
    "the processor": ("cpu", "auto", None, HERE, "auto"),
    "an engine of the processor": ("auto", "reference", None, HERE, "reference"),
    "both": ("cpu", "reference", None, HERE, "reference"),
    "a GPU that shows no files": ("cuda", "auto", "no driver", HERE, "cuda"),
}


class OfProcessors:
    prefers_processor = True


@pytest.fixture
def there(monkeypatch):
    """Returns a function that sets the reason for having no GPU (or None) and the cuda module."""

    def of(reason, module):
        monkeypatch.setattr(device, "why_no_gpu", lambda: reason)
        monkeypatch.setitem(base.MODULES, "cuda", module)
        choose_backend.cache_clear()

    yield of
    choose_backend.cache_clear()


@pytest.mark.parametrize("name", PLACED)
def test_where_a_process_computes(name, there):
    told, backend, reason, module, expected = PLACED[name]
    if expected == "cuda":
        require_compiler()
    there(reason, module)
    assert choose_backend(told, backend) == expected
    where = "the host (GPU-0)" if expected == "cuda" else PROCESSOR
    assert describe_device(expected) == where


def test_a_gpu_that_does_not_work_is_told_or_an_error(there, caplog):
    there(None, BROKEN)
    assert choose_backend("auto") == "auto"
    assert "computes on the processor: there is a driver, but no device" in caplog.text
    with pytest.raises(UnsupportedError, match="there is a driver, but no device"):
        choose_backend("cuda")


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda"])
def test_a_network_with_kernels_for_a_gpu_has_the_device_that_was_asked_for(name):
    assert device_for(NetworkConf(input_shape=(3,), layers=[Output(units=2)]), name) == name


@pytest.mark.parametrize(("name", "expected"), [("auto", "cpu"), ("cpu", "cpu"), ("cuda", "cuda")])
def test_a_network_that_prefers_a_processor_has_a_gpu_where_that_was_asked_for(name, expected):
    assert device_for(OfProcessors(), name) == expected
    assert AllReduceSGD(device=name).for_network(OfProcessors()) == AllReduceSGD(device=expected)


def test_a_process_is_told_what_is_its_own():
    try:
        restrict_gpus(["2", "3"], turn=1)
        assert DeviceGrant(("2", "3"), 1) == GRANT
    finally:
        restrict_gpus(())
