"""Estimators and Models of pyspark.ml: networks in Pipelines, CrossValidators and saved models.

The names below are loaded when they are first used; __init__.pyi says the same to type checkers.
"""

from sparkdl.lazy_names import homes, lazy_names

EXPORTS = {
    "sparkdl.ml.classifier": "SparkNetworkClassificationModel SparkNetworkClassifier",
    "sparkdl.ml.network_estimator": "SparkNetworkEstimator SparkNetworkModel",
    "sparkdl.ml.regressor": "SparkNetworkRegressionModel SparkNetworkRegressor",
}

HOMES = homes(EXPORTS)
__all__ = list(HOMES)
__getattr__, __dir__ = lazy_names(__name__, HOMES)
