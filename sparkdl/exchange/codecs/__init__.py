"""Codecs: a vector of float32 in fewer bytes."""

from sparkdl.exchange.codecs.base import Codec, Coder
from sparkdl.exchange.codecs.half import Half
from sparkdl.exchange.codecs.one_bit import OneBit
from sparkdl.exchange.codecs.rules import (
    AdaptiveThreshold,
    FixedThreshold,
    TargetSparsity,
    ThresholdRule,
)
from sparkdl.exchange.codecs.threshold import Threshold
from sparkdl.exchange.codecs.top_k import TopK
from sparkdl.exchange.codecs.two_bit import TwoBit

__all__ = [
    "AdaptiveThreshold",
    "Codec",
    "FixedThreshold",
    "Half",
    "OneBit",
    "TargetSparsity",
    "Threshold",
    "ThresholdRule",
    "TopK",
    "TwoBit",
]
