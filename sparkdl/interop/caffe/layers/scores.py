"""Scores that Caffe computes of test data besides the blobs themselves."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Score:
    """Numbers for a test batch.

    Parameters
    ----------
    blob : str
        What the net calls them.
    kind : str
        "loss": of the output `source`. "accuracy": the share of examples (of sequences steps, of
        images places) whose label is among the `top_k` largest of `source`; "class_accuracy": the
        same for each class. "argmax": which of `source` are the `top_k` largest.
    source : str
        The input or vertex that is looked at.
    labels : str, optional
        Column of the data, or where `labels_blob` is True, the vertex that gives the labels.
    labels_blob : bool
    top_k : int
    axis : int or None
        Axis of one example that classes lie along; None for all numbers of it.
    ignore_label : int, optional
    values : bool
        Of "argmax", whether the largest themselves are wanted too.
    weight : float
        Of "loss", in what is minimized.
    share : float
        Of "loss", what part of the output's loss it is.
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
    columns : {blob: the input or vertex that gives it; of labels the column of the data}
    """

    file: str
    columns: dict[str, str]
