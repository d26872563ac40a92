"""Searches for the best network on Optuna, and ensembles of the best ones.

The names below are loaded when they are first used; __init__.pyi says the same to type checkers.
"""

from sparkdl.lazy_names import homes, lazy_names

EXPORTS = {
    "sparkdl.tune.ensemble": "EnsembleModel",
    "sparkdl.tune.estimator": "TuneEstimator",
    "sparkdl.tune.search": "Search",
}

HOMES = homes(EXPORTS)
__all__ = list(HOMES)
__getattr__, __dir__ = lazy_names(__name__, HOMES)
