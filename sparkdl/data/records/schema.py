"""Schema of the records that a network takes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sparkdl.config import is_integer
from sparkdl.data.batches.batch import Batch, position
from sparkdl.data.batches.columns import (
    Violation,
    class_column,
    factor_column,
    feature_column,
    fill_free_sizes,
    id_column,
    mask_column,
    one_hot_column,
    require_vocabulary,
    value_column,
    whole_column,
)
from sparkdl.data.batches.sequences import (
    pad_sequences,
    require_steps_of_labels,
    without_full_rows,
)
from sparkdl.data.records.label import KINDS, Label
from sparkdl.data.records.rows import read_records
from sparkdl.errors import ConfigError, DataError, require

LABEL_KINDS = (*KINDS, None)
FEATURES, WEIGHTS = "features", "weights"


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Shape and kind of the features and labels of one example.

    Parameters
    ----------
    features : tuple of int, or {column: tuple of int}
        Shape of the stored features: (C, H, W) for images, (F,) for rows, (T, F) for sequences.
        None stands for a free size, which a transform adapts to the network. A single shape is that
        of the column "features".
    labels : str or None, or {column: Label}
        "class": one of `label_size` classes. "values": `label_size` numbers. None: no labels; any
        that exist are dropped. A single kind is that of the column "labels"; see Label.
    label_size : int
        Number of classes or of values, if `labels` is a kind.
    ids : set of str
        Columns of `features` that hold ids: integers >= -1, kept as int64.
    integers : set of str
        Columns of `features` that hold whole numbers of any type, kept as int64.
    vocabularies : {column: int}
        Columns of `features` whose numbers are ids in [0, size) of a layer's vocabulary, with its
        size.
    masks : {column: column}
        Columns of sequences, whose first axis is time, and their mask columns (n, T). Records may
        have fewer steps, and are padded; a missing mask is created. In a created label mask, the
        row of a record without padding is -1, so that the output's mask applies.
    steps : {column: column}
        Columns of labels, and the features with as many steps; both are in `masks`. Their lengths
        are compared if neither mask is given.
    unread : set of str
        Columns of labels that are not read, as those of a network that predicts.
    changes : tuple of callable
        Functions Batch to Batch applied to checked records, as in changes.py; they may drop
        records.

    A column "weights" (n,), with factors of the examples' losses, is passed on if present, and so
    are `label_weights`, those of each of several columns of labels. Other columns are dropped. But
    a column named as a mask ("mask", or "_mask" at the end) or, with labels, as weights ("_weights"
    at the end) is refused, unless the column that it belongs to is there and dropped too.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or, with labels, features or labels are named "weights".
    """

    features: tuple[int, ...] | dict[str, tuple[int, ...]]
    labels: str | dict[str, Label] | None = None
    label_size: int = 1
    ids: frozenset[str] = frozenset()
    integers: frozenset[str] = frozenset()
    vocabularies: dict[str, int] = field(default_factory=dict)
    masks: dict[str, str] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    changes: tuple[Callable[[Batch], Batch], ...] = ()

    def __post_init__(self) -> None:
        shapes = self.features if isinstance(self.features, dict) else {"": self.features}
        shapes = {name: tuple(shape) for name, shape in shapes.items()}
        features = shapes if isinstance(self.features, dict) else shapes[""]
        object.__setattr__(self, "features", features)
        sound = shapes and all(map(is_shape, shapes.values()))
        require(self, "features", sound, "a shape of integers >= 1")
        known = isinstance(self.labels, dict) or self.labels in LABEL_KINDS
        require(self, "labels", known, f"one of {LABEL_KINDS}")
        require(self, "label_size", is_integer(self.label_size, 1), "an integer >= 1")
        if self.outputs and WEIGHTS in (*self.inputs, *self.outputs):
            raise weights_taken()

    @cached_property
    def inputs(self):
        """{column: shape} of features."""
        return self.features if isinstance(self.features, dict) else {FEATURES: self.features}

    @cached_property
    def outputs(self):
        """{column: Label}"""
        if isinstance(self.labels, dict):
            return self.labels
        return {"labels": Label(kind=self.labels, size=self.label_size)} if self.labels else {}

    @cached_property
    def label_weights(self):
        """{column of labels: column of its weights}, where there are several."""
        several = self.outputs if len(self.outputs) > 1 else ()
        names = {column: f"{column}_{WEIGHTS}" for column in several}
        taken = {*self.inputs, *self.outputs}
        return {column: name for column, name in names.items() if name not in taken}

    @cached_property
    def sizes(self):
        """{column: numbers per record} of features whose size is fixed."""
        shapes = {c: shape for c, shape in self.inputs.items() if c not in self.masks}
        return {c: math.prod(shape) for c, shape in shapes.items() if None not in shape}

    @cached_property
    def longs(self):
        """Columns of features that are kept as int64."""
        return frozenset(self.ids | self.integers)

    @cached_property
    def column_bytes(self):
        """{column: bytes per record}, including masks; free sizes count as 1."""
        shapes = self.inputs | {name: label.shape for name, label in self.outputs.items()}
        masks = {c: 4 * (shapes[c][0] or 1) for c in self.masks if c in shapes}
        return {
            c: (8 if c in self.longs else 4) * math.prod(n or 1 for n in shape) + masks.get(c, 0)
            for c, shape in shapes.items()
        }

    @cached_property
    def singles(self):
        """Columns that become float32 whatever numbers are given."""
        values = {c for c, label in self.outputs.items() if label.kind == "values"}
        one_hot = {c for c in values if self.outputs[c].one_hot}
        return frozenset((self.inputs.keys() - self.longs) | (values - one_hot))

    def fields(self, features=FEATURES, label="label", weights=None, names=None):
        """Returns {column: name in records}.

        A single column of a kind has the given name; several columns keep their own names. `names`
        are all names in the records, if known; see `with_own_name`. `weights` may be {column of
        labels: name}.

        Raises ConfigError for weights of labels that do not have their own.
        """
        one_in, one_out = len(self.inputs) == 1, len(self.outputs) == 1
        found = {column: features if one_in else column for column in self.inputs}
        found |= {column: label if one_out else column for column in self.outputs}
        found |= self._weight_fields(weights)
        return found if names is None else self.with_own_name(found, names)

    def _weight_fields(self, weights):
        if weights is None:
            return {}
        if not isinstance(weights, Mapping):
            return {WEIGHTS: weights}
        known = self.label_weights
        if strange := [column for column in weights if column not in known]:
            if not known:
                raise ConfigError(
                    f"weights must be the name of a column, got {weights!r}; only several columns "
                    "of labels have weights each"
                )
            has = f"one of {[*known]}, which have labels of their own"
            raise ConfigError(f"weights must be of {has}, got {strange}")
        return {known[column]: name for column, name in weights.items()}

    def with_own_name(self, fields, names):
        """Returns {column: name in records}, given `fields` and all names in the records.

        A single feature column with its own name, such as a bag's, is read under that name if the
        records have no "features" and no other name was given.
        """
        own, *others = self.inputs
        if others or fields[own] != FEATURES or FEATURES in names:
            return fields
        return fields | {own: own}

    def _under_own_name(self, batch):
        """Returns a batch with "features" renamed to the name of the only features."""
        own, *others = self.inputs
        if others or own == FEATURES or FEATURES not in batch.columns:
            return batch
        columns = {n: of for n, of in batch.columns.items() if n != FEATURES}
        return Batch(columns=columns | {own: batch.columns[FEATURES]}, ids=batch.ids)

    def records(
        self, iterator, partition, size=1024, *, features=FEATURES, label="label", weights=None
    ):
        """Returns Batches of up to `size` checked records from an iterator of any kind of records.

        Large records make smaller Batches; see `chunk_size`.

        A record is a (features, label) pair, a Row or dict with the columns `features`, `label` and
        `weights` (see `fields`), a LabeledPoint, or, without labels, bare features. Features may be
        numpy arrays, lists, scipy sparse rows, pyspark vectors or bytes.

        Raises
        ------
        DataError
            For the first record that does not fit: "partition 1, record 17: features must have
            784 numbers, got 700".
        """
        fields = self.fields(features, label, weights)
        batches = read_records(self, iterator, partition, size, fields)
        return filter(len, map(self._change, batches)) if self.changes else batches

    def check(self, batch, where):
        """Returns the batch as the network takes it: columns checked and converted, others dropped.

        Raises
        ------
        DataError
            For the first record that does not fit, named by `where` and its position; for weights
            or masks that the network would ignore.
        """
        batch = self._under_own_name(batch)
        self._refuse_unused(batch.columns, where)
        for name in (*self.inputs, *self.outputs):
            if name not in batch.columns:
                names = list(batch.columns)
                raise DataError(f"{where}: has no column {name!r}; columns are {names}")
        try:
            columns = self.convert(batch.columns)
        except Violation as offence:
            record = position(batch.ids[offence.row]) if len(batch) else 0
            raise DataError(f"{where}, record {record}: {offence}") from None
        return self._change(Batch(columns=columns, ids=batch.ids))

    def _refuse_unused(self, names, where):
        """Raises DataError for weights and masks that nothing reads, as the class says."""
        weights, masks = [WEIGHTS, *self.label_weights.values()], [*self.masks.values()]
        read = {*self.inputs, *self.outputs, *weights, *masks}
        left_out = {*names, *self.unread} - read
        for name in sorted(left_out - self.unread):
            kind, column = kind_by_name(name)
            if kind is None or column in left_out or (kind == WEIGHTS and not self.outputs):
                continue
            wanted = weights if kind == WEIGHTS else masks
            place = f"one of {wanted}" if wanted else "records of sequences"
            raise DataError(
                f"{where}: {kind} must be in {place}, got the column {name!r}; rename it, or leave "
                "it out"
            )

    def _change(self, batch):
        for change in self.changes:
            batch = change(batch)
        return batch

    def convert(self, raw, features=FEATURES):
        """Converts raw {column: array (n, ...) or Ragged} to {column: array}.

        Raises Violation, which calls a single feature column `features`, a single label "label".
        """
        columns, one = {}, len(self.inputs) == 1
        for name, shape in self.inputs.items():
            what = features if one else name
            x = self._fill(raw, name, columns, shape, what)
            columns[name] = self._converter(name)(x, shape, what)
            if name in self.vocabularies:
                require_vocabulary(columns[name], self.vocabularies[name], what)
        for name, label in self.outputs.items():
            what = self.label_name(name)
            y = self._fill(raw, name, columns, label.shape, what, label.one_hot_size)
            columns[name] = label_column(y, label, what)
        for name, of in self.steps.items():
            x, y = self.masks[of], self.masks[name]
            if x not in raw and y not in raw:
                require_steps_of_labels(columns[x], columns[y], "features" if one else of)
        if WEIGHTS in raw and WEIGHTS not in self.inputs:
            columns[WEIGHTS] = factor_column(raw[WEIGHTS], (), WEIGHTS)
        for name in self.label_weights.values():
            if name in raw:
                columns[name] = factor_column(raw[name], (), name)
        return columns

    def label_name(self, name):
        """Returns what errors call the labels `name`: "label" where there are no others."""
        return "label" if len(self.outputs) == 1 else f"label {name!r}"

    def _converter(self, name):
        """Returns the function that converts a column of features."""
        whole = whole_column if name in self.integers else feature_column
        return id_column if name in self.ids else whole

    def _fill(self, raw, name, columns, shape, what, also=None):
        """Returns the raw column `name`, with sequences padded; adds their mask to `columns`."""
        x, mask = raw[name], self.masks.get(name)
        if mask is None:
            return x
        x, made = pad_sequences(x, shape, what, also)
        of_labels = name not in self.inputs
        made = without_full_rows(made) if of_labels else made
        columns[mask] = mask_column(raw.get(mask, made), shape[:1], mask, of_labels)
        return x


def kind_by_name(name):
    """Returns ("weights" or "masks", the column that they are of) by a column's name.

    Others are (None, None). Features have "mask"; "features_mask" is a usual mistake.
    """
    if name == "mask":
        return "masks", FEATURES
    for kind, end in ((WEIGHTS, f"_{WEIGHTS}"), ("masks", "_mask")):
        if name.endswith(end):
            return kind, name.removesuffix(end)
    return None, None


def weights_taken():
    """Returns the error for features or labels named like the column of weights."""
    return ConfigError(
        f"GraphConf must have no input, bag or label with the column {WEIGHTS!r} where it is "
        "trained or evaluated, as weights of records are read from there; rename the input, or "
        "the column that EmbeddingBag.weights or `labels` names"
    )


def label_column(y, label, what):
    """Converts the column of a label to its stored form. Raises Violation."""
    if None in label.shape:
        classes = label.size if label.kind == "class" else 1
        label = replace(label, shape=fill_free_sizes(y.shape[1:], label.shape, classes, what))
    if label.kind == "class":
        return class_column(y, label.size, label.shape, label.ignored, what)
    if label.one_hot and math.prod(y.shape[1:]) == math.prod(label.shape[:-1]):
        return one_hot_column(y, label.shape, what)
    return value_column(y, label.shape, what)


def is_shape(shape):
    """Returns whether `shape` is valid for an example; sizes may be None."""
    return bool(shape) and all(n is None or is_integer(n, 1) for n in shape)
