"""Keeps Python's collector away from what a worker's process has imported.

pyspark's daemon and `LocalWorkers` collect garbage after every task. That would each time walk
through the hundred thousand objects of our modules, which takes longer than a small fit.
"""

import gc
import sys

_frozen = {"modules": 0}  # that were loaded when they were last frozen


def freeze_modules():
    """Excludes all that this process holds from collection, once after each import."""
    loaded = len(sys.modules)
    if loaded != _frozen["modules"]:
        _frozen["modules"] = loaded
        gc.collect()  # else cycles that nobody needs would stay for ever
        gc.freeze()
