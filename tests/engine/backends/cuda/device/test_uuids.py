"""A GPU's id, as reported by a test double of NVIDIA's driver."""

import ctypes
from uuid import UUID

import pytest

from sparkdl.engine.backends.cuda.device import uuids
from sparkdl.errors import UnsupportedError

ID = UUID("5fd4f087-00f3-0000-7ac1-0000000000ee")  # contains zero bytes, which would end a C string


class Driver:
    """A driver with one GPU, number 3."""

    def __init__(self, name):
        assert name == "libcuda.so.1"

    def cuInit(self, flags):
        return 0

    def cuDeviceGet(self, device, number):
        device._obj.value = 40 + number
        return 0 if number == 3 else 101

    def cuDeviceGetUuid_v2(self, found, device):
        assert device.value == 43
        found[:] = ID.bytes
        return 0


def test_all_bytes_are_told(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", Driver)
    assert uuids.id_of(3) == f"GPU-{ID}"
    with pytest.raises(UnsupportedError, match="does not tell GPU 4's id: error 101"):
        uuids.id_of(4)


def test_without_a_driver_it_says_so(monkeypatch):
    monkeypatch.setattr(uuids, "LIBRARY", "libnosuch.so.1")
    with pytest.raises(UnsupportedError, match="no driver of NVIDIA's: libnosuch"):
        uuids.id_of(0)
