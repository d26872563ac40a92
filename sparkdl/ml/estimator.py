"""Base class of the estimators: setting of Params, and persistence."""

from collections.abc import Callable
from typing import Any, Self

from pyspark import keyword_only

from sparkdl.ml.params import FitParams
from sparkdl.ml.persistence import SavedStage
from sparkdl.training.network import Network


class NetworkEstimator(FitParams, SavedStage):
    """Base class of the estimators."""

    _input_kwargs: dict[str, Any]  # arguments recorded by pyspark's keyword_only

    @keyword_only
    def setParams(self, **params: Any) -> Self:
        """Sets Params by name, as the constructor does."""
        return self._set(**self._input_kwargs)

    def model_with_values(self, model: Any) -> Any:
        """Returns a model of this stage with its Params and, as in pyspark.ml, its uid."""
        return self._copyValues(model._resetUid(self.uid))

    def networks_to_write(self) -> list[Network]:
        value = self._paramMap.get(self.network)
        return [value] if isinstance(value, Network) else []

    def about(self) -> dict[str, Any]:
        return {"weights": bool(self.networks_to_write())}

    @classmethod
    def from_saved(cls, network: Callable[[], Network], about: dict[str, Any]) -> Self:
        stage = cls()
        return stage._set(network=network()) if about["weights"] else stage
