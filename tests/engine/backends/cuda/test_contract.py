"""The backend and its link implement everything that the contracts declare."""

from sparkdl.engine.backends.base import Backend
from sparkdl.engine.backends.cuda.nccl_link import LinkWork
from sparkdl.engine.backends.link import DeviceLink
from sparkdl.engine.backends.link import DeviceWork as Begun
from tests.engine.support import missing
from tests.support.cuda.host_driver import HostDriver
from tests.support.cuda.nccl_backend import made


def test_a_gpu_answers_all_that_is_asked_of_a_backend(cuda):
    assert not missing(cuda, Backend)
    assert cuda.device_name == "the host (GPU-0)"


def test_devices_are_linked_as_the_contract_says(tmp_path):
    link = made(HostDriver(), folder=tmp_path).link({})
    assert not missing(link, DeviceLink)
    assert not missing(LinkWork, Begun)
