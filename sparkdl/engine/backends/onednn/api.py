"""oneDNN's C interface by ctypes: descriptors of memory, primitives, calls bound to arguments."""

import ctypes
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_void_p

from sparkdl.engine.backends.onednn.library import load
from sparkdl.errors import UnsupportedError

TYPES = {"float32": 3, "int32": 4, "int8": 5, "uint8": 6}
ANY = 1  # dnnl_format_tag_any
TRAINING, INFERENCE = 64, 96
SRC, DST, WEIGHTS, BIAS, WORKSPACE = 1, 17, 33, 41, 64
MEAN, VARIANCE, SCALE, SHIFT, DIFF_SCALE, DIFF_SHIFT = 49, 50, 51, 52, 255, 256
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
QUERY_IMPL = 8
QUERIES = {"src": 129, "diff_src": 130, "weights": 131, "diff_weights": 132}
QUERIES |= {"dst": 133, "diff_dst": 134, "workspace": 135}
NO_MEMORY = -1  # DNNL_MEMORY_ALLOCATE: the library allocates


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t"""

    _fields_ = [("arg", c_int), ("memory", c_void_p)]


class Session:
    """An engine and a stream on the CPU, with calls that raise where oneDNN returns a status."""

    def __init__(self):
        self.library = load()
        self.engine, self.stream = c_void_p(), c_void_p()
        self.call("engine_create", byref(self.engine), 1, c_size_t(0))
        self.call("stream_create", byref(self.stream), self.engine, 1)
        self.execute = self.library.dnnl_primitive_execute
        self.library.dnnl_memory_desc_get_size.restype = c_size_t
        self.library.dnnl_memory_desc_get_size.argtypes = [c_void_p]
        self.library.dnnl_memory_desc_equal.argtypes = [c_void_p, c_void_p]
        self.library.dnnl_primitive_desc_query_md.restype = c_void_p
        self.library.dnnl_primitive_desc_query_md.argtypes = [c_void_p, c_int, c_int]

    def call(self, name, *arguments):
        status = getattr(self.library, f"dnnl_{name}")(*arguments)
        if status:
            raise UnsupportedError(f"oneDNN refuses {name} (status {status})")

    def any(self, shape, dtype="float32"):
        """A descriptor whose layout the primitive chooses."""
        md = c_void_p()
        arguments = byref(md), len(shape), dims(shape), TYPES[dtype], ANY
        self.call("memory_desc_create_with_tag", *arguments)
        return md

    def strided(self, shape, strides, dtype="float32"):
        """A descriptor with strides in elements."""
        md, kind = c_void_p(), TYPES[dtype]
        arguments = byref(md), len(shape), dims(shape), kind, dims(strides)
        self.call("memory_desc_create_with_strides", *arguments)
        return md

    def of(self, array):
        """The descriptor of a numpy array as it lies."""
        strides = [s // array.itemsize for s in array.strides]
        return self.strided(array.shape, strides, array.dtype.name)

    def memory(self, md, address=None):
        """Memory at an address, or of the library's own."""
        memory = c_void_p()
        where = c_void_p(NO_MEMORY if address is None else address)
        self.call("memory_create", byref(memory), md, self.engine, where)
        return memory

    def at(self, array, md=None):
        """The memory of a numpy array."""
        return self.memory(self.of(array) if md is None else md, array.ctypes.data)

    def describe(self, name, *arguments):
        """A primitive descriptor: `name` without its suffix, arguments after the engine."""
        pd = c_void_p()
        self.call(f"{name}_primitive_desc_create", byref(pd), self.engine, *arguments)
        return pd

    def query(self, pd, what):
        """A descriptor that a primitive has chosen."""
        return c_void_p(self.library.dnnl_primitive_desc_query_md(pd, QUERIES[what], 0))

    def implementation(self, pd):
        """Name of the kernel, such as brgemm:avx512_core."""
        name = ctypes.c_char_p()
        self.call("primitive_desc_query", pd, QUERY_IMPL, 0, byref(name))
        return (name.value or b"").decode()

    def equal(self, first, second):
        return bool(self.library.dnnl_memory_desc_equal(first, second))

    def bound(self, pd, arguments):
        """A call without arguments that runs the primitive on {index: memory}."""
        primitive = c_void_p()
        self.call("primitive_create", byref(primitive), pd)
        array = (Argument * len(arguments))(*[(k, m.value) for k, m in arguments.items()])
        execute, count = self.execute, len(arguments)
        stream, where = c_void_p(self.stream.value), ctypes.byref(array)

        def call(keep=(array, primitive)):
            execute(primitive, stream, count, where)

        return call

    def reorder(self, source, source_md, target, target_md):
        """A call that copies one memory to another layout."""
        pd = c_void_p()
        arguments = byref(pd), source_md, self.engine, target_md, self.engine, None
        self.call("reorder_primitive_desc_create", *arguments)
        return self.bound(pd, {SRC: source, DST: target})

    def relu_after(self):
        """An attribute: the result goes through ReLU."""
        ops, attribute = c_void_p(), c_void_p()
        self.call("post_ops_create", byref(ops))
        self.call("post_ops_append_eltwise", ops, 0x20, c_float(0), c_float(0))
        self.call("primitive_attr_create", byref(attribute))
        self.call("primitive_attr_set_post_ops", attribute, ops)
        return attribute


def dims(values):
    """dnnl_dims_t"""
    return (c_int64 * 12)(*[int(v) for v in values])
