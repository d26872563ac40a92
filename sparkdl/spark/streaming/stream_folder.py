"""Folder of a stream's checkpoints: the model's, and those of Spark's query."""

from sparkdl.data import files
from sparkdl.errors import CheckpointError, brief, require
from sparkdl.training.reporting.counters import COUNTERS
from sparkdl.training.saving.checkpoint import (
    CheckpointWriter,
    latest,
    list_checkpoints,
    load_checkpoint,
    repair,
)
from sparkdl.training.saving.manifest import as_text, parse_json

STREAM, METADATA = "stream", "metadata"


class StreamFolder:
    """A folder of checkpoints, each with the number of the last micro-batch it was trained on.

    Parameters
    ----------
    checkpoints : Checkpoints
    network : Network
        Takes the state of the newest complete checkpoint, if there is one.

    Attributes
    ----------
    notes : list
        Counters of listeners as that checkpoint has them; see StreamCounts.

    Raises
    ------
    CheckpointError
        If they are of another network or of no stream, or none is complete.
    """

    def __init__(self, checkpoints, network):
        for name in ("every_rounds", "every_minutes"):
            text = "None for a stream: a checkpoint is written after each micro-batch"
            require(checkpoints, name, getattr(checkpoints, name) is None, text)
        self.path = as_text(checkpoints.path)
        self.stream = f"{self.path}/{STREAM}"
        self._writer = CheckpointWriter(checkpoints)
        self._query, self._last, self.notes = None, -1, []
        if list_checkpoints(self.path):
            self._go_on(network)
        else:
            repair(self.path)

    @property
    def newest(self):
        """The path of the newest checkpoint, or None."""
        return self._writer.last

    def _go_on(self, network):
        conf, state, extra = load_checkpoint(self.path)
        if conf != network.conf:
            raise CheckpointError(f"{self.path} holds another network than the one to be trained")
        if STREAM not in extra:
            text = "holds checkpoints of a fit that had no stream; choose another path"
            raise CheckpointError(f"{self.path} {text}")
        repair(self.path)
        network.state, self._writer.last = state, latest(self.path)
        self._query, self._last = extra[STREAM]["query"], extra[STREAM]["batch"]
        self.notes = extra[STREAM].get(COUNTERS, [])

    def awaits(self, number):
        """Returns whether the micro-batch has not been trained on yet.

        Raises
        ------
        CheckpointError
            If it is of another query, or some before it are missing.
        """
        query = self._id()
        if self._query not in (None, query):
            text = f"the model's is query {self._query}, Spark's is {query}"
            raise CheckpointError(
                f"{self.path}: checkpoints must be of one stream, but {text}; choose another path"
            )
        if number > self._last + 1:
            actual = f"the newest whole model has {self._last + 1} micro-batches"
            raise CheckpointError(
                f"{self.path}: {actual}, but Spark continues after {number}: those between would "
                "be skipped; load the model and fit it with another path"
            )
        return number > self._last

    def write(self, network, number, notes):
        """Saves the model and listeners' counters, as after all micro-batches up to this one."""
        self._query, self._last = self._id(), number
        extra = {STREAM: {"query": self._query, "batch": number, COUNTERS: notes}}
        self._writer.write(network.conf, network.state, extra)

    def _id(self):
        path = f"{self.stream}/{METADATA}"
        with files.open(path) as file:
            written = parse_json(path, file.read())
        if "id" not in written:
            raise CheckpointError(
                f"{path}: must have the id of a query, got {brief(written)}; choose another path"
            )
        return written["id"]
