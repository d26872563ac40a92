"""CUDA C compiled for the processor by g++ with the shim in this folder, kept on disk."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

PLACE = "SPARKDL_CUDA_ON_HOST"
SHIM = Path(__file__).with_name("shim.h")
ENTRY = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(')
MEETINGS = re.compile(r"__sync(threads|warp)\b|__\w+_sync\b")
FLAGS = ["-std=c++17", "-O1", "-w", "-fPIC", "-fno-strict-aliasing", "-fno-math-errno"]
FLAGS += ["-U_FORTIFY_SOURCE", "-fno-stack-protector"]


def available():
    """Whether there is a compiler."""
    return shutil.which("g++") is not None


def folder():
    """Where libraries are kept: below the folder that PLACE names, else that of temporary files."""
    root = os.environ.get(PLACE) or tempfile.gettempdir()
    path = Path(root, f"sparkdl-cuda-on-host-{os.getuid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    return path


@cache
def shim():
    """The shim's copy beside what g++ made of it, which halves the time of each module."""
    text = SHIM.read_text()
    path = folder() / f"shim-{key_of(text)}.h"
    if not path.with_suffix(".h.gch").exists():
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        os.replace(part, path)  # another process may be reading it right now
        build(["-x", "c++-header", path], path.with_suffix(".h.gch"))
    return path


@cache
def compiled(text):
    """The library of a module; its functions are launch_NAME(grid, block, shared, arguments)."""
    flat = "false" if MEETINGS.search(text) else "true"
    entries = [
        f'extern "C" void launch_{name}(const unsigned* grid, const unsigned* block, size_t shared,'
        f" void** values) {{ emu::launch([](void** v) {{ emu::call({name}, v); }}, grid, block,"
        f" shared, values, {flat}); }}"
        for name in ENTRY.findall(text)
    ]
    return shared("\n".join([text, *entries]), "-include", shim())


def shared(source, *flags):
    """The library of a C++ text."""
    path = folder() / f"{key_of(*map(str, flags), source)}.so"
    if not path.exists():
        build([*flags, "-shared", "-x", "c++", "-"], path, source)
    return ctypes.CDLL(str(path))


def key_of(*parts):
    return hashlib.sha256(" ".join([*FLAGS, *parts]).encode()).hexdigest()[:32]


def build(arguments, path, source=""):
    """Written under another name first, so that a process beside this one finds all or nothing."""
    part = path.with_suffix(f".{os.getpid()}")
    command = ["g++", *FLAGS, *arguments, "-o", part]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"g++ refuses a kernel:\n{done.stderr[:4000]}")
    os.replace(part, path)
