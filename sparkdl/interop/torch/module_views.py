"""The arrays of a module as views of vectors, even if its forward pass reassigns them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.interop.torch.module_arrays import constants, kept, trained


class ModuleViews:
    """The parameters and buffers of a module as views of vectors, and its constants.

    A forward pass may assign another tensor to a buffer, or to a parameter's data. In training its
    values are kept, as in torch; in prediction they are discarded.

    Parameters
    ----------
    module : torch.nn.Module
    values : {name: float32 tensor}
        Memory for its parameters and float buffers. Other buffers move to the same device.
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
        """Keeps assigned values at the end, since gradients are those of the old values.

        Raises
        ------
        ConfigError
            If an array changed its shape, was removed, or must stay constant.
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
        """Restores buffers, weights with a `max_norm` and assigned arrays at the end."""
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
    """Moves the buffers that are not floats to the device of the others."""
    for device in devices:
        for buffer in module.buffers():
            if buffer.device != device:
                buffer.data = buffer.data.to(device)


def find_renormed(module: Any) -> list[Any]:
    """Returns the weights that a forward pass writes also in eval mode, for `max_norm`."""
    parts = [part for part in module.modules() if getattr(part, "max_norm", None) is not None]
    return [part.weight for part in parts if hasattr(part, "weight")]


class ArrayView:
    """A parameter or buffer, and the memory of its numbers.

    Parameters
    ----------
    parts : {name: torch.nn.Module}
        The submodules of a module, and itself as "". TorchScript modules hold their arrays, too.
    name : str
        Of the array, in the module.
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
        """Returns the tensor assigned to it since; None if nothing was assigned."""
        there = self._key in self._holder  # TorchScript's has no `get`
        now = self._holder[self._key] if there else None
        if now is self._array and now.is_set_to(self.numbers):
            return None
        return self.check(now)

    def check(self, now: Any) -> Any:
        """Returns the assigned tensor, detached; ConfigError if it does not fit the array."""
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
        """Copies an assigned tensor into the array."""
        found = self.find()
        if found is not None:
            self.numbers.copy_(found.clone())  # it may overlap this memory
            self.restore()

    def restore(self) -> None:
        """Discards an assigned tensor."""
        self._holder[self._key] = self._array
        self._array.data = self.numbers


class ConstantView(ArrayView):
    """A buffer of integers or booleans, which is not sent: it must stay unchanged."""

    def __init__(self, parts: dict[str, Any], name: str) -> None:
        super().__init__(parts, name)
        self._first, self._version = self.numbers.clone(), self._writes()

    def _writes(self) -> int:
        """Returns how often it was written; 0 for inference tensors, which have no count."""
        return 0 if self._array.is_inference() else int(self._array._version)

    def take(self) -> None:
        found = self.find()
        found = self.numbers if found is None else found
        written = self._writes() != self._version
        if found is self.numbers and not written:
            return
        if not found.equal(self._first):
            raise ConfigError(
                "TorchModel.make must give a module that changes float buffers only, got a "
                f"change of {self.name} of {self.numbers.dtype}; make it a float"
            )
        self.restore()

    def restore(self) -> None:
        super().restore()
        if self._writes() != self._version:
            self.numbers.copy_(self._first)
            self._version = self._writes()
