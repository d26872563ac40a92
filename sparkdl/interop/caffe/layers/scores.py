"""Scores that Caffe computes on test data besides the blobs themselves."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Score:
    """One or several numbers for a test batch.

    Parameters
    ----------
    blob : str
        Their name in the net.
    kind : str
        "loss": the loss of the output `source`. "accuracy": the share of examples (of steps in
        sequences, places in images) whose label is among the `top_k` largest of `source`.
        "class_accuracy": the same per class. "argmax": the indices of the `top_k` largest of
        `source`.
    source : str
        The input or vertex to score.
    labels : str, optional
        Column of the data or, with `labels_blob`, the vertex of the labels.
    labels_blob : bool
    top_k : int
    axis : int or None
        Class axis of one example; None for all its numbers.
    ignore_label : int, optional
    values : bool
        For "argmax", whether to return the largest values, too.
    weight : float
        For "loss", its weight in the objective.
    share : float
        For "loss", its share of the output's loss.
    """

    blob: str
    kind: str
    source: str
    labels: str | None = None
    labels_blob: bool = False
    top_k: int = 1
    axis: int | None = 0
    ignore_label: int | None = None
    values: bool = False
    weight: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class WrittenBlobs:
    """Blobs that Caffe's HDF5Output writes.

    Parameters
    ----------
    file : str
    columns : {blob: the input or vertex that computes it; for labels the data column}
    """

    file: str
    columns: dict[str, str]
