"""Losses: the distance between a network's output and the label, one number per example."""

from sparkdl.nn.losses.agreement import (
    CosineProximity,
    Hinge,
    MulticlassHinge,
    SquaredHinge,
    Wasserstein,
)
from sparkdl.nn.losses.base import Loss
from sparkdl.nn.losses.classes import Infogain, MultinomialLogistic, SoftmaxCrossEntropy
from sparkdl.nn.losses.contrastive import Contrastive
from sparkdl.nn.losses.ctc import Ctc, best_path
from sparkdl.nn.losses.density import ExponentialDensity, Gaussian
from sparkdl.nn.losses.detections import Detection, detections
from sparkdl.nn.losses.dice import Dice, Tversky
from sparkdl.nn.losses.difference import L1, L2, Euclidean, Huber, LogCosh, Mae, Mape, Mse, Msle
from sparkdl.nn.losses.likelihood import KlDivergence, Poisson, SigmoidCrossEntropy
from sparkdl.nn.losses.mixture import MixtureDensity
from sparkdl.nn.losses.multi_label import MultiLabelRanking
from sparkdl.nn.losses.quantile import Quantile
from sparkdl.nn.losses.yolo2 import Yolo2

__all__ = [
    "best_path",
    "Contrastive",
    "CosineProximity",
    "Ctc",
    "Detection",
    "detections",
    "Dice",
    "Euclidean",
    "ExponentialDensity",
    "Gaussian",
    "Hinge",
    "Huber",
    "Infogain",
    "KlDivergence",
    "L1",
    "L2",
    "LogCosh",
    "Loss",
    "Mae",
    "Mape",
    "MixtureDensity",
    "Mse",
    "Msle",
    "MulticlassHinge",
    "MultiLabelRanking",
    "MultinomialLogistic",
    "Poisson",
    "Quantile",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "SquaredHinge",
    "Tversky",
    "Wasserstein",
    "Yolo2",
]
