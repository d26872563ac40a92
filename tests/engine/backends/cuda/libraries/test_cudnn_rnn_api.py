"""ctypes tables of cuDNN's RNN functions against its headers and the library itself.

Both are in the wheel nvidia-cudnn-cu13 (517 MB), which is optional.
"""

import pytest

from sparkdl.engine.backends.cuda.libraries import cudnn_rnn_api as api
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn_api import RnnDescriptor, ints
from sparkdl.errors import DeviceError
from tests.engine.backends.cuda import headers
from tests.engine.backends.cuda.headers import assert_signature, number

CONSTANTS = {
    "CUDNN_LSTM": api.MODES["LSTM"],
    "CUDNN_GRU": api.MODES["GRU"],
    "CUDNN_RNN_SINGLE_INP_BIAS": api.SINGLE_INP_BIAS,
    "CUDNN_RNN_DOUBLE_BIAS": api.DOUBLE_BIAS,
    "CUDNN_TENSOR_OP_MATH": api.TENSOR_OP_MATH,
    "CUDNN_DEFAULT_MATH": api.DEFAULT_MATH,
    "CUDNN_FMA_MATH": api.FMA_MATH,
    "CUDNN_RNN_ALGO_STANDARD": api.ALGO_STANDARD,
    "CUDNN_UNIDIRECTIONAL": api.UNIDIRECTIONAL,
    "CUDNN_LINEAR_INPUT": api.LINEAR_INPUT,
    "CUDNN_WGRAD_MODE_ADD": api.WGRAD_MODE_ADD,
    "CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED": api.BATCH_MAJOR_UNPACKED,
    "CUDNN_FWD_MODE_INFERENCE": api.INFERENCE,
    "CUDNN_FWD_MODE_TRAINING": api.TRAINING,
    "CUDNN_DATA_FLOAT": api.TYPES["float32"],
    "CUDNN_DATA_HALF": api.TYPES["float16"],
    "CUDNN_DATA_BFLOAT16": api.TYPES["bfloat16"],
}


@pytest.fixture(scope="module")
def header():
    names = "cudnn_adv_v9.h", "cudnn_ops_v9.h", "cudnn_graph_v9.h"
    return headers.header(names, api.NAMES) or pytest.skip("no nvidia-cudnn (pip downloads 517 MB)")


def test_constants_have_their_numbers(header):
    assert {name: number(header, name) for name in CONSTANTS} == CONSTANTS
    assert "CUDNN_RNN_PADDED_IO_ENABLED (1U << 0)" in header and api.PADDED_IO_ENABLED == 1


@pytest.mark.parametrize("name", api.SIGNATURES)
def test_functions_take_what_the_header_says(header, name):
    assert_signature(header, name, *api.SIGNATURES[name])


@pytest.fixture(scope="module")
def library(header):
    return headers.library_of(api)


@pytest.mark.parametrize("kind, math", [("float32", 3), ("float32", 0), ("bfloat16", 1)])
@pytest.mark.parametrize("mode, bias", [("LSTM", 1), ("GRU", 2)])
def test_the_library_takes_our_descriptions(library, mode, bias, kind, math):
    """The library validates them without a device."""
    words = 0, api.MODES[mode], bias, 0, 0, api.TYPES[kind], 0, math, 8, 16, 16, 1, None, 1
    RnnDescriptor(library, "RNNDescriptor", "cudnnSetRNNDescriptor_v8", *words)
    data = "RNNDataDescriptor", "cudnnSetRNNDataDescriptor"
    data = *data, api.TYPES[kind], api.BATCH_MAJOR_UNPACKED, 5, 3, 8
    RnnDescriptor(library, *data, ints([5] * 3), None)
    with pytest.raises(DeviceError, match="CUDNN_STATUS_BAD_PARAM"):
        RnnDescriptor(library, *data, ints([5, 6, 5]), None)
