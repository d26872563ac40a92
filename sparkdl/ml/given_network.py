"""A Network as the value of a Param, which pyspark.ml's tuning saves as part of a grid."""

from collections.abc import Callable
from typing import Any, Self

from pyspark.ml import Transformer
from pyspark.sql import DataFrame

from sparkdl.errors import UnsupportedError
from sparkdl.ml.persistence import SavedStage
from sparkdl.training.network import Network


class GivenNetwork(Transformer, SavedStage):
    """Holds a Network whose weights a fit starts from.

    It is a Transformer, because a CrossValidator writes a value of its grid as JSON unless it is a
    stage, which it saves beside.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def _transform(self, dataset: DataFrame) -> DataFrame:
        raise UnsupportedError(
            f"{type(self).__name__} has no columns of its own to add; an estimator trains its "
            "network, and SparkNetwork(sc, network) predicts with it"
        )

    def networks_to_write(self) -> list[Network]:
        return [self.network]

    def about(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_saved(cls, network: Callable[[], Network], about: dict[str, Any]) -> Self:
        return cls(network())
