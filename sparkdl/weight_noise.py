"""Random changes of weights while training: DropConnect and relatives."""

from sparkdl.nn.weight_noise import DropConnect, GaussianWeightNoise, WeightNoise

__all__ = ["DropConnect", "GaussianWeightNoise", "WeightNoise"]
