"""Kernels for NVIDIA GPUs: our own CUDA C, compiled for the device when a program needs it.

Images and volumes are channels last in memory, while their logical axes remain (N, C, H, W) and (N,
C, D, H, W), as an array's strides show.
"""

from copy import copy
from functools import cache, partial

import numpy as np

from sparkdl.engine.backends.base import Kernel
from sparkdl.engine.backends.cuda.adapters import Libraries, load_libraries
from sparkdl.engine.backends.cuda.device.gpu_selection import choose_gpu
from sparkdl.engine.backends.cuda.execution.lent_vectors import LentVectors
from sparkdl.engine.backends.cuda.execution.mirror import Mirrors
from sparkdl.engine.backends.cuda.execution.program import DeviceProgram
from sparkdl.engine.backends.cuda.execution.session import CudaSession, Device
from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES
from sparkdl.engine.backends.cuda.lowering_table import has_kernel, lowering
from sparkdl.engine.backends.cuda.lowerings import chains
from sparkdl.engine.backends.cuda.nccl_link import NcclLink
from sparkdl.engine.backends.cuda.rewrites import decomposition
from sparkdl.engine.backends.cuda.rewrites.cudnn_attention import fuse_attention
from sparkdl.engine.backends.cuda.rewrites.cudnn_images import cast_biases
from sparkdl.engine.backends.cuda.rewrites.cudnn_normalization import fuse_normalization
from sparkdl.engine.backends.cuda.rewrites.epilogues import fuse_product_epilogues
from sparkdl.engine.backends.cuda.rewrites.narrow_lrn import narrow_lrn
from sparkdl.engine.backends.cuda.rewrites.recurrent_stacks import replace_stacks
from sparkdl.engine.backends.cuda.rewrites.recurrent_steps import unroll_recurrent
from sparkdl.engine.backends.cuda.rewrites.recurrent_types import narrow_recurrent_nodes
from sparkdl.engine.chains import into_chains
from sparkdl.engine.fusion import fuse
from sparkdl.engine.layouts import relayouts, sequences_in_place
from sparkdl.engine.maxima import record_maxima
from sparkdl.errors import DeviceError, UnsupportedError

NONE = Libraries()


class Cuda:
    """Kernels on one device.

    Parameters
    ----------
    driver : Driver
    libraries : Libraries, default none
    """

    name, decodes = "cuda", (np.dtype(np.uint8),)

    def __init__(self, driver, libraries=NONE):
        self.device = Device(driver, libraries)
        self.mirrors, self.session = Mirrors(self.device), CudaSession(self.device)

    @property
    def device_name(self):
        properties = self.device.driver.properties
        return f"{properties.name} ({properties.id})"

    @property
    def note(self):
        lines = dict.fromkeys([self.session.libraries.note, *self.session.notes])
        return "\n".join(filter(None, lines))

    @property
    def rewrites(self):
        return (
            fuse,
            narrow_lrn,
            partial(cast_biases, session=self.session),
            partial(narrow_recurrent_nodes, session=self.session),
            partial(replace_stacks, session=self.session),
            *((fuse_product_epilogues,) if self.session.libraries.products else ()),
            record_maxima,
            partial(fuse_normalization, session=self.session),
            partial(fuse_attention, session=self.session),
            unroll_recurrent,
            partial(decomposition.decompose, known=has_kernel),
            relayouts,
            sequences_in_place,
            partial(decomposition.cut_before_chains, may=chains.may_chain),
            partial(into_chains, may=chains.may_chain),
            partial(decomposition.slices_in_place, may=chains.is_chain),
        )

    def fresh(self):
        backend = copy(self)
        backend.session = CudaSession(self.device, self.session.tf32)
        return backend

    def vector(self, values):
        return self.mirrors.vector(values)

    def link(self, vectors):
        libraries = self.device.libraries
        if libraries.exchange is None:
            why = libraries.missing.get("NCCL", "it was not looked for")
            raise UnsupportedError(f"without NCCL: {why}")
        return NcclLink(self.device, libraries.exchange, vectors)

    def lend(self, vectors):
        return LentVectors(self.device, vectors)

    def program(self, graph, bindings=None, strict=False, tf32=False, constant_bindings=False):
        backend = copy(self)
        backend.session = CudaSession(self.device, tf32)
        return DeviceProgram(graph, backend, bindings, strict)

    def empty(self, size):
        try:
            return self.device.driver.allocate(max(size, 1))[:size]
        except DeviceError as error:
            raise DeviceError(f"a program's plan: {error}; smaller batches need less") from None

    def array(self, part, shape):
        if len(shape) not in (4, 5):
            return part.reshape(shape)
        n, c, *space = shape
        return np.moveaxis(part.reshape(n, *space, c), -1, 1)

    def constant(self, value):
        return self.session.constant(value)

    def hold(self, arrays):
        pass  # programs compute everything in each run

    def copy(self, source, to):
        return self.kernel(chains.copy_array, None, [source], [to])

    def in_sequence(self, calls):
        return calls

    def choose_threads(self, *sequences):
        pass  # the device has its own

    def leave_sequence(self):
        pass

    def lower(self, node, inputs, outputs):
        make = lowering(node.op)
        if make is None:
            raise UnsupportedError(f"cuda has no kernel for {node.op}")
        kinds = {a.dtype.name for a in (*inputs, *outputs)}
        if kinds - C_TYPES.keys():
            raise UnsupportedError(f"cuda has no kernel for {node.op} of {sorted(kinds)}")
        return self.kernel(make, node.op, inputs, outputs)

    def kernel(self, make, op, inputs, outputs):
        calls, name, *note = make(self.session, op, inputs, outputs)
        return Kernel(calls[0] if len(calls) == 1 else partial(run_all, calls), name, *note)


def run_all(calls):
    for call in calls:
        call()


def __getattr__(name):
    """Returns BACKEND, created at the first access: importing this module touches no device."""
    if name != "BACKEND":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_backend()


@cache
def make_backend():
    from sparkdl.engine.backends.cuda.device.cupy_driver import CupyDriver, ids

    driver = CupyDriver(choose_gpu(ids()))
    return Cuda(driver, load_libraries(driver))
