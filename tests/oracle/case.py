"""A case to compare: a network, and everything that determines its numbers."""

import json
from dataclasses import dataclass

from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.document import conf_from_dict

MASKS = ("none", "ones", "ragged", "holes", "empty")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A network and a batch, determined by a seed.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    batch : int
        Examples.
    seed : int
        Seed of features, labels and the parameters' noise.
    mask : str
        Mask of sequences, one of MASKS: "ragged" ends early, "holes" lacks arbitrary steps, "empty"
        includes sequences without a step.
    training : bool
        Whether to compare gradients and updates; otherwise predictions and losses in inference.
    shaken : bool
        Whether noise is added to initial parameters and buffers, so that none are 0 or equal.
    weights : bool
        Whether examples have weights.
    """

    conf: Conf
    batch: int = 3
    seed: int = 0
    mask: str = "none"
    training: bool = True
    shaken: bool = False
    weights: bool = False

    def __repr__(self):
        chosen = [f"conf=conf_from_dict({self.conf.to_dict()!r})", f"batch={self.batch}"]
        others = ("seed", "mask", "training", "shaken", "weights")
        defaults = type(self).__dataclass_fields__
        chosen += [
            f"{name}={getattr(self, name)!r}"
            for name in others
            if getattr(self, name) != defaults[name].default
        ]
        return f"Case({', '.join(chosen)})"

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))  # Hypothesis would print every field of every layer

    def to_dict(self):
        rest = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "conf"}
        return {"conf": self.conf.to_dict()} | rest

    @classmethod
    def from_dict(cls, options):
        return cls(**options | {"conf": conf_from_dict(options["conf"])})

    def to_json(self):
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(json.loads(text))
