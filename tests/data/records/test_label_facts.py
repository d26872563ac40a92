"""Facts of labels: against the labels that numpy selects, and what a fit says of useless ones."""

import logging
from contextlib import nullcontext

import numpy as np
import pytest

from sparkdl.data import Batch, Schema
from sparkdl.data.batches.batch import record_ids
from sparkdl.data.records.label import Label
from sparkdl.data.records.label_facts import (
    LabelFacts,
    check_labels,
    facts_of,
    total_facts,
    warning_once,
    without_warnings,
)
from sparkdl.data.records.label_range import LabelRange
from sparkdl.errors import DataError, NoRecords

TWO = Schema(
    features=(1,),
    labels={"kind": Label(kind="class", size=4, ignored=-1), "size": Label(kind="values", size=2)},
)
ONE = Schema(features=(1,), labels="class", label_size=4)
WORDS = Schema(
    features=(3, 1),
    labels={"labels": Label(kind="class", size=4, shape=(3,))},
    masks={"features": "mask", "labels": "labels_mask"},
)
LOGGER = "sparkdl.data.records.label_facts"


def batch(schema, **columns):
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    count = len(next(iter(arrays.values())))
    shape = next(iter(schema.inputs.values()))
    arrays |= {"features": np.zeros((count, *shape), np.float32)}
    return schema.check(Batch(columns=arrays, ids=record_ids(0, 0, count)), "here")


def test_parts_add_up_to_what_numpy_selects():
    rng = np.random.default_rng(0)
    for _ in range(50):
        kind, size = rng.integers(-1, 4, 6), rng.integers(0, 3, (6, 2)).astype(float)
        all_, own = rng.integers(0, 2, 6).astype(float), rng.integers(0, 2, 6).astype(float)
        parts = [
            batch(TWO, kind=kind[at], size=size[at], weights=all_[at], size_weights=own[at])
            for at in (slice(0, 2), slice(2, 3), slice(3, 6))
        ]
        facts = total_facts(LabelFacts.from_text(facts_of(TWO, [p]).to_text()) for p in parts)
        assert facts == facts_of(TWO, parts)
        kept = {"kind": kind[(all_ > 0) & (kind >= 0)], "size": size[(all_ > 0) & (own > 0)]}
        assert facts.has_weight == (all_ > 0).any()
        for name, values in kept.items():
            found = facts.values[name]
            assert len(found) == min(2, len(np.unique(values)))
            assert not found or (min(found), max(found)) == (values.min(), values.max())


def test_steps_of_padding_do_not_count():
    masks = [[1, 1, 0], [1, 0, 0]]
    padded = batch(WORDS, labels=[[2, 2, 0], [2, 0, 0]], mask=masks, labels_mask=masks)
    assert facts_of(WORDS, [padded]).values == {"labels": [2]}


SAID = {  # schema, columns, words of the warning or None
    "several classes": (ONE, {"labels": [0, 1, 1]}, None),
    "one class": (ONE, {"labels": [1, 1, 1]}, "all labels are 1: their output learns to predict"),
    "one class that counts": (
        ONE,
        {"labels": [0, 1, 3], "weights": [0.0, 2.0, 0.0]},
        "all labels are 1: ",
    ),
    "one value": (Schema(features=(1,), labels="values"), {"labels": [[0.5]] * 3}, "are 0.5: "),
    "one class of two outputs": (
        TWO,
        {"kind": [3, 3], "size": [[0.0, 1.0]] * 2},
        "all labels 'kind' are 3: ",
    ),
    "no weight of one output": (
        TWO,
        {"kind": [0, 1], "size": [[0.0, 1.0]] * 2, "size_weights": [0.0, 0.0]},
        "none of the labels 'size' counts, as the weight of each is 0 or it is ignored",
    ),
    "ignored": (TWO, {"kind": [-1, -1], "size": [[0.0, 1.0]] * 2}, "none of the labels 'kind'"),
}


@pytest.mark.parametrize("case", SAID)
def test_labels_that_teach_nothing_are_told(case, caplog):
    schema, columns, words = SAID[case]
    with caplog.at_level(logging.WARNING, LOGGER):
        check_labels(schema, [facts_of(schema, [batch(schema, **columns)])])
    found = [record.getMessage() for record in caplog.records]
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


WARNED = {  # where two fits are, and how often each column of labels is told
    "by themselves": (nullcontext, 2),
    "one after the other": (warning_once, 1),
    "after others have told it": (without_warnings, 0),
}


@pytest.mark.parametrize("where", WARNED)
def test_fits_that_belong_together_tell_it_once(where, caplog):
    inside, times = WARNED[where]
    facts = [facts_of(TWO, [batch(TWO, kind=[3, 3], size=[[1.0, 1.0]] * 2)])]
    with caplog.at_level(logging.WARNING, LOGGER), inside():
        for _ in range(2):
            check_labels(TWO, facts)
    found = [record.getMessage() for record in caplog.records]
    assert [sum(name in text for text in found) for name in ("'kind'", "'size'")] == [times] * 2
    check_labels(TWO, facts)
    assert len(caplog.records) == 2 * times + 2


def test_some_label_needs_a_weight():
    own = {"kind_weights": [0.0, 0.0], "size_weights": [0.0, 0.0]}
    weightless = batch(TWO, kind=[0, 1], size=[[0.0, 1.0]] * 2, **own)
    with pytest.raises(NoRecords, match="records to train on: the weight of each is 0"):
        check_labels(TWO, [facts_of(TWO, [weightless])])
    bare = Schema(features=(1,))
    check_labels(bare, [facts_of(bare, [batch(bare, x=[0.0])])])
    with pytest.raises(NoRecords):
        check_labels(TWO, [])


SHARES_OF = LabelRange("sigmoid_cross_entropy", 0, 1)
YES_OR_NO = Schema(
    features=(1,), labels={"labels": Label(kind="values", size=2, ignored=-9, ranges=(SHARES_OF,))}
)
SHARES = {  # columns, words of the error or None
    "no and yes": ({"labels": [[0, 1], [1, 0]]}, None),
    "probabilities, rounded": ({"labels": [[0.2, 1 + 1e-7], [-1e-9, 0]]}, None),
    "ignored": ({"labels": [[0, -9], [1, 0]]}, None),
    "what has no weight": ({"labels": [[-1, 1], [1, 0]], "weights": [0.0, 1.0]}, None),
    "signs": ({"labels": [[-1, 1], [1, -1]]}, "got -1 to 1; number classes from 0 on"),
    "counted from 1": ({"labels": [[1, 2], [2, 1]]}, "got 1 to 2; number"),
    "all the same": ({"labels": [[2, 2], [2, 2]]}, "got 2 to 2; number"),
}


@pytest.mark.parametrize("case", SHARES)
def test_labels_for_which_the_loss_has_no_lower_bound_are_refused(case):
    columns, words = SHARES[case]
    facts = facts_of(YES_OR_NO, [batch(YES_OR_NO, **columns)])
    if words is None:
        return check_labels(YES_OR_NO, [facts])
    with pytest.raises(DataError, match=rf"must be in \[0, 1\], {words}"):
        check_labels(YES_OR_NO, [facts])
