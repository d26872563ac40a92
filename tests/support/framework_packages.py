"""Installs PyTorch or TensorFlow for the CPU (1.2 and 1.4 GB) in a separate folder for tests.

python -m tests.support.framework_packages torch FOLDER
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.peers import cuda_stubs, environment

FINISHED = ".finished"
TENSORFLOW = """
    tensorflow-cpu==2.21.0 absl-py==2.5.1 astunparse==1.6.3 flatbuffers==25.12.19 gast==0.7.0
    google_pasta==0.2.0 grpcio==1.85.3 libclang==18.1.1 ml_dtypes==0.6.0 opt_einsum==3.4.0
    protobuf==7.36.2 six==1.17.0 tensorboard==2.21.0 termcolor==3.3.0 typing_extensions==4.16.0
    wrapt==2.5.2
"""


def torch_packages():
    """Returns torch, its dependencies except numpy, and cloudpickle."""
    lines = (environment.HERE / "torch.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("numpy")] + ["cloudpickle==3.1.2"]


def tensorflow_packages():
    """Returns TensorFlow and its dependencies, except Keras, numpy and h5py."""
    return TENSORFLOW.split()


PACKAGES = {"torch": torch_packages, "tensorflow": tensorflow_packages}


def install(framework, folder):
    """Installs a framework into a folder for PYTHONPATH, unless it is already there."""
    done, packages = folder / FINISHED, PACKAGES[framework]()
    if done.exists() and done.read_text().split() == packages:
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-compile", "--target", folder, *packages], check=True)
    if framework == "torch":
        cuda_stubs.make(folder / "torch" / "lib")
    done.write_text("\n".join(packages))


if __name__ == "__main__":
    install(sys.argv[1], Path(sys.argv[2]))
