"""The examples of an evaluation with the largest losses: a few, wherever they were found."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.training.reporting.inspection import WrongExample

MOST = 12  # of an evaluation; each takes some 17 KB at most, that of a noisy picture
SETTING = "SPARKDL_WRONG_EXAMPLES"  # another number, on the driver; 0: no record leaves the data
LIMIT = 50


class WrongExamples(Sequence[WrongExample]):
    """At most `most` WrongExamples, the largest loss first; adds up as counts do.

    Parameters
    ----------
    examples : sequence of WrongExample
    most : int, optional
        None: what SPARKDL_WRONG_EXAMPLES says in this process, else 12.

    Raises
    ------
    ConfigError
        SPARKDL_WRONG_EXAMPLES is no integer from 0 to 50.
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
        """Returns them with names for the classes that they have by number; values stay."""
        return WrongExamples([name_classes(example, names) for example in self], self.most)

    def arrays(self) -> list[np.ndarray]:
        """Returns them as one array of bytes, which hold JSON."""
        text = json.dumps([asdict(example) for example in self])
        return [np.frombuffer(text.encode(), np.uint8)]

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Self:
        """Returns WrongExamples of what `arrays` gave; raises ValueError if it cannot be."""
        [content] = arrays
        try:
            rows = json.loads(content.astype(np.uint8).tobytes())
            return type(self)([WrongExample(**row) for row in rows], self.most)
        except TypeError as error:
            raise ValueError("one of JSON") from error


def number_to_keep() -> int:
    """Returns how many examples an evaluation keeps in this process."""
    text = os.environ.get(SETTING, str(MOST))
    if not (text.isdecimal() and int(text) <= LIMIT):
        raise ConfigError(f"{SETTING} must be an integer in [0, {LIMIT}], got {brief(text)}")
    return int(text)


def name_classes(example: WrongExample, names: Sequence[str]) -> WrongExample:
    """Returns an example whose label is a class, such as "3", and its prediction "5 (0.9)" so."""
    said, mark, share = example.prediction.partition(" (")
    if not (mark and said.isdigit() and example.truth.isdigit()):
        return example
    truth, prediction = names[int(example.truth)], f"{names[int(said)]}{mark}{share}"
    return replace(example, truth=truth, prediction=prediction)


def rank_of_example(example: WrongExample) -> tuple[bool, float, int]:
    """Returns the key by which the largest loss comes first, one that is no number last."""
    return math.isnan(example.loss), -example.loss, example.number
