"""The public names, for type checkers and editors; at run time __init__.py loads them when used."""

from sparkdl.tune.ensemble import EnsembleModel as EnsembleModel
from sparkdl.tune.estimator import TuneEstimator as TuneEstimator
from sparkdl.tune.search import Search as Search
