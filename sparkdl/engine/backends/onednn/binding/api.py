"""oneDNN's C API by ctypes: memory descriptors, primitives, calls bound to arguments."""

import ctypes
from copy import copy
from ctypes import byref, c_int, c_int64, c_size_t, c_void_p
from math import prod

import numpy as np

from sparkdl.engine.backends.memory import empty
from sparkdl.engine.backends.onednn.binding.library import load
from sparkdl.engine.backends.onednn.binding.operands import check
from sparkdl.engine.dtypes import name_of
from sparkdl.engine.native.primitive_errors import error_of
from sparkdl.engine.planner import align
from sparkdl.errors import UnsupportedError

TYPES = {"float32": 3, "bfloat16": 2, "int32": 4, "uint8": 6}
NUMBERS = {number: name for name, number in TYPES.items()}
ANY = 1  # dnnl_format_tag_any
TRAINING, INFERENCE = 64, 96
SRC, SRC_1, DST, WEIGHTS, BIAS, WORKSPACE, SCRATCHPAD = 1, 2, 17, 33, 41, 64, 80
MULTIPLE_SRC = 1024  # plus the index of a source
AFTER = 1 << 15  # times the index, from 1, of a post-op: its second operand
MEAN, VARIANCE, SCALE, SHIFT, DIFF_SCALE, DIFF_SHIFT = 49, 50, 51, 52, 255, 256
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
DIFF = 128  # offset from an argument's index to that of its gradient
QUERY_IMPL = 8
LAST_REACHED = 4  # dnnl_last_impl_reached
ROOM = 4 << 20  # bytes: more than the descriptor of a primitive takes
KINDS = ("memory_desc", "memory", "primitive_desc", "primitive", "primitive_attr", "post_ops")
QUERIES = {"weights": 131, "diff_weights": 132, "workspace": 135, "scratchpad": 136}
OF_USER = 1  # dnnl_scratchpad_mode_user

ORDER = ("", "second ", "third ")
NAMES = {SRC + i: f"{n}source" for i, n in enumerate(ORDER)}
NAMES |= {DST + i: f"{n}destination" for i, n in enumerate(ORDER)}
NAMES |= {WEIGHTS + i: f"{n}weights" for i, n in enumerate(ORDER)} | {BIAS: "bias"}
NAMES |= {DIFF + index: f"gradient of {name}" for index, name in NAMES.items()}
NAMES |= {MEAN: "mean", VARIANCE: "variance", SCALE: "scale", SHIFT: "shift"}
NAMES |= {DIFF_SCALE: "gradient of scale", DIFF_SHIFT: "gradient of shift", WORKSPACE: "workspace"}
NAMES |= {MULTIPLE_SRC + i: f"source {i}" for i in range(64)}
NAMES |= {AFTER * i | SRC_1: f"operand of step {i} behind it" for i in range(1, 8)}


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t"""

    _fields_ = [("arg", c_int), ("memory", c_void_p)]


class Handle(ctypes.c_void_p):
    """A oneDNN object that is destroyed with its Python object."""

    destroy = None

    def __del__(self):
        if self.value and self.destroy is not None:
            self.destroy(self)


class OneDnnSession:
    """A oneDNN engine and stream on the CPU.

    Calls raise MemoryError where oneDNN has no memory, and UnsupportedError for what it refuses.
    """

    def __init__(self):
        self.library = library = load()
        self.engine, self.stream = c_void_p(), c_void_p()
        self.call("engine_create", byref(self.engine), 1, c_size_t(0))
        self.call("stream_create", byref(self.stream), self.engine, 1)
        self.execute = library.dnnl_primitive_execute
        library.dnnl_memory_desc_equal.argtypes = [c_void_p, c_void_p]
        library.dnnl_memory_desc_get_size.argtypes = [c_void_p]
        library.dnnl_memory_desc_get_size.restype = c_size_t
        library.dnnl_primitive_desc_query_md.restype = c_void_p
        library.dnnl_primitive_desc_query_md.argtypes = [c_void_p, c_int, c_int]
        self.kinds = {kind: handles(library, kind) for kind in KINDS}
        self._begin()
        self.attribute = self.own_scratchpads()

    def call(self, name, *arguments):
        status = getattr(self.library, f"dnnl_{name}")(*arguments)
        if status:
            raise error_of(name, status)

    def make(self, kind, name, *arguments):
        """Calls the creation function `name`; returns the new Handle.

        Without memory for a descriptor, oneDNN takes another implementation, whose numbers differ,
        or crashes; so a lack of memory is found before.
        """
        if kind.startswith("primitive"):
            require_room()
        handle = self.kinds[kind]()
        self.call(name, byref(handle), *arguments)
        return handle

    def any(self, array):
        """Returns a descriptor like an array's that lets the primitive choose the layout."""
        arguments = array.ndim, dims(array.shape), TYPES[name_of(array.dtype)], ANY
        return self.make("memory_desc", "memory_desc_create_with_tag", *arguments)

    def of(self, array):
        """Returns the descriptor of a numpy array in its layout."""
        strides = [s // array.itemsize for s in array.strides]
        arguments = array.ndim, dims(array.shape), TYPES[name_of(array.dtype)], dims(strides)
        return self.make("memory_desc", "memory_desc_create_with_strides", *arguments)

    def _begin(self):
        """Starts with no scratch memory."""
        self.scratch, self.used, self.held, self.ahead = empty(0), 0, (), []
        self.scratchpad, self.borrowers, self.others = empty(0), [], []

    def fresh(self):
        """Returns a session that shares everything with this one but scratch memory."""
        session = copy(self)
        session._begin()
        return session

    def get_others(self, count):
        """Returns `count` sessions, the same each time, whose calls may run in parallel."""
        self.others += [self.fresh() for _ in range(count - len(self.others))]
        for session in self.others:
            session.held = self.held
        return self.others[:count]

    def hold(self, arrays):
        """Declares arrays that rarely change."""
        self.held = [np.lib.array_utils.byte_bounds(array) for array in arrays if array.size]

    def holds(self, array):
        """Returns whether an array is part of one that rarely changes."""
        start, stop = np.lib.array_utils.byte_bounds(array)
        return any(first <= start and stop <= last for first, last in self.held)

    def memory(self, md, array, own=False):
        """Returns the oneDNN memory of an array, to be read as the descriptor says."""
        memory = self.make("memory", "memory_create", md, self.engine, address(array))
        memory.md, memory.array, memory.own = md, array, own
        return memory

    def next_kernel(self):
        """Frees the scratch memory for the next kernel."""
        self.used, self.ahead = 0, []

    def lasting_memory(self, md):
        """Returns persistent memory, for results of a kernel's calls `ahead`."""
        return self.memory(md, empty(self.size(md)))

    def lasting_array(self, shape):
        """Returns a persistent float32 array, for results of a kernel's calls `ahead`."""
        return empty(4 * prod(shape)).view(np.float32).reshape(shape)

    def transient_memory(self, md):
        """Returns scratch memory of one kernel, which the next kernel overwrites."""
        return self.memory(md, self._take_scratch(self.size(md)))

    def transient_array(self, shape):
        """Returns a float32 array in scratch memory of one kernel, with arbitrary numbers."""
        return self._take_scratch(4 * prod(shape)).view(np.float32).reshape(shape)

    def _take_scratch(self, size):
        """Returns `size` bytes of scratch memory."""
        needed = align(size)
        if self.used + needed > self.scratch.nbytes:
            self.scratch, self.used = empty(max(needed, 2 * self.scratch.nbytes)), 0
        part = self.scratch[self.used : self.used + size]
        self.used += needed
        return part

    def at(self, array):
        """Returns the oneDNN memory of a numpy array in its layout."""
        return self.memory(self.of(array), array, own=True)

    def workspace(self, pd, array):
        """Returns the memory of an array as the workspace of a primitive.

        Raises
        ------
        UnsupportedError
            If the primitive needs no workspace, or a larger one.
        """
        md = self.query(pd, "workspace")
        needed = self.size(md)
        if not 0 < needed <= array.nbytes:
            nbytes = array.nbytes
            raise UnsupportedError(f"the workspace has {nbytes} bytes, oneDNN's has {needed}")
        return self.memory(md, array)

    def move(self, memory, array):
        """Points a memory to another array with the layout of the original one."""
        self.call("memory_set_data_handle", memory, address(array))
        memory.array = array

    def describe(self, name, *arguments):
        """Returns a primitive descriptor: `name` without suffix, arguments after the engine."""
        create = f"{name}_primitive_desc_create"
        *before, attribute = arguments
        attribute = self.attribute if attribute is None else attribute
        pd = self.make("primitive_desc", create, self.engine, *before, attribute)
        pd.operation = name
        return pd

    def query(self, pd, what, index=0):
        """Returns a memory descriptor chosen by a primitive."""
        md = c_void_p(self.library.dnnl_primitive_desc_query_md(pd, QUERIES[what], index))
        md.owner = pd  # lives as long as the primitive's
        return md

    def implementation(self, pd):
        """Returns the name of the implementation, such as brgemm:avx512_core."""
        name = ctypes.c_char_p()
        self.call("primitive_desc_query", pd, QUERY_IMPL, 0, byref(name))
        return (name.value or b"").decode()

    def advance(self, pd, name):
        """Advances `pd` to the implementation `name`; returns None, with `pd` spent, if none."""
        require_room()
        while not (status := self.library.dnnl_primitive_desc_next_impl(pd)):
            if self.implementation(pd) == name:
                return pd
        if status != LAST_REACHED:
            raise error_of("primitive_desc_next_impl", status)
        return None

    def kind(self, number):
        """Returns the name of a oneDNN data type."""
        return NUMBERS.get(number, f"type {number} of oneDNN")

    def size(self, md):
        """Returns the bytes of memory that a descriptor needs."""
        return self.library.dnnl_memory_desc_get_size(md)

    def equal(self, first, second):
        return bool(self.library.dnnl_memory_desc_equal(first, second))

    def bind(self, pd, arguments):
        """Returns a call without arguments that runs the primitive on {index: memory}.

        Raises
        ------
        OperandError
            If it would misread memory.
        """
        check(self, pd, arguments, NAMES)
        primitive = self.make("primitive", "primitive_create", pd)
        arguments = arguments | self.scratchpad_of(pd)
        array = (Argument * len(arguments))(*[(k, m.value) for k, m in arguments.items()])
        execute, count, stream, where = self.execute, len(arguments), self.stream, byref(array)

        def call(keep=(arguments, array)):  # keeps what the primitive points to
            if status := execute(primitive, stream, count, where):
                raise error_of("primitive_execute", status)

        call.words = primitive.value, stream.value, count, ctypes.addressof(array)
        return call

    def own_scratchpads(self):
        """Returns an attribute that makes primitives use a scratchpad passed by the caller.

        Otherwise oneDNN allocates it for the thread that created the primitive, and another thread
        that runs the primitive finds none.
        """
        attribute = self.make("primitive_attr", "primitive_attr_create")
        self.call("primitive_attr_set_scratchpad_mode", attribute, OF_USER)
        return attribute

    def scratchpad_of(self, pd):
        """Returns {argument: memory} of the scratchpad of a primitive.

        All primitives of a session share it, as they run one after the other; it has the size of
        the largest.
        """
        md = self.query(pd, "scratchpad")
        needed = self.size(md)
        if not needed:
            return {}
        if needed > self.scratchpad.nbytes:
            self.scratchpad = empty(align(needed))
            for memory in self.borrowers:
                self.move(memory, self.scratchpad)
        self.borrowers.append(self.memory(md, self.scratchpad))
        return {SCRATCHPAD: self.borrowers[-1]}

    def reorder(self, source, target):
        """Returns a call that copies one memory to another, in any layout and type."""
        arguments = source.md, self.engine, target.md, self.engine, self.attribute
        pd = self.make("primitive_desc", "reorder_primitive_desc_create", *arguments)
        pd.operation = "reorder"
        return self.bind(pd, {SRC: source, DST: target})

    def then(self, *steps):
        """Returns an attribute with post-ops: `steps`, each a name and its arguments."""
        ops = self.make("post_ops", "post_ops_create")
        for name, *arguments in steps:
            self.call(f"post_ops_append_{name}", ops, *arguments)
        attribute = self.own_scratchpads()
        self.call("primitive_attr_set_post_ops", attribute, ops)
        return attribute


def require_room():
    """Raises MemoryError unless the process can allocate ROOM."""
    try:
        empty(ROOM)
    except MemoryError:
        raise MemoryError(f"oneDNN needs {ROOM:,} bytes for a primitive") from None


def handles(library, kind):
    """Returns the Handle class of one kind of object."""
    destroy = getattr(library, f"dnnl_{kind}_destroy")
    return type(kind, (Handle,), {"destroy": staticmethod(destroy)})


def address(array):
    return c_void_p(array.ctypes.data)


def dims(values):
    """Returns a dnnl_dims_t."""
    return (c_int64 * 12)(*[int(v) for v in values])
