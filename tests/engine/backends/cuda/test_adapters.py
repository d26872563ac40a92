"""Library adapters: their notes in a program, and the workspace they share."""

import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends.cuda.adapters import Libraries, load_libraries
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.errors import UnsupportedError
from sparkdl.nn import NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from tests.engine.support import trace, uniform
from tests.support.cuda.host_driver import HostDriver


class Adapter:
    name = "cuBLASLt 13.0"


def absent(driver):
    raise UnsupportedError("no libcudnn.so.9 to be found")


def test_what_cannot_be_loaded_is_missing_with_the_reason():
    finders = {"products": ("cuBLASLt", lambda driver: Adapter()), "graphs": ("cuDNN", absent)}
    libraries = load_libraries(None, finders)
    assert isinstance(libraries.products, Adapter) and libraries.graphs is None
    assert libraries.missing == {"cuDNN": "no libcudnn.so.9 to be found"}


def test_a_program_says_with_which_libraries_it_runs():
    libraries = Libraries(graphs=Adapter(), missing={"cuDNN's RNN": "no libcudnn.so.9"})
    backend = Cuda(HostDriver(), libraries)
    text = backend.program(trace(ops.tanh, uniform(0, 3))).describe()
    assert "\nwith cuBLASLt 13.0\nwithout cuDNN's RNN: no libcudnn.so.9\n" in text
    assert backend.fresh().session.libraries is libraries


def test_a_driver_alone_has_none(cuda):
    assert cuda.note == "" and cuda.session.libraries == Libraries()


@pytest.mark.parametrize("tf32", [False, True])
def test_libraries_are_told_whether_float32_may_be_rounded(cuda, tf32):
    conf = NetworkConf(input_shape=(3,), layers=[Output(units=2)], tf32=tf32)
    for program in Replica(conf, "cuda").programs(2):
        assert program.backend.session.tf32 is tf32


def test_programs_share_one_workspace_that_grows(cuda):
    device = cuda.device
    small = device.workspace(1)
    assert device.workspace(small.nbytes) is small
    large = device.workspace(small.nbytes + 1)
    assert device.workspace(1) is large


@pytest.mark.parametrize("captured", [False, True])
def test_what_a_library_does_comes_in_the_streams_order(cuda, captured):
    session, seen = cuda.fresh().session, []
    scratch = session.scratch(100)
    call = session.enqueue(lambda stream: seen.append((stream, scratch.memory.nbytes >= 100)))
    session.settle()
    driver, stream = cuda.device.driver, cuda.device.stream
    if captured:
        driver.begin(stream)
    call()
    if captured:
        driver.replay(driver.end(stream), stream)
    assert not seen
    cuda.device.wait()
    assert seen == [(0, True)]
