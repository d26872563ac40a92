"""One side: `python -m tests.benchmarks.onnx_files.worker SIDE NET` computes a net."""

import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime

from sparkdl.interop.onnx import OnnxFunction
from tests.benchmarks.cpu.processes import OURS
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.onnx_files.nets import array_of, path_of


def theirs(name):
    """Returns (inputs, step) of onnxruntime with this process's number of threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path_of(name), options, ["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: array_of(name)}
    return inputs, partial(session.run, None, inputs)


def computing(side, name):
    """Returns (step, facts) of a side; ours includes its deviation from onnxruntime."""
    inputs, step = theirs(name)
    facts = {"parameters": Path(path_of(name)).stat().st_size}  # that both compute one file
    if side != OURS:
        return step, facts
    expected, function = step(), OnnxFunction(path_of(name))
    found = function.run(inputs).values()
    apart = max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))
    return partial(function.run, inputs), facts | {"apart": apart}


if __name__ == "__main__":
    serve(partial(computing, *sys.argv[1:]))
