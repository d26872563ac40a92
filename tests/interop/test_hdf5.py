"""HDF5 files with damaged strings."""

import struct

import h5py
import numpy as np
import pytest

from sparkdl.errors import DataError
from sparkdl.interop.hdf5 import check_heaps, create_hdf5, open_untrusted_hdf5


def test_a_heap_that_leads_nowhere_is_refused():
    with create_hdf5() as (buffer, file):
        file.attrs["model_config"] = "a text of any length"
    content = buffer.getvalue()
    check_heaps(content, "a.h5")
    with open_untrusted_hdf5(content, "a.h5") as file:
        assert isinstance(file, h5py.File)
    at = content.index(b"GCOL") + 16 + 8
    damaged = content[:at] + struct.pack("<Q", 2**64 - 16) + content[at + 8 :]
    with (
        pytest.raises(DataError, match="heap of texts is damaged"),
        open_untrusted_hdf5(damaged, "a.h5"),
    ):
        pass


def test_numbers_that_look_like_a_heap_are_numbers():
    numbers = np.frombuffer(bytes(24) + b"GCOL\x01" + bytes(range(7, 18)), np.float32)
    with create_hdf5() as (buffer, file):
        file["numbers"] = numbers
    with open_untrusted_hdf5(buffer.getvalue(), "a.h5") as file:
        np.testing.assert_array_equal(file["numbers"][()], numbers)


def test_a_text_that_claims_more_than_its_heap_has_is_refused():
    with create_hdf5() as (buffer, file):
        file.attrs["model_config"] = "a text of any length"
    content = buffer.getvalue()
    address = struct.pack("<Q", content.index(b"GCOL")) + struct.pack("<I", 1)
    at = content.index(address) - 4
    assert struct.unpack_from("<I", content, at) == (20,)
    with pytest.raises(DataError, match="heap of texts is damaged"):
        check_heaps(content[:at] + struct.pack("<I", 2**31) + content[at + 4 :], "a.h5")
