"""The doubles of NVIDIA's libraries in this folder, compiled by g++."""

from functools import cache
from pathlib import Path

from sparkdl.engine.backends.cuda.device.shared_libraries import declare_signatures
from sparkdl.engine.backends.cuda.libraries import cublaslt_api, cudnn_rnn_api
from tests.support.cuda.compiler import shared

FOLDER = Path(__file__).parent


@cache
def cublaslt():
    return declare_signatures(of("cublaslt.cpp"), cublaslt_api.SIGNATURES)


@cache
def cudnn_rnn():
    return declare_signatures(of("cudnn_rnn.cpp"), cudnn_rnn_api.SIGNATURES)


def of(name):
    return shared("".join((FOLDER / n).read_text() for n in ("numbers.h", name)))
