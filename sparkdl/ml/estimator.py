"""Base class of the estimators: setting of Params, and persistence."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.sql import DataFrame

from sparkdl.config.calls import unknown_option
from sparkdl.ml.checkpoint_folders import check_param_maps
from sparkdl.ml.given_network import GivenNetwork
from sparkdl.ml.params import FitParams
from sparkdl.ml.persistence import SavedStage
from sparkdl.training.network import Network


class NetworkEstimator(Estimator[Any], FitParams, SavedStage):
    """Base class of the estimators."""

    _input_kwargs: dict[str, Any]  # arguments recorded by pyspark's keyword_only

    if not TYPE_CHECKING:  # type checkers name unknown attributes themselves

        def __getattr__(self, name: str) -> Any:
            """Raises AttributeError, with the Param or the place here of what others call so."""
            if hasattr(type(self), name):  # a property, whose own error says more
                return object.__getattribute__(self, name)
            kind = type(self).__name__
            if name.startswith("_") or "_paramMap" not in vars(self):  # before Params.__init__
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            known = [param.name for param in self.params]
            raise AttributeError(str(unknown_option(name, known, kind, "__init__")))

    @keyword_only
    def setParams(self, **params: Any) -> Self:
        """Sets Params by name, as the constructor does; ConfigError for names of none."""
        known = [param.name for param in self.params]
        for name in self._input_kwargs:
            if name not in known:
                raise unknown_option(name, known, type(self).__name__, "__init__")
        return self._set(**self._input_kwargs)

    def fitMultiple(
        self, dataset: DataFrame, paramMaps: Sequence[dict[Any, Any]]
    ) -> Iterator[tuple[int, Any]]:
        """Fits a model for each param map; those of pyspark.ml's tuning use it.

        Raises ConfigError unless each map has its own folder of `checkpoints`, if there are any.
        """
        check_param_maps(self, paramMaps)
        return super().fitMultiple(dataset, paramMaps)

    def model_with_values(self, model: Any) -> Any:
        """Returns a model of this stage with its Params and, as in pyspark.ml, its uid."""
        return self._copyValues(model._resetUid(self.uid))

    def networks_to_write(self) -> list[Network]:
        value = self._paramMap.get(self.network)
        return [value.network] if isinstance(value, GivenNetwork) else []

    def about(self) -> dict[str, Any]:
        return {"weights": bool(self.networks_to_write())}

    @classmethod
    def from_saved(cls, network: Callable[[], Network], about: dict[str, Any]) -> Self:
        stage = cls()
        return stage._set(network=network()) if about["weights"] else stage
