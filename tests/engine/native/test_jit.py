"""Compiled functions: missing symbols raise errors instead of crashing."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from sparkdl.engine.native import jit
from sparkdl.engine.native.control import NAME
from sparkdl.engine.native.object_file import undefined_symbols
from sparkdl.errors import UnsupportedError


def module(body, declared=""):
    return f"{declared}\ndefine void @{NAME}(ptr %at) {{\n{body}\n  ret void\n}}\n"


CALL = "  %x = load float, ptr %at\n  %y = call float @{0}(float %x)\n  store float %y, ptr %at"


def calling(name):
    return module(CALL.format(name), f"declare float @{name}(float)")


@pytest.fixture
def compiler():
    try:
        return jit.compiler()
    except UnsupportedError as error:
        pytest.skip(str(error))


def test_a_function_of_the_c_library_is_called(compiler):
    x = np.float32([2.25])
    compiler.function(calling("sqrtf"))(ctypes.c_void_p(x.ctypes.data))
    assert x == 1.5


def test_a_function_that_is_nowhere_is_no_crash(compiler):
    with pytest.raises(UnsupportedError, match=r"no library of the process has \['not_there'\]"):
        compiler.function(calling("not_there"))


TEXTS = {
    "none": (module(""), []),
    "sin": (calling("sinf"), ["sinf"]),
    "twice": (
        module(
            CALL.format("sinf") + CALL.format("sinf").replace("%x", "%a").replace("%y", "%b"),
            "declare float @sinf(float)",
        ),
        ["sinf"],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_undefined_symbols_are_named(name, compiler):
    text, expected = TEXTS[name]
    assert undefined_symbols(compiler.compile(text)) == expected


ROUND = (
    "  %x = load <4 x float>, ptr %at\n"
    "  %y = fptrunc <4 x float> %x to <4 x bfloat>\n"
    "  store <4 x bfloat> %y, ptr %at"
)


def test_an_operation_without_an_instruction_is_refused_or_right(compiler):
    """Holds on processors with and without a bfloat16 rounding instruction."""
    x = np.float32([1.0, -2.5, 0.0, 3.0])
    try:
        function = compiler.function(module(ROUND))
    except UnsupportedError as error:
        assert "__truncsfbf2" in str(error)
        return
    function(ctypes.c_void_p(x.ctypes.data))
    assert x.view(np.uint16)[:4].tolist() == [0x3F80, 0xC020, 0, 0x4040]


MADE_AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from sparkdl.engine.native import jit

both = Barrier(2)

class Compiler(jit.Compiler):
    def __init__(self, llvm):
        super().__init__(llvm)
        try:
            both.wait(1)
        except BrokenBarrierError:
            pass

jit.Compiler = Compiler
with ThreadPoolExecutor(2) as pool:
    one, other = pool.map(lambda _: jit.compiler(), range(2))
assert one is other
"""


@pytest.mark.slow
@pytest.mark.usefixtures("compiler")
def test_threads_that_ask_at_once_get_one_compiler():
    """The code of a second compiler would be freed while it runs."""
    done = subprocess.run(
        [sys.executable, "-c", MADE_AT_ONCE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
