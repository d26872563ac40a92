"""Local response normalisation."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_number, is_positive
from sparkdl.nn.layers.base import Layer

REGIONS = ("across_channels", "within_channel")


@dataclass(frozen=True, kw_only=True)
class LRN(Layer):
    """y = x / (k + alpha m(x^2))^beta, where m is the mean over the region around each number.

    Zeros count where the region reaches beyond the image or its channels.

    Parameters
    ----------
    size : int
        Of a region: so many channels at one place, or size x size places of one channel; odd.
    alpha, beta, k : float
        alpha any number, beta and k above 0.
    region : str
        "across_channels" or "within_channel".

    Shapes
    ------
    x, y (batch, C, H, W)

    References
    ----------
    Krizhevsky, Sutskever and Hinton (2012), section 3.3. Options and numbers are Caffe's LRN (whose
    k is always 1 within a channel) and PyTorch's. DL4J, TensorFlow and the paper do not divide
    alpha: theirs times the size is this one's, and their defaults differ.
    """

    size: int = 5
    alpha: float = 1.0
    beta: float = 0.75
    k: float = 1.0
    region: str = "across_channels"

    def __post_init__(self):
        super().__post_init__()
        odd = is_integer(self.size, 1) and self.size % 2 == 1
        require(self, "size", odd, "an odd integer >= 1")
        require(self, "alpha", is_number(self.alpha), "a finite number")
        for name in ("beta", "k"):
            require(self, name, is_positive(getattr(self, name)), "a number above 0")
        require(self, "region", self.region in REGIONS, f"'{REGIONS[0]}' or '{REGIONS[1]}'")

    def out_shape(self, in_shape):
        return self.images(in_shape)

    def forward(self, params, x, run):
        within = self.region == "within_channel"
        return ops.lrn(x, self.size, self.alpha, self.beta, self.k, within)
