"""PyTorch for its tests, in a folder of its own: computes on the CPU, takes 1.2 GB.

python -m tests.support.torch_package FOLDER
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.peers import cuda_stubs, environment

FINISHED = ".finished"


def wanted():
    """The packages: torch and what it needs, and what sends functions; numpy is there."""
    lines = (environment.HERE / "torch.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("numpy")] + ["cloudpickle==3.1.2"]


def install(folder):
    """Puts them into a folder for PYTHONPATH, unless they are there."""
    done, packages = folder / FINISHED, wanted()
    if done.exists() and done.read_text().split() == packages:
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-compile", "--target", folder, *packages], check=True)
    cuda_stubs.make(folder / "torch" / "lib")
    done.write_text("\n".join(packages))


if __name__ == "__main__":
    install(Path(sys.argv[1]))
