"""NVRTC, the compiler of CUDA C: from source to machine code for a kind of device.

It needs neither device nor driver, and comes with the wheel nvidia-cuda-nvrtc or a CUDA toolkit.
"""

import ctypes
import functools
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer

from sparkdl.engine.backends.cuda.device.shared_libraries import load_library, wheels
from sparkdl.engine.native import cache
from sparkdl.errors import UnsupportedError

NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
OPTIONS = ("--std=c++17", "--device-as-default-execution-space", "--restrict")


def machine_code(text, capability):
    """Returns a module's machine code, cached or compiled: no driver is too old for it."""
    key = cache.key_of("cuda", *map(str, (*version(), *capability, *OPTIONS)), text)
    code = cache.read(key)
    if code is None:
        code, _ = compile_module(text, capability)
        cache.write(key, code)
    return code


def compile_module(text, capability, *options):
    """Returns (machine code, compiler output) of a module.

    Parameters
    ----------
    text : CUDA C
    capability : (major, minor) of the device
    options : more options of NVRTC

    Raises
    ------
    UnsupportedError
        If NVRTC is not found, or refuses the text.
    """
    nvrtc, program = library(), c_void_p()
    check(nvrtc.nvrtcCreateProgram(byref(program), text.encode(), b"kernel.cu", 0, None, None))
    try:
        major, minor = capability
        words = [o.encode() for o in (f"--gpu-architecture=sm_{major}{minor}", *OPTIONS, *options)]
        status = nvrtc.nvrtcCompileProgram(program, len(words), (c_char_p * len(words))(*words))
        log = read(program, "ProgramLog").rstrip(b"\0").decode()
        if status:
            raise UnsupportedError(f"NVRTC refuses a kernel for sm_{major}{minor}:\n{log[:4000]}")
        return read(program, "CUBIN"), log
    finally:
        nvrtc.nvrtcDestroyProgram(byref(program))


def version():
    """Returns (major, minor) of NVRTC."""
    major, minor = c_int(), c_int()
    check(library().nvrtcVersion(byref(major), byref(minor)))
    return major.value, minor.value


def read(program, what):
    size = c_size_t()
    check(getattr(library(), f"nvrtcGet{what}Size")(program, byref(size)))
    content = create_string_buffer(size.value)
    check(getattr(library(), f"nvrtcGet{what}")(program, content))
    return content.raw


def check(status):
    if status:
        raise UnsupportedError(f"NVRTC failed: {error_text(status)}")


def error_text(status):
    explain = library().nvrtcGetErrorString
    explain.restype = c_char_p
    return explain(status).decode()


@functools.cache
def library():
    """Returns the loaded NVRTC."""
    for path in wheels(NAMES):  # 13.0.88 does not find its file of built-ins by itself
        for other in sorted(path.parent.glob("libnvrtc-builtins.so*")):
            ctypes.CDLL(str(other))
    return load_library("NVRTC", NAMES, "pip install nvidia-cuda-nvrtc, or a CUDA toolkit")
