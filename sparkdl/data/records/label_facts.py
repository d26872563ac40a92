"""What a fit should know of its labels: whether any counts, and whether they differ at all."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.records.label_range import LabelRange
from sparkdl.errors import DataError, NoRecords, NothingToEvaluate

log = logging.getLogger(__name__)
WEIGHTS, NO_WEIGHT = "weights", "the weight of each is 0"
EMPTY = "every partition is empty"
_IS_NEW: ContextVar[Callable[[str], bool]] = ContextVar("is_new", default=lambda labels: True)


@dataclass(frozen=True)
class LabelFacts:
    """Facts of the labels of records; those of several parts add up.

    Parameters
    ----------
    has_weight : bool
        Whether a record counts in the loss: has a weight above 0, or none.
    values : {column of labels: list of numbers}
        Of the labels that count, because their weight is above 0 and they are not ignored: the
        smallest and the largest, a single one if these are equal, or [].
    """

    has_weight: bool = False
    values: dict[str, list[float]] = field(default_factory=dict)

    def merge(self, other: "LabelFacts") -> "LabelFacts":
        """Returns the facts of the records of both."""
        one, two = self.values, other.values
        values = {name: ends(one.get(name, []) + two.get(name, [])) for name in one | two}
        return LabelFacts(self.has_weight or other.has_weight, values)

    def to_text(self) -> str:
        """Returns the facts as JSON."""
        return json.dumps([self.has_weight, self.values])

    @classmethod
    def from_text(cls, text: str) -> "LabelFacts":
        """Returns the facts of a text of `to_text`."""
        return cls(*json.loads(text))


def facts_of(schema: Any, batches: Iterable[Batch]) -> LabelFacts:
    """Returns the LabelFacts of checked Batches."""
    return total_facts(map(partial(_facts_of_batch, schema), batches))


def total_facts(found: Iterable[LabelFacts]) -> LabelFacts:
    """Returns the LabelFacts of all parts."""
    return reduce(LabelFacts.merge, found, LabelFacts())


def check_labels(schema: Any, found: Iterable[LabelFacts]) -> None:
    """Logs a warning for labels from which an output learns nothing, as they are all the same.

    Raises
    ------
    NoRecords
        Unless the weight of some record is above 0: nothing would be trained.
    DataError
        For labels that a loss does not take; see LabelRange.
    """
    facts = total_facts(found)
    if not facts.has_weight:
        raise NoRecords(f"there are no records to train on: {NO_WEIGHT}")
    for name, values in facts.values.items():
        labels = f"labels {name!r}" if len(facts.values) > 1 else "labels"
        if values:
            require_ranges(schema.outputs[name].ranges, labels, values)
        if len(values) < 2 and _IS_NEW.get()(labels):
            warn(labels, values)


def warn(labels: str, values: list[float]) -> None:
    """Logs that an output learns nothing from labels of a single value, or none."""
    if values:
        log.warning("all %s are %g: their output learns to predict nothing else", labels, *values)
    else:
        log.warning(
            "none of the %s counts, as the weight of each is 0 or it is ignored: their output is "
            "not trained",
            labels,
        )


@contextmanager
def warning_once() -> Iterator[None]:
    """Lets fits of this thread that belong together, as those of a stream, log a warning once."""
    said: set[str] = set()

    def is_new(labels):
        was_said = labels in said
        said.add(labels)
        return not was_said

    with _judging(is_new):
        yield


@contextmanager
def without_warnings() -> Iterator[None]:
    """Lets fits of this thread log no warning, as the driver has done so."""
    with _judging(lambda labels: False):
        yield


@contextmanager
def _judging(is_new):
    before = _IS_NEW.set(is_new)
    try:
        yield
    finally:
        _IS_NEW.reset(before)


def require_weight(found: Iterable[LabelFacts]) -> None:
    """Raises NothingToEvaluate unless the weight of some is above 0."""
    if not any(facts.has_weight for facts in found):
        raise nothing_to_evaluate(f": {NO_WEIGHT}")


def nothing_to_evaluate(why: str = "") -> NothingToEvaluate:
    """Returns the error of an evaluation in which no record counts; `why` tells the reason."""
    return NothingToEvaluate(f"there are no records to evaluate on{why}")


def require_ranges(ranges: Iterable[LabelRange], labels: str, values: list[float]) -> None:
    """Raises DataError unless the smallest and the largest label are what each loss takes."""
    for one in ranges:
        if error := one.error(labels, values):
            raise DataError(error)


def ends(values: list[float]) -> list[float]:
    """Returns the smallest and the largest of some numbers, once if they are equal."""
    return sorted({min(values), max(values)}) if values else []


def _facts_of_batch(schema, batch):
    rows = {c: _rows_that_count(batch, schema.label_weights.get(c)) for c in schema.outputs}
    has_weight = any(r.any() for r in rows.values() or [_rows_that_count(batch, None)])
    return LabelFacts(bool(has_weight), {c: _values(schema, batch, c, r) for c, r in rows.items()})


def _rows_that_count(batch, own):
    """Returns which records (n,) have weights above 0; `own` is the column of an output's own."""
    rows = np.ones(len(batch), bool)
    for name in (WEIGHTS, own):
        if name in batch.columns:
            rows &= batch.columns[name] > 0
    return rows


def _values(schema, batch, column, rows):
    """Returns the values of a column of labels, as LabelFacts has them."""
    labels, mask = batch.columns[column], batch.columns.get(schema.masks.get(column))
    if not rows.all():
        labels, mask = labels[rows], None if mask is None else mask[rows]
    if mask is not None:
        labels = labels[mask != 0]
    ignored = schema.outputs[column].ignored
    if ignored is not None:
        labels = labels[labels != ignored]
    return ends([labels.min().item(), labels.max().item()]) if labels.size else []
