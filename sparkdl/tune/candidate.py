"""The network of a trial and the options of its fit, as returned by `define`."""

from dataclasses import dataclass
from typing import Any

from sparkdl.config import is_integer
from sparkdl.errors import ConfigError, brief, require
from sparkdl.nn import Conf
from sparkdl.training.inputs.schema import common_schema

OPTIONS = "epochs", "batch_size"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A network, and the options of its fit in a trial.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    epochs : int
        Maximum; a pruner or early stopping may end the trial earlier.
    batch_size : int
        Examples of a minibatch, per worker if there are several.
    """

    conf: Any
    epochs: int = 1
    batch_size: int = 64

    def __post_init__(self) -> None:
        for name in OPTIONS:
            require(self, name, is_integer(getattr(self, name), 1), "an integer >= 1")


def candidate_of(given: Any, defaults: dict[str, int]) -> Candidate:
    """Returns the Candidate from the result of `define`: a conf, or (conf, {option: value})."""
    conf, options = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(conf, Conf) or not isinstance(options, dict):
        raise ConfigError(
            "define must return a NetworkConf or GraphConf, or a pair of it and a dict of "
            f"{list(OPTIONS)}, got {brief(given)}"
        )
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise ConfigError(f"define must give options of {list(OPTIONS)}, got {unknown}")
    return Candidate(conf=conf, **defaults | options)


def check_same_data(conf: Conf, first: Conf, transform: Any) -> None:
    """Raises ConfigError unless a network takes the records that were read for the first one."""
    one, other = (common_schema(each, transform) for each in (conf, first))
    if one != other:
        raise ConfigError(
            "define must return networks of the same inputs and labels, as the data is read once "
            f"for all: got {one}, before {other}"
        )
