"""Long short-term memory of predictions in a compiled loop, where oneDNN's kernels are slower.

Without AVX-512, oneDNN's kernels reach two thirds of the speed of a large product, and threads wait
for each other at each step. Weights are packed ahead of the runs.
"""

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import INFERENCE
from sparkdl.engine.backends.onednn.lowerings.layouts import in_panels
from sparkdl.engine.backends.onednn.lowerings.recurrent import forward_pd
from sparkdl.engine.native.jit import compiler, find_compiler
from sparkdl.engine.native.llvm_code import LANES
from sparkdl.engine.native.lstm import GATES, lstm_kernel
from sparkdl.engine.native.register_products import ROWS
from sparkdl.engine.native.threads import pool
from sparkdl.engine.ops.recurrent.lstm import LstmOp

LEAST_PER_THREAD = 3  # sequences
NAME = "compiled LSTM"


def is_preferred(session, op, inputs, outputs):
    """Returns whether this kernel is faster than oneDNN's: a rule of shapes and threads.

    Threads share the sequences, so there must be enough of them. Without a thread pool, oneDNN
    alone knows how to use several cores.
    """
    plain = isinstance(op, LstmOp) and not (op.peepholes or op.keep or op.mask or op.slope)
    if not plain or len(outputs) != 1 + op.states or pool() is None or find_compiler() is None:
        return False
    x, wx, wh, *_ = inputs
    if not all(map(session.holds, (wx, wh))) or wh.shape[0] % LANES:
        return False
    if any(a.dtype != np.float32 or a.strides[-1] != a.itemsize for a in (*inputs, *outputs)):
        return False
    if not all(a.flags.c_contiguous for a in (*inputs[3:], *outputs[1:])):
        return False
    if len(x) < max(ROWS, LEAST_PER_THREAD * pool().get_size()):
        return False
    return "avx512" not in session.implementation(
        forward_pd(session, op, inputs, outputs, INFERENCE)
    )


def forward(session, op, inputs, outputs):
    """Returns the calls that fill y and the last states, and the kernel's name."""
    x, wx, wh, *rest = inputs
    packed = [in_panels(session, w) for w in (wx, wh)]
    z = session.transient_array((len(x), GATES, LANES))
    threads = pool().get_size()
    arrays = x, *packed, *rest
    return [lstm_kernel(arrays, outputs, z, op.backwards, compiler(), threads)], NAME
