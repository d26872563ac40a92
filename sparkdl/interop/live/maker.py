"""Function that builds a model or an optimizer, for use in executors and documents."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sparkdl.config import Requirement
from sparkdl.errors import ConfigError, needs_package

_known: dict[tuple[str, str], "Maker"] = {}  # functions given to this process, by reference
# and option, as two lambdas of one scope have the same reference


@dataclass(frozen=True)
class Maker:
    """A function that builds something, with its reference "package.module:function".

    Documents only have the reference, and reading them imports and runs nothing: only functions
    passed to this process, by Python code or its driver, are ever called. `code` is the function as
    sent to executors. It is pickled when it is passed, and fixes the values of captured variables,
    also in this process.
    """

    reference: str
    code: bytes | None = field(default=None, repr=False)
    owner: str = "TorchModel"
    name: str = "make"

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return load_cloudpickle().loads(self.code)

    def __eq__(self, other: object) -> bool:
        """Returns whether both name the same function and are not known to differ."""
        if not isinstance(other, Maker) or self.reference != other.reference:
            return False
        return None in (self.code, other.code) or self.code == other.code

    def __hash__(self) -> int:
        return hash(self.reference)

    def __reduce__(self):
        return receive, (self.reference, self.code, self.owner, self.name)

    def __str__(self) -> str:
        return self.reference

    @property
    def is_class(self) -> bool:
        """Whether the function is a class, or a class with some of its arguments."""
        return isinstance(getattr(self._function, "func", self._function), type)

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function; raises ConfigError if this process does not have it."""
        if self.code is None:
            raise ConfigError(
                f"{self.owner}.{self.name} must be a function that this process knows, got only "
                f"the name {self.reference!r} from a saved model; make a {self.owner} with the "
                "function first"
            )
        return self._function(*arguments)


def load_cloudpickle() -> Any:
    """Imports cloudpickle; raises ConfigError if it is not installed."""
    with needs_package("a live model", "cloudpickle", "pip install cloudpickle", ConfigError):
        import cloudpickle
    return cloudpickle


def maker_of(function: Callable[..., Any], owner: str, name: str = "make") -> Maker:
    """Returns the Maker of a function, and registers it in this process."""
    named = function if hasattr(function, "__qualname__") else type(function)
    reference = f"{named.__module__}:{named.__qualname__}"
    code = code_of(function, reference, f"{owner}.{name}")
    return receive(reference, code, owner, name)


def code_of(function: Callable[..., Any], reference: str, field: str) -> bytes:
    """Pickles a function for executors; raises ConfigError if that fails."""
    cloudpickle = load_cloudpickle()
    try:
        return cloudpickle.dumps(function)
    except Exception as error:
        raise ConfigError(
            f"{field} must be a function that can be sent to executors, got {reference}: {error}; "
            "create the objects that it needs inside it"
        ) from error


def receive(reference: str, code: bytes | None, owner: str, name: str = "make") -> Maker:
    """Returns the Maker of a function given or sent to this process, and registers it."""
    if code is None:
        return Maker(reference, owner=owner, name=name)
    known = _known.get((reference, name))
    if known is None or (known.code, known.owner) != (code, owner):
        known = _known[reference, name] = Maker(reference, code, owner, name)
    return known


@dataclass(frozen=True, kw_only=True)
class MakerOption(Requirement):
    """A function, or its reference in a document.

    Parameters
    ----------
    takes : str
        The function's arguments.
    example : str
        A function as code, for errors.
    """

    owner: str
    builds: str
    name: str = "make"
    takes: str = "without arguments"
    example: str = ""

    @property
    def phrase(self) -> str:
        return f"a function {self.takes} that builds a {self.builds}"

    @property
    def plural(self) -> str:
        return f"functions that build a {self.builds}"

    def check(self, value: Any, where: str) -> Maker:
        if isinstance(value, str) and ":" in value:
            return _known.get((value, self.name), Maker(value, owner=self.owner, name=self.name))
        if isinstance(value, Maker):
            return value
        if callable(value):
            return maker_of(value, self.owner, self.name)
        self.refuse(value, where, f"write {self.example}" if self.example else "")
