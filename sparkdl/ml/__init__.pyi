"""The public names, for type checkers and editors; at run time __init__.py loads them when used."""

from sparkdl.ml.classifier import (
    SparkNetworkClassificationModel as SparkNetworkClassificationModel,
)
from sparkdl.ml.classifier import SparkNetworkClassifier as SparkNetworkClassifier
from sparkdl.ml.network_estimator import SparkNetworkEstimator as SparkNetworkEstimator
from sparkdl.ml.network_estimator import SparkNetworkModel as SparkNetworkModel
from sparkdl.ml.regressor import SparkNetworkRegressionModel as SparkNetworkRegressionModel
from sparkdl.ml.regressor import SparkNetworkRegressor as SparkNetworkRegressor
