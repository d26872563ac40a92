"""The arrays of a module as views of vectors, whatever its forward pass assigns to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.interop.torch.module_arrays import constants, kept, trained


class ModuleViews:
    """The parameters and buffers of a module, which lie in vectors; its constants beside them.

    A module may assign another tensor in its forward pass, to a buffer or to the data of a
    parameter. In training its numbers are then the array's, as in torch; in use they are forgotten.

    Parameters
    ----------
    module : torch.nn.Module
    values : {name: float32 tensor}
        Where its parameters and float buffers shall lie. Other buffers move to the same device.
    """

    def __init__(self, module: Any, values: dict[str, Any]) -> None:
        for name, array in (*trained(module), *kept(module)):
            array.data = values[name]
        move_counts(module, {value.device for value in values.values()})
        names = {name for name, _ in module.named_buffers()}
        parts = dict(module.named_modules())
        moving = [ArrayView(parts, name) for name in values]
        inside = find_renormed(module)
        self._written = [view for view in moving if view.name in names or view.is_among(inside)]
        self._all = moving + [ConstantView(parts, name) for name, _ in constants(module)]

    @contextmanager
    def in_training(self) -> Iterator[None]:
        """Takes over what is assigned within: once gradients are there, as they are of old values.

        Raises
        ------
        ConfigError
            An array has another shape, is gone, or is a constant here.
        """
        try:
            yield
            for view in self._all:
                view.take()
        except BaseException:
            self._restore()
            raise

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Leaves buffers, weights with a `max_norm`, and what is assigned within, as they were."""
        before = [view.numbers.clone() for view in self._written]
        try:
            yield
        finally:
            self._restore()
            for view, numbers in zip(self._written, before, strict=True):
                view.numbers.copy_(numbers)

    def _restore(self) -> None:
        for view in self._all:
            view.restore()


def move_counts(module: Any, devices: set[Any]) -> None:
    """Moves the buffers that are no floats to the device of the others, if that is another."""
    for device in devices:
        for buffer in module.buffers():
            if buffer.device != device:
                buffer.data = buffer.data.to(device)


def find_renormed(module: Any) -> list[Any]:
    """Returns the weights that a forward pass writes in evaluation, too: of Embeddings."""
    parts = [part for part in module.modules() if getattr(part, "max_norm", None) is not None]
    return [part.weight for part in parts if hasattr(part, "weight")]


class ArrayView:
    """A parameter or buffer, and the memory in which its numbers lie.

    Parameters
    ----------
    parts : {name: torch.nn.Module}
        The modules within one, and itself as "". Those of TorchScript hold their arrays, too.
    name : str
        Of the array, in that one.
    """

    def __init__(self, parts: dict[str, Any], name: str) -> None:
        owner, _, self._key = name.rpartition(".")
        part = parts[owner]
        self._holder = part._buffers if self._key in part._buffers else part._parameters
        self.name, self._array = name, self._holder[self._key]
        self.numbers = self._array.data

    def is_among(self, arrays: list[Any]) -> bool:
        """Returns whether it is one of these arrays."""
        return any(self._array is one for one in arrays)

    def find(self) -> Any:
        """Returns what has been assigned to it since: a tensor, None where nothing has been."""
        there = self._key in self._holder  # which has no `get` in TorchScript
        now = self._holder[self._key] if there else None
        if now is self._array and now.is_set_to(self.numbers):
            return None
        return self.check(now)

    def check(self, now: Any) -> Any:
        """Returns what was assigned, without gradients; ConfigError where it cannot be its own."""
        if now is None or (self._array.requires_grad and now is not self._array):
            raise ConfigError(
                f"TorchModel.make must give a module that keeps its arrays, got {self.name} "
                "removed, or another parameter in its place; assign to its `.data`"
            )
        if now.shape != self.numbers.shape:
            raise ConfigError(
                f"TorchModel.make must give a module whose arrays keep their shapes, got "
                f"{self.name} of {tuple(now.shape)} in place of {tuple(self.numbers.shape)}; make "
                "it a plain attribute"
            )
        return now.detach()

    def take(self) -> None:
        """Takes over what has been assigned."""
        found = self.find()
        if found is not None:
            self.numbers.copy_(found.clone())  # of the same memory, it may be
            self.restore()

    def restore(self) -> None:
        """Forgets what has been assigned."""
        self._holder[self._key] = self._array
        self._array.data = self.numbers


class ConstantView(ArrayView):
    """A buffer of integers or booleans, which does not travel: it must stay as it is."""

    def __init__(self, parts: dict[str, Any], name: str) -> None:
        super().__init__(parts, name)
        self._first, self._version = self.numbers.clone(), self._writes()

    def _writes(self) -> int:
        """Returns how often it was written; what `inference_mode` made has no count."""
        return 0 if self._array.is_inference() else int(self._array._version)

    def take(self) -> None:
        found = self.find()
        found = self.numbers if found is None else found
        written = self._writes() != self._version
        if found is self.numbers and not written:
            return
        if not found.equal(self._first):
            raise ConfigError(
                f"TorchModel.make must give a module that changes float buffers alone, got "
                f"{self.name} of {self.numbers.dtype} changed; make it a float"
            )
        self.restore()

    def restore(self) -> None:
        super().restore()
        if self._writes() != self._version:
            self.numbers.copy_(self._first)
            self._version = self._writes()
