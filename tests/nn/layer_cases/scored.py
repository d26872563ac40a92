"""Output layers that add to the loss."""

from sparkdl.nn import layers
from tests.nn.layer_cases.core import dense

LAYERS = [
    (layers.CenterLossOutput(units=3), (4,)),
    (layers.CenterLossOutput(units=2, center_weight=0.5, center_rate=1.0, bias=False), (4,)),
]

THEIRS = {"CenterLossOutput": dense}
