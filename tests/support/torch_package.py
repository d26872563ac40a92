"""PyTorch for its tests, in a folder of its own: computes on the CPU, takes 1.2 GB.

The package index has builds of torch for CUDA alone, which ask for 4 GB of CUDA's libraries. Here
empty ones stand in for them, with every symbol that torch's own libraries name; none is called.

    python -m tests.support.torch_package FOLDER
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

VERSION = "2.15.0"
WANTED = [f"torch=={VERSION}", "cloudpickle", "filelock", "fsspec", "jinja2", "markupsafe"]
WANTED += ["mpmath", "networkx", "sympy", "typing-extensions"]
CUDA = re.compile(r"lib(cu|nv|nccl)")
OWNERS = {"nccl": "libnccl", "cusparseLt": "libcusparseLt", "cuFile": "libcufile"}
OWNERS |= {"nvshmem": "libnvshmem"}
OTHERS = "libcudart"  # of symbols without a version that none of the above begins
FINISHED = ".finished"


def install(folder):
    """Puts torch into a folder for PYTHONPATH, unless this version is there."""
    done = folder / FINISHED
    if done.exists() and done.read_text() == VERSION:
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-compile", "--target", folder, *WANTED], check=True)
    write_libraries(folder / "torch" / "lib")
    done.write_text(VERSION)


def write_libraries(folder):
    """Writes an empty library for each of CUDA's that torch's libraries need."""
    needed, by_version, plain = read_symbols(
        path for path in folder.glob("lib*.so*") if not CUDA.match(path.name)
    )
    for name, versions in sorted(needed.items()):
        own = {version: by_version[version] for version in versions}
        loose = {symbol for symbol in plain if re.match(rf"{owner_of(symbol)}[._]", name)}
        write_library(folder / name, own, loose)


def read_symbols(libraries):
    """Returns {library: versions}, {version: symbols} and the symbols without one."""
    needed, by_version, plain = defaultdict(set), defaultdict(set), set()
    for library in libraries:
        owner = None
        for line in output("objdump", "-p", library):
            if (found := re.search(r"NEEDED\s+(\S+)", line)) and CUDA.match(found[1]):
                needed[found[1]] |= set()
            if found := re.search(r"required from (\S+):", line):
                owner = found[1]
            if (found := re.match(r"\s+0x\w+ 0x\w+ \d+ (\S+)", line)) and CUDA.match(owner or ""):
                needed[owner].add(found[1])
        for line in output("nm", "-D", "--undefined-only", library):
            symbol, _, version = line.split()[-1].partition("@")
            if version:
                by_version[version.lstrip("@")].add(symbol)
            elif re.match(r"cu[A-Z_a-z]|nvrtc|nccl|nvshmem|__cuda", symbol):
                plain.add(symbol)
    return needed, by_version, plain


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def owner_of(symbol):
    return next((name for start, name in OWNERS.items() if symbol.startswith(start)), OTHERS)


def write_library(path, by_version, loose):
    """Compiles a library whose functions all return an error."""
    symbols = sorted(set().union(loose, *by_version.values()))
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "empty.c"), Path(scratch, "versions")
        source.write_text("".join(f"long {name}(void) {{ return 100; }}\n" for name in symbols))
        parts = (
            f"{v} {{ global: {'; '.join(sorted(names)) or '__none'}; }};\n"
            for v, names in by_version.items()
        )
        script.write_text("".join(parts))
        options = [
            f"-Wl,-soname,{path.name}",
            *[f"-Wl,--version-script={script}"] * bool(by_version),
        ]
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", path, *options, source], check=True)


if __name__ == "__main__":
    install(Path(sys.argv[1]))
