"""A rate that does not change."""

from dataclasses import dataclass

from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Fixed(Decay):
    """rate = initial. Caffe lr_policy "fixed"."""

    def at(self, t):
        return self.initial
