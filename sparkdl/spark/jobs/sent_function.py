"""Functions sent to tasks, with a clear error if an executor lacks their module.

Spark unpickles a task before any code of ours runs, and reports only that a module is missing.
"""

from collections.abc import Callable
from typing import Any

from sparkdl.spark.jobs.shared_value import open_shared
from sparkdl.spark.jobs.user_code import pickle_value


class SentFunction:
    """A function that unpickles as itself; raises ConfigError with a cure if its module is missing.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_function, pickle_value(self.function)


def open_function(rest: bytes, arrays: list[Any]) -> Callable[..., Any]:
    """Returns the function that a SentFunction was made from."""
    return open_shared(rest, arrays).value
