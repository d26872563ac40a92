"""A listener that inspects a network during training, on a sample of records."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparkdl.config import is_integer
from sparkdl.data.batches.batch import Batch
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError, DataError, require
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.layer_costs import layer_costs
from sparkdl.nn.execution.replica import make_replica
from sparkdl.training.evaluation.batch_evaluation import BATCH, pieces
from sparkdl.training.evaluation.wrong_records import WrongRecords
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.sources import Data, as_source
from sparkdl.training.report.layer_figures import inspect_layers
from sparkdl.training.reporting.inspection import Inspection
from sparkdl.training.reporting.listeners import Listener

MOST = 10_000  # most records of a sample


class Inspector(Listener):
    """Inspects the network's layers on a sample of records, on the driver's CPU, for reports.

    It finds, layer by layer: mean magnitudes and histograms of gradients and of the updates that
    the optimizer would make with them, log10 of update to parameter (about -3 is usual), the share
    of dead units of rectifiers, and what each layer costs. At the end of the fit it finds the
    examples of the sample with the largest losses. All of it is `history.inspection`, which
    HtmlReport, Dashboard, RunLog and TensorBoard show: name it before them.

    It does not affect training or use executors, so it works with every master. An inspection costs
    the driver about two steps of `batch_size` examples, the first one also the time to compile
    them, and the end a pass over the sample. Gradients are those of the sample, not those of the
    minibatches that were trained on.

    Parameters
    ----------
    sample : Batch, pair (features, labels) or source
        Records with labels, such as some of the validation data; read when the fit starts, the
        first 10,000 at most.
    every : int, optional
        Updates between two inspections. Where workers stay, rounds are cut there. None: there is
        one after each epoch.
    batch_size : int
        Number of the sample's first records with which layers are inspected.
    wrong : int
        Number of the most wrong examples to keep.
    labels : sequence of str, optional
        Names of the classes.
    texts : sequence of str, optional
        The sample's records as texts, which the page shows in place of their numbers.

    Raises
    ------
    ConfigError
        When the fit starts: the network reads tables, or is another framework's.
    DataError
        The sample has no records, or some do not fit the network.

    References
    ----------
    Deeplearning4j's StatsListener, whose page has the ratio of updates to parameters.

    Examples
    --------
    >>> inspector = Inspector((features[:500], labels[:500]))
    >>> net.fit(data, epochs=10, listeners=[inspector, HtmlReport("fit.html")])
    """

    def __init__(
        self,
        sample: Data,
        every: int | None = None,
        batch_size: int = 64,
        wrong: int = 12,
        labels: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
    ) -> None:
        self.sample, self.every, self.labels = as_source(sample), every, labels
        self.batch_size, self.wrong, self.texts = batch_size, wrong, texts
        require(self, "every", every is None or is_integer(every, 1), "an integer >= 1 or None")
        require(self, "batch_size", is_integer(batch_size, 1), "an integer >= 1")
        require(self, "wrong", is_integer(wrong, 0) and wrong <= 50, "an integer in [0, 50]")
        self.every_updates = () if every is None else (every,)

    def on_fit_start(self, plan: Any) -> None:
        conf = plan.conf
        if conf.bags or conf.replica_class is not None:
            raise ConfigError(
                "Inspector.sample must be of a network of sparkdl's own layers without tables, got "
                f"{type(conf).__name__}; leave the Inspector out"
            )
        self._history, self._state = plan.history, None
        self._records = read_records(self.sample, conf)
        self._check_names(conf)
        first = self._records.take(slice(0, self.batch_size))
        self._first = prepare_minibatch(first, self.sample.transform, conf)
        self._replica = make_replica(conf, choose_backend("cpu"))
        self._due = None if self.every is None else plan.iteration // self.every + 1
        self._inspection = Inspection(examples=len(self._records), batch_size=len(first))
        self._inspection.costs = layer_costs(self._replica, len(first))
        plan.history.inspection = self._inspection

    def _check_names(self, conf):
        for name, needed in (("labels", conf.output_size), ("texts", len(self._records))):
            given = getattr(self, name)
            require(self, name, given is None or len(given) >= needed, f"at least {needed} texts")

    def on_round(self, report: Any, state: Any) -> None:
        self._see(state)
        known = self._due is not None and state is not None
        if known and state.iteration >= self._due * self.every:
            self._due = state.iteration // self.every + 1
            self._inspect()

    def on_epoch(self, report: Any, state: Any) -> None:
        self._see(state)
        if self.every is None:
            self._inspect()

    def on_validation(self, report: Any, state: Any) -> None:
        self._see(state)

    def on_restart(self, restart: Any) -> None:
        if self._due is not None:  # repeated rounds are inspected again
            rounds = self._history.rounds
            self._due = (rounds[-1].iteration if rounds else 0) // self.every + 1

    def on_fit_end(self, history: Any) -> None:
        if getattr(self, "_state", None) is None:  # nothing was trained
            return
        self._load()
        self._inspection.wrong = self._most_wrong()
        del self._replica, self._records, self._first, self._state

    def _see(self, state):
        self._state = self._state if state is None else state

    def _load(self):
        state = self._state
        self._replica.load(state.params, state.buffers, state.slots)

    def _most_wrong(self):
        """Returns the WrongExamples of the sample, numbered by their position in it."""
        conf, places = self._replica.conf, np.arange(len(self._records))
        wrong = WrongRecords(conf, self.wrong, self.labels)
        parts = pieces(self._records, self.sample.transform, conf)
        for batch, part in zip(parts, np.split(places, places[BATCH::BATCH]), strict=True):
            wrong.add(batch, *self._replica.losses(batch), part)
        return wrong.examples(self.texts)

    def _inspect(self):
        self._load()
        inspect_layers(self._inspection, self._replica, self._first, self._state)


def read_records(source, conf):
    """Returns the first records of a source, checked for a network, as one Batch."""
    schema = schema_of(conf, transform=source.transform)
    batches = (
        one for split in source.splits() for one in check_batches(source.read, split, schema)
    )
    found, count = [], 0
    for batch in batches:
        found.append(batch.take(slice(0, MOST - count)))
        count += len(found[-1])
        if count >= MOST:
            break
    if not found:
        raise DataError("Inspector.sample must have records, got none")
    return Batch.concat(found)
