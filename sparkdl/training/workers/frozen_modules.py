"""Exclusion of imported modules from garbage collection in a worker's process.

pyspark's daemon and `LocalWorkers` collect garbage after every task. Each time that would traverse
the hundred thousand objects of our modules, which takes longer than a small fit.
"""

import gc
import sys

_frozen = {"modules": 0}  # number of loaded modules when last frozen


def freeze_modules():
    """Excludes all objects of this process from collection, whenever modules have been imported."""
    loaded = len(sys.modules)
    if loaded != _frozen["modules"]:
        _frozen["modules"] = loaded
        gc.collect()  # unreachable cycles would otherwise stay forever
        gc.freeze()
