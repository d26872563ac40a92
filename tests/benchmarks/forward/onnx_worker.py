"""onnxruntime's side: the predictions of one workload."""

import os
import sys
from functools import partial

import onnxruntime

from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.forward.onnx_networks import NETWORKS, Writer


def predicting(workload):
    """Returns (step, facts) of a network's prediction."""
    x, to = workload.arrays()[0], Writer()
    model = to.model(NETWORKS[workload.network](to), x.shape)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    facts = {"parameters": to.parameters, "version": f"onnxruntime {onnxruntime.__version__}"}
    return partial(session.run, None, {"x": x}), facts


if __name__ == "__main__":
    serve(partial(predicting, WORKLOADS[sys.argv[1]]))
