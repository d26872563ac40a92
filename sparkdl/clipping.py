"""Gradient clipping, which limits gradients that are too large."""

from sparkdl.nn.clipping import (
    ClipArrayNorm,
    ClipLayerNorm,
    ClipNorm,
    Clipping,
    ClipValue,
    UnitArrayNorm,
    UnitLayerNorm,
)

__all__ = [
    "ClipArrayNorm",
    "ClipLayerNorm",
    "ClipNorm",
    "Clipping",
    "ClipValue",
    "UnitArrayNorm",
    "UnitLayerNorm",
]
