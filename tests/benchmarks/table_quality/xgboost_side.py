"""xgboost as the peer, run in its own environment."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.peers.environment import python_of


def score_by_xgboost(given, labels, trained, held_out, categories=()):
    """Returns probabilities (m,) for held-out records, by xgboost with defaults.

    Parameters
    ----------
    given : (n, columns) of numbers
    labels : (n,) of 0 and 1
    trained, held_out : indices of records
    categories : indices of categorical columns
    """
    kinds = ["c" if place in categories else "q" for place in range(given.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.npz"
        parts = {"x": given[trained], "y": labels[trained], "held_out": given[held_out]}
        np.savez(path, **parts)
        worker = Path(__file__).with_name("xgboost_worker.py")
        command = [python_of("xgboost"), worker, path, json.dumps(kinds)]
        subprocess.run(command, check=True, timeout=1800)
        return np.load(path.with_suffix(".npy"))
