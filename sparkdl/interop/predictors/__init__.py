"""Models as functions of named arrays, of sparkdl and of other frameworks."""

from sparkdl.interop.predictors.choice import choose_predictor
from sparkdl.interop.predictors.network_predictor import NetworkPredictor
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor
