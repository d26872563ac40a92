"""The few examples of an evaluation with the largest losses."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.training.reporting.inspection import WrongExample

MOST = 12  # of an evaluation; each takes at most about 17 KB, for a noisy picture
SETTING = "SPARKDL_WRONG_EXAMPLES"  # number of examples, set on the driver; 0 keeps no records
LIMIT = 50


class WrongExamples(Sequence[WrongExample]):
    """At most `most` WrongExamples, largest loss first; can be added like counts.

    Parameters
    ----------
    examples : sequence of WrongExample
    most : int, optional
        None: the value of SPARKDL_WRONG_EXAMPLES in this process, else 12.

    Raises
    ------
    ConfigError
        If SPARKDL_WRONG_EXAMPLES is not an integer from 0 to 50.
    """

    def __init__(self, examples: Sequence[WrongExample] = (), most: int | None = None) -> None:
        self.most = number_to_keep() if most is None else most
        self._examples = tuple(sorted(examples, key=rank_of_example)[: self.most])

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, place: Any) -> Any:
        return self._examples[place]

    def __iter__(self) -> Iterator[WrongExample]:
        return iter(self._examples)

    def __add__(self, other: Sequence[WrongExample]) -> "WrongExamples":
        return WrongExamples([*self, *other], self.most)

    def named(self, names: Sequence[str]) -> "WrongExamples":
        """Returns the examples with class numbers replaced by names."""
        return WrongExamples([name_classes(example, names) for example in self], self.most)

    def arrays(self) -> list[np.ndarray]:
        """Returns the examples as one array of bytes that holds JSON."""
        text = json.dumps([asdict(example) for example in self])
        return [np.frombuffer(text.encode(), np.uint8)]

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Self:
        """Returns WrongExamples from the result of `arrays`; ValueError if it does not fit."""
        [content] = arrays
        try:
            rows = json.loads(content.astype(np.uint8).tobytes())
            return type(self)([WrongExample(**row) for row in rows], self.most)
        except TypeError as error:
            raise ValueError("one of JSON") from error


def number_to_keep() -> int:
    """Returns the number of examples that an evaluation keeps in this process."""
    text = os.environ.get(SETTING, str(MOST))
    if not (text.isdecimal() and int(text) <= LIMIT):
        raise ConfigError(f"{SETTING} must be an integer in [0, {LIMIT}], got {brief(text)}")
    return int(text)


def name_classes(example: WrongExample, names: Sequence[str]) -> WrongExample:
    """Returns an example with a label such as "3" and a prediction such as "5 (0.9)" named."""
    said, mark, share = example.prediction.partition(" (")
    if not (mark and said.isdigit() and example.truth.isdigit()):
        return example
    truth, prediction = names[int(example.truth)], f"{names[int(said)]}{mark}{share}"
    return replace(example, truth=truth, prediction=prediction)


def rank_of_example(example: WrongExample) -> tuple[bool, float, int]:
    """Returns a sort key: largest loss first, NaN last."""
    return math.isnan(example.loss), -example.loss, example.number
