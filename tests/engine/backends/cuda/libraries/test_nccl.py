"""In-place sums of vectors across devices: values, order, and CuPy's own signatures."""

import base64
import re
import sys
import threading
import time

import numpy as np
import pytest

from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.libraries import nccl
from sparkdl.errors import DeviceError, UnsupportedError
from tests.engine.support import uniform
from tests.support.cuda.host_driver import HostDriver
from tests.support.cuda.nccl import Communicator, NcclError
from tests.support.cuda.nccl_backend import made

SIZE = 1000
VECTORS = [uniform(seed, SIZE).astype(np.float32) for seed in range(4)]


def linked(*backends, vectors):
    """Yields links that connect several devices of this process."""
    links = [backend.link(own) for backend, own in zip(backends, vectors, strict=True)]
    invitation = links[0].invitation()
    threads = [
        threading.Thread(target=link.join, args=(len(links), invitation, rank), daemon=True)
        for rank, link in enumerate(links)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    yield links
    for link in links:
        link.destroy()


@pytest.fixture
def pair(cuda):
    """Yields two connected links and their "grad" vectors."""
    backends = [made(HostDriver(id=f"GPU-{rank}")) for rank in range(2)]
    vectors = [{"grad": b.vector(x)} for b, x in zip(backends, VECTORS[:2], strict=True)]
    for links in linked(*backends, vectors=vectors):
        for own in vectors:
            own["grad"].upload()
        yield links, [own["grad"] for own in vectors]


def mark_of(link):
    mark = link.driver.event()
    link.driver.record(mark, link.device.stream)
    return mark


def done(works):
    """Waits for all works together, as none completes without the others."""
    end = time.monotonic() + 20
    while sum(work.is_reached() for work in works) < len(works):
        assert time.monotonic() < end, "not all devices go on"


def summed(links, *arguments, marks=None):
    """Lets all links sum the same part; `arguments` holds one tuple per link."""
    marks = marks or [mark_of(link) for link in links]
    works = []
    for link, words, mark in zip(links, arguments, marks, strict=True):
        works.append(link.add_up("grad", *words, mark))
        link.join_in()
    done(works)


@pytest.mark.parametrize("part", [slice(0, SIZE), slice(3, 500), slice(7, 8), slice(5, 5)])
def test_a_part_becomes_the_weighted_sum(pair, part):
    links, vectors = pair
    summed(links, (part, 0.25, None), (part, 3.0, None))
    expected = 0.25 * VECTORS[0].astype(float) + 3.0 * VECTORS[1].astype(float)
    for own, vector in zip(VECTORS[:2], vectors, strict=True):
        found = vector.open().copy()
        np.testing.assert_allclose(found[part], expected[part], rtol=1e-6, atol=1e-6)
        found[part] = own[part]
        np.testing.assert_array_equal(found, own)


def test_gradients_of_several_minibatches_are_kept_on_the_device(pair):
    links, vectors = pair
    for _ in range(2):  # kept gradients are cleared once they are added
        for link, vector, (first, second) in zip(links, vectors, ((0, 1), (2, 3)), strict=True):
            vector.open()[:] = VECTORS[first]
            link.keep("grad", 2.0)
            vector.open()[:] = VECTORS[second]
            vector.upload()
        for part in (slice(400, SIZE), slice(0, 400)):
            summed(links, *[(part, 0.5, 0.25)] * 2)
        a, b, c, d = (x.astype(float) for x in VECTORS)
        for vector in vectors:
            expected = 0.5 * a + 0.5 * b + 0.5 * c + 0.5 * d
            np.testing.assert_allclose(vector.open(), expected, rtol=1e-5, atol=1e-6)


def test_a_device_without_a_gradient_gives_zeros(pair):
    links, vectors = pair
    vectors[1].open()[:] = np.nan
    marks = [mark_of(links[0]), links[1].clear("grad")]
    summed(links, *[(slice(0, SIZE), 1.0, None)] * 2, marks=marks)
    for vector in vectors:
        np.testing.assert_array_equal(vector.open(), VECTORS[0])


def test_arrays_of_the_host_share_memory_that_lies_ready(pair):
    links, _ = pair
    log = links[0].driver.log
    for turn in range(3):
        vectors = [x.copy() for x in VECTORS[:2]]
        works = [link.all_reduce(x) for link, x in zip(links, vectors, strict=True)]
        done(works)
        for work, x in zip(works, vectors, strict=True):
            work.take()
            np.testing.assert_array_equal(x, VECTORS[0] + VECTORS[1])
        if turn == 0:
            log.clear()
    assert not {"allocate", "pinned"} & {call[0] for call in log}


def test_without_nccl_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(UnsupportedError, match="needs CuPy"):
        nccl.load_nccl(None)
    with pytest.raises(UnsupportedError, match="without NCCL: it was not looked for"):
        Cuda(HostDriver()).link({})


def test_what_nccl_refuses_is_an_error_of_the_device(cuda):
    backend = made(HostDriver(id="GPU-0"))
    library = backend.device.libraries.exchange.library

    def refuse(*words):
        raise NcclError(5)

    library.NcclCommunicator = refuse
    link = backend.link({})
    with pytest.raises(DeviceError, match="NCCL does not accept GPU-0: NCCL_ERROR_INVALID_USAGE"):
        link.join(1, base64.b64encode(bytes(128)).decode(), 0)


def test_the_double_takes_what_cupy_takes():
    real = pytest.importorskip("cupy.cuda.nccl", reason="pip install cupy-cuda13x nvidia-nccl-cu13")
    for name in ("allReduce", "reduce", "broadcast"):
        said = re.search(r"\((.*)\)", getattr(real.NcclCommunicator, name).__doc__)[1]
        theirs = [word.split()[-1] for word in said.split(",")][1:]
        code = getattr(Communicator, name).__code__
        assert list(code.co_varnames[1 : code.co_argcount]) == theirs
