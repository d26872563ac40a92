"""What happens to a minibatch between storage and network."""

from dataclasses import dataclass

import numpy as np

from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Features as float32, (x - mean) * factor.

    Parameters
    ----------
    factor : float
        Not 0; 1/255 brings bytes into [0, 1].
    mean : tuple of float
        One number for all, or one a channel (the first axis of an example).

    References
    ----------
    Caffe's transform_param with mean_value and scale gives the same numbers.
    """

    factor: float = 1.0
    mean: tuple[float, ...] = ()

    def __post_init__(self):
        mean = (self.mean,) if np.isscalar(self.mean) else tuple(self.mean)
        object.__setattr__(self, "mean", mean)
        require(self, "factor", np.isfinite(self.factor) and self.factor != 0, "a number, not 0")
        require(self, "mean", all(np.isfinite(m) for m in mean), "finite numbers")

    def __call__(self, batch):
        """The batch with features float32."""
        x, factor = batch.features, np.float32(self.factor)
        if not self.mean:
            return batch.replace(features=np.multiply(x, factor, dtype=np.float32))
        y = np.subtract(x, self._mean_for(x.shape), dtype=np.float32)
        y *= factor
        return batch.replace(features=y)

    def _mean_for(self, shape):
        channels = shape[1]
        if len(self.mean) not in (1, channels):
            raise ShapeError(
                f"Scale.mean needs 1 number or {channels}, one a channel, got {len(self.mean)}"
            )
        mean = np.asarray(self.mean, np.float32)
        return mean.reshape(-1, *(1 for _ in shape[2:]))
