"""Sides of the comparison: their processes, and the arguments of each."""

import os
import sys

from tests.benchmarks.exchange.member import AT, RANK, SIDE, SIZE
from tests.benchmarks.peers.environment import ROOT, python_of

PACKAGE = "tests.benchmarks.exchange"
OURS, OURS_SHARED = "sparkdl", "sparkdl, shared memory"
CHECKED, ENCRYPTED = "sparkdl, checksums", "sparkdl, TLS"
BARE, BARE_TWO = "bare sockets", "bare sockets, two threads"
GLOO, XGBOOST = "gloo", "xgboost"
OPEN_MPI, OPEN_MPI_SHARED = "Open MPI over TCP", "Open MPI, shared memory"
OVER_SOCKETS = (GLOO, XGBOOST, OPEN_MPI)

MODULES = {
    OURS: (None, "our_worker"),
    OURS_SHARED: (None, "our_worker"),
    CHECKED: (None, "our_worker"),
    ENCRYPTED: (None, "our_worker"),
    BARE: (None, "bare_worker"),
    BARE_TWO: (None, "bare_worker"),
    GLOO: ("torch", "gloo_worker"),
    XGBOOST: ("xgboost", "xgboost_worker"),
    OPEN_MPI: ("openmpi", "mpi_worker"),
    OPEN_MPI_SHARED: ("openmpi", "mpi_worker"),
}
MPIEXEC = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1"]
TCP = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]


def commands(name, size):
    """Returns the commands to start: one per rank, or one that starts all."""
    environment, module = MODULES[name]
    python = python_of(environment) if environment else sys.executable
    worker = [str(python), "-m", f"{PACKAGE}.{module}"]
    if environment != "openmpi":
        return [worker] * size
    path = TCP if name == OPEN_MPI else []
    return [[str(python.with_name("mpiexec")), *MPIEXEC, *path, "-n", str(size), *worker]]


def variables(name, size, rank, folder):
    """Returns a process's environment; sums use one thread, as there is a process per core."""
    fixed = {"PYTHONPATH": str(ROOT), "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1"}
    told = {AT: str(folder), RANK: str(rank), SIZE: str(size), SIDE: name}
    return {**os.environ, **fixed, **told}
