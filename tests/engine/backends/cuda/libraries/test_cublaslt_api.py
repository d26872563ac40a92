"""cuBLASLt's ctypes tables against NVIDIA's header and the library itself.

Both are in the wheel nvidia-cublas (444 MB), which is optional.
"""

import ctypes
import re

import pytest

from sparkdl.engine.backends.cuda.libraries import cublaslt_api as api
from tests.engine.backends.cuda import headers
from tests.engine.backends.cuda.headers import assert_signature, number

ATTRIBUTES = {
    "CUBLASLT_MATMUL_DESC": api.DESCRIPTOR,
    "CUBLASLT_MATRIX_LAYOUT": api.LAYOUT,
    "CUBLASLT_MATMUL_PREF": api.PREFERENCE,
}
EPILOGUES = {
    "CUBLASLT_EPILOGUE_DEFAULT": api.Epilogue.DEFAULT,
    "CUBLASLT_EPILOGUE_RELU": api.Epilogue.RELU,
    "CUBLASLT_EPILOGUE_BIAS": api.Epilogue.BIAS,
    "CUBLASLT_EPILOGUE_GELU": api.Epilogue.GELU,
    "CUBLASLT_EPILOGUE_BGRADA": api.Epilogue.SUM_OF_A,
}


@pytest.fixture(scope="module")
def header():
    """Returns the text of cublasLt.h and of the headers that define its types."""
    text = headers.header(("cublasLt.h", "cublas_api.h", "library_types.h"), api.NAMES)
    return text or pytest.skip("no nvidia-cublas (pip downloads 444 MB)")


@pytest.mark.parametrize("prefix", ATTRIBUTES)
def test_attributes_have_their_numbers(header, prefix):
    for name, (place, _) in ATTRIBUTES[prefix].items():
        assert number(header, f"{prefix}_{name}") == place, name


def test_epilogues_have_their_numbers(header):
    for name, value in EPILOGUES.items():
        assert number(header, name) == value, name
    assert number(header, "CUBLAS_COMPUTE_32F") == api.COMPUTE_32F
    assert number(header, "CUBLAS_COMPUTE_32F_FAST_TF32") == api.COMPUTE_32F_FAST_TF32


def test_types_have_their_numbers(header):
    if "enum cudaDataType" not in header:
        pytest.skip("no library_types.h: pip install nvidia-cuda-runtime (2 MB)")
    for name, kind in (("32F", "float32"), ("16F", "float16"), ("16BF", "bfloat16")):
        assert number(header, f"CUDA_R_{name}") == api.TYPES[kind]


@pytest.mark.parametrize("name", api.SIGNATURES)
def test_functions_take_what_the_header_says(header, name):
    assert_signature(header, name, *api.SIGNATURES[name])


def test_structures_are_as_large_as_the_headers(header):
    words = re.search(r"uint64_t data\[(\d+)\];\s*\}\s*cublasLtMatmulAlgo_t;", header)
    assert ctypes.sizeof(api.Algorithm) == 8 * int(words[1])
    body = re.search(r"\{([^{}]*)\}\s*cublasLtMatmulHeuristicResult_t;", header)[1]
    fields = re.findall(r"(\w+)\s+\w+(?:\[(\d+)\])?;", body)
    assert [kind for kind, _ in fields] == [
        "cublasLtMatmulAlgo_t", "size_t", "cublasStatus_t", "float", "int",
    ]  # fmt: skip
    assert int(fields[-1][1]) == 4 and ctypes.sizeof(api.Heuristic) == 64 + 8 + 4 + 4 + 16


@pytest.fixture(scope="module")
def library(header):
    return headers.library_of(api)


def test_the_library_takes_each_attribute_in_our_size(library):
    """The library checks sizes without a device."""
    made = [
        api.MatrixDescriptor(library, "MatmulDesc", api.DESCRIPTOR, api.COMPUTE_32F, 0),
        api.MatrixDescriptor(library, "MatrixLayout", api.LAYOUT, api.TYPES["bfloat16"], 8, 4, 8),
        api.MatrixDescriptor(library, "MatmulPreference", api.PREFERENCE),
    ]
    for descriptor in made:
        descriptor.set(**dict.fromkeys(descriptor.attributes, 16))
    assert api.library().cublasLtGetVersion() >= 120_000
