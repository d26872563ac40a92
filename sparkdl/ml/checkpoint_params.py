"""Params of checkpoints and resources, which estimators have and models do not."""

from typing import Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.resource import ResourceProfile

from sparkdl.ml.documents import checkpoints_of, to_checkpoints, to_resources
from sparkdl.training.saving.checkpoint import Checkpoints


class HasCheckpoints(Params):
    """Mixin for params checkpoints and resume."""

    checkpoints: "Param[str]" = Param(
        Params._dummy(),
        "checkpoints",
        "where and how often a fit saves its training state: Checkpoints(path=...), or its JSON. "
        "Each fit needs a folder of its own.",
        typeConverter=to_checkpoints,
    )
    resume: "Param[bool]" = Param(
        Params._dummy(),
        "resume",
        "whether a fit continues from the newest of its checkpoints; it begins where its folder "
        "has none.",
        typeConverter=TypeConverters.toBoolean,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(resume=False)

    def getCheckpoints(self) -> Checkpoints | None:
        """Returns the value of checkpoints as Checkpoints; None where it is not set."""
        value = self.getOrDefault(self.checkpoints) if self.isDefined(self.checkpoints) else None
        return None if value is None else checkpoints_of(value)

    def getResume(self) -> bool:
        """Returns the value of resume or its default value."""
        return self.getOrDefault(self.resume)

    def setCheckpoints(self, value: Checkpoints | str) -> Self:
        """Sets the value of `checkpoints`."""
        return self._set(checkpoints=value)

    def setResume(self, value: bool) -> Self:
        """Sets the value of `resume`."""
        return self._set(resume=value)


class HasResources(Params):
    """Mixin for param resources: those of a training task."""

    resources: "Param[ResourceProfile]" = Param(
        Params._dummy(),
        "resources",
        "a pyspark.resource.ResourceProfile: cores and GPUs of each training task. It is of this "
        "process: a stage that is saved has none.",
        typeConverter=to_resources,
    )

    def getResources(self) -> ResourceProfile | None:
        """Returns the value of resources; None where it is not set."""
        return self.getOrDefault(self.resources) if self.isDefined(self.resources) else None

    def setResources(self, value: ResourceProfile) -> Self:
        """Sets the value of `resources`."""
        return self._set(resources=value)
