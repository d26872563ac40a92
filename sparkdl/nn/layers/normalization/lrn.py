"""Local response normalization."""

from sparkdl.config import Choice, Number, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class LRN(Layer):
    """y = x / (k + alpha m(x^2))^beta, where m is the mean over the region around each number.

    Zeros count where the region reaches beyond the image or its channels.

    Shapes
    ------
    x, y (batch, C, H, W)

    References
    ----------
    Krizhevsky, Sutskever and Hinton (2012), section 3.3. Options and numbers are Caffe's LRN (whose
    k is always 1 within a channel) and PyTorch's. DL4J, TensorFlow and the paper do not divide
    alpha: theirs times the size is this one's, and their defaults differ.
    """

    size: int = option(
        Size(minimum=1),
        "Size of a region, odd: so many channels at one place, or size x size places of one "
        "channel.",
        default=5,
    )
    alpha: float = option(Number(), "Factor of the mean.", default=1.0)
    beta: float = option(Number(above=0), "Exponent of the divisor.", default=0.75)
    k: float = option(Number(above=0), "Number added to the mean.", default=1.0)
    region: str = option(
        Choice(of=("across_channels", "within_channel")),
        "Kind of a region; see size.",
        default="across_channels",
    )

    def validate(self) -> None:
        super().validate()
        require(self, "size", self.size % 2 == 1, "an odd integer >= 1")

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.images(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        within = self.region == "within_channel"
        return ops.lrn(x, self.size, self.alpha, self.beta, self.k, within)
