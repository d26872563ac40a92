"""Stub libraries in place of CUDA's, so that PyPI's torch loads and trains without them.

PyPI offers only the CUDA wheel. Its libraries need CUDA's by name, version and symbol; a stub
provides these, with functions that return an error. Needs gcc and binutils.
"""

import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

CUDA = r"lib(cu|nv|nccl)"
SYMBOLS = r"cu[A-Z_a-z]|nvrtc|nccl|nvshmem|__cuda"
OWNERS = {"nccl": "libnccl", "cusparseLt": "libcusparseLt", "cuFile": "libcufile"}
OWNERS |= {"nvshmem": "libnvshmem"}  # owners of unversioned symbols; all others are the runtime's
ERROR = 100  # cudaErrorNoDevice


class Needs(NamedTuple):
    """torch's requirements on CUDA libraries."""

    libraries: set  # names
    versions: dict  # {library: versions}
    symbols: dict  # {version: symbols}; None: unversioned


def make(folder):
    """Writes the stubs into torch/lib."""
    needs = read(p for p in Path(folder).glob("lib*.so*") if not re.match(CUDA, p.name))
    for library in sorted(needs.libraries):
        build(Path(folder) / library, *contents(needs, library))


def read(paths):
    needs = Needs(set(), defaultdict(set), defaultdict(set))
    for path in paths:
        read_headers(output("objdump", "-p", path), needs)
        read_symbols(output("nm", "-D", "--undefined-only", path), needs)
    return needs


def read_headers(text, needs):
    """Collects library names and the versions required of each."""
    for name in re.findall(rf"NEEDED\s+({CUDA}\S+)", text):
        needs.libraries.add(name[0])
    for library, block in re.findall(r"required from (\S+):\n((?:\s+0x.*\n)*)", text):
        needs.versions[library] |= set(re.findall(r"0x\w+ 0x\w+ \d+ (\S+)", block))


def read_symbols(text, needs):
    for symbol in (line.split()[-1] for line in text.splitlines()):
        name, *version = re.split("@+", symbol)
        if version or re.match(SYMBOLS, name):
            needs.symbols[version[0] if version else None].add(name)


def contents(needs, library):
    """Returns ({version: symbols}, unversioned symbols) of a library."""
    versioned = {v: needs.symbols[v] for v in needs.versions[library]}
    plain = {s for s in needs.symbols[None] if library.startswith((owner(s) + ".", owner(s) + "_"))}
    return versioned, plain


def owner(symbol):
    found = [library for prefix, library in OWNERS.items() if symbol.startswith(prefix)]
    return found[0] if found else "libcudart"


def build(path, versioned, plain):
    """Compiles one stub library."""
    symbols = sorted(plain.union(*versioned.values()))
    code = "".join(f"long {symbol}(void) {{ return {ERROR}; }}\n" for symbol in symbols)
    blocks = [
        f"{v} {{ global: {'; '.join(sorted(s)) or '__none'}; }};" for v, s in versioned.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "stub.c"), Path(folder, "stub.map")
        source.write_text(code)
        script.write_text("\n".join(blocks))
        options = [f"-Wl,-soname,{path.name}"]
        options += [f"-Wl,--version-script={script}"] if blocks else []
        command = ["gcc", "-w", "-shared", "-fPIC", "-o", path, *options, source]
        subprocess.run(command, check=True)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
