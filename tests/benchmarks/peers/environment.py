"""Virtual environments of the packages we compare with, under .bench/, created once."""

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.peers import cuda_stubs

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# Installed without dependencies: CUDA is 4 GB of no use, onnx_files are read, not imported.
COMPLETE = {"torch", "onnx_files"}


def python_of(name):
    """Returns the interpreter of the environment of peers/<name>.txt, creating it if missing."""
    folder = ROOT / ".bench" / name
    python, done = folder / "bin" / "python", folder / "complete"
    wanted = (HERE / f"{name}.txt").read_text()
    if not done.exists() or done.read_text() != wanted:
        print(f"making the environment of {name} (once, some minutes) ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "-r", HERE / f"{name}.txt"]
        subprocess.run([*pip, *["--no-deps"] * (name in COMPLETE)], check=True)
        if name == "torch":
            [library] = folder.glob("lib/python*/site-packages/torch/lib")
            cuda_stubs.make(library)
        done.write_text(wanted)
    return python
