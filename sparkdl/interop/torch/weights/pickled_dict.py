"""Pickles of torch.save, read without running code.

A pickle is a program for a small machine. This machine knows the instructions that build dicts,
lists, tuples, strings and numbers, and the few names by which torch writes tensors. It imports and
calls nothing else, and creates no other objects.
"""

import pickletools
from typing import Any, NamedTuple

from sparkdl.errors import DataError, UnsupportedError, brief

STORAGES = {  # {name in a pickle: torch type}
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
}
CONSTANTS = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
}
VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE", "UNICODE"),
    *("BINBYTES", "BINBYTES8", "SHORT_BINBYTES", "BINSTRING", "SHORT_BINSTRING", "STRING"),
}
DAMAGE = (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, EOFError)


class Name(NamedTuple):
    """A function or class that a pickle names."""

    module: str
    name: str


class Storage(NamedTuple):
    """A storage, whose numbers are a member of the zip."""

    kind: str
    key: str
    count: int


class Tensor(NamedTuple):
    """A view of a storage."""

    storage: Storage
    offset: int
    shape: tuple
    strides: tuple


class Mark:
    """The mark below a list of items on the stack."""


def read_pickle(content, path):
    """Returns the content of torch.save's pickle: dicts, lists, tuples, numbers and Tensors.

    Raises
    ------
    UnsupportedError
        If it names anything else, such as a user's class.
    DataError
        If it is damaged.
    """
    machine = Machine(path)
    try:
        for instruction, argument, _ in pickletools.genops(content):
            if machine.step(instruction.name, argument):
                return machine.stack.pop()
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(f"{path}, data.pkl: is damaged: {error!r}") from error
    raise DataError(f"{path}, data.pkl: has no end")


class Machine:
    """The stack and memory of a pickle."""

    def __init__(self, path):
        self.path, self.stack, self.memory = path, [], {}

    def step(self, name, argument):
        """Executes an instruction; returns whether it is the last."""
        if name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in VALUES:
            self.stack.append(argument)
        elif name in STEPS:
            STEPS[name](self, argument)
        elif name == "STOP":
            return True
        elif name not in ("PROTO", "FRAME"):
            raise UnsupportedError(f"{self.path}, data.pkl: the instruction {name}")
        return False

    def items(self):
        """Returns the items above the last mark, and removes them."""
        found = []
        while not isinstance(value := self.stack.pop(), Mark):
            found.append(value)
        return found[::-1]

    def put(self, place):
        self.memory[len(self.memory) if place is None else place] = self.stack[-1]

    def extend(self, values):
        self.need(isinstance(self.stack[-1], list), "items of no list")
        self.stack[-1].extend(values)

    def set_items(self, values):
        self.need(isinstance(self.stack[-1], dict) and len(values) % 2 == 0, "items of no dict")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self.need(isinstance(key, str) or is_whole(key), "a name")
            self.stack[-1][key] = value

    def take(self, count):
        values = self.stack[len(self.stack) - count :]
        self.need(len(values) == count, "too few values")
        del self.stack[len(self.stack) - count :]
        return values

    def name(self, module, name):
        self.need(isinstance(module, str) and isinstance(name, str), "a name")  # before hashing
        known = (module, name) in CALLS or (module == "torch" and name in STORAGES)
        if not known:
            named = brief(f"{module}.{name}").strip("'")
            raise UnsupportedError(
                f"{self.path} holds an object of {named}, which is not read; save a "
                "state_dict of tensors alone: torch.save(module.state_dict(), path)"
            )
        return Name(module, name)

    def call(self, function, arguments):
        """Returns the result of a call of one of the known functions."""
        self.need(isinstance(function, Name) and isinstance(arguments, tuple), "a call")
        self.need(tuple(function) in CALLS, f"a call of {function.name}")
        return CALLS[tuple(function)](self, *arguments)

    def storage(self, values):
        kind, name, key, _, count = values
        good = kind == "storage" and isinstance(name, Name) and name.name in STORAGES
        self.need(good and isinstance(key, str) and is_whole(count), "a storage")
        return Storage(STORAGES[name.name], key, count)

    def tensor(self, storage, offset, shape, strides, *_: Any):
        whole = all(map(is_whole, (offset, *shape, *strides)))
        good = isinstance(storage, Storage) and whole and len(shape) == len(strides) <= 32
        self.need(good, "a tensor")
        return Tensor(storage, offset, tuple(shape), tuple(strides))

    def parameter(self, tensor, *_: Any):
        self.need(isinstance(tensor, Tensor), "a parameter of no tensor")
        return tensor

    def ordered(self):
        return {}

    def build(self):
        """Ignores the attributes of an OrderedDict, in which torch keeps module versions."""
        _, target = self.stack.pop(), self.stack[-1]
        self.need(isinstance(target, dict), "a state of no dict")

    def need(self, holds, what):
        if not holds:
            raise DataError(f"{self.path}, data.pkl: has {what} that is none")


def is_whole(value):
    return type(value) is int and 0 <= value < 2**62


CALLS = {
    ("collections", "OrderedDict"): Machine.ordered,
    ("torch._utils", "_rebuild_parameter"): Machine.parameter,
    ("torch._utils", "_rebuild_tensor_v2"): Machine.tensor,
}
STEPS = {
    "APPEND": lambda m, _: m.extend(m.take(1)),
    "APPENDS": lambda m, _: m.extend(m.items()),
    "BINGET": lambda m, place: m.stack.append(m.memory[place]),
    "BINPERSID": lambda m, _: m.stack.append(m.storage(m.stack.pop())),
    "BINPUT": Machine.put,
    "BUILD": lambda m, _: m.build(),
    "EMPTY_DICT": lambda m, _: m.stack.append({}),
    "EMPTY_LIST": lambda m, _: m.stack.append([]),
    "EMPTY_TUPLE": lambda m, _: m.stack.append(()),
    "GLOBAL": lambda m, text: m.stack.append(m.name(*text.split(" ", 1))),
    "LONG_BINGET": lambda m, place: m.stack.append(m.memory[place]),
    "LONG_BINPUT": Machine.put,
    "MARK": lambda m, _: m.stack.append(Mark()),
    "MEMOIZE": Machine.put,
    "REDUCE": lambda m, _: m.stack.append(m.call(*m.take(2))),
    "SETITEM": lambda m, _: m.set_items(m.take(2)),
    "SETITEMS": lambda m, _: m.set_items(m.items()),
    "STACK_GLOBAL": lambda m, _: m.stack.append(m.name(*m.take(2))),
    "TUPLE": lambda m, _: m.stack.append(tuple(m.items())),
    "TUPLE1": lambda m, _: m.stack.append(tuple(m.take(1))),
    "TUPLE2": lambda m, _: m.stack.append(tuple(m.take(2))),
    "TUPLE3": lambda m, _: m.stack.append(tuple(m.take(3))),
}
