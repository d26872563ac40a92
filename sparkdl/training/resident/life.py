"""A worker from start to end."""

import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

from sparkdl.errors import SparkdlError
from sparkdl.exchange.group import Group
from sparkdl.training.evaluating import counts_of, evaluate_batches, new_evaluation, pieces
from sparkdl.training.resident.control import VECTORS, Control
from sparkdl.training.resident.figures import Figures
from sparkdl.training.resident.shelf import Shelf
from sparkdl.training.resident.steps import steps_of, together
from sparkdl.training.resident.worker import Worker
from sparkdl.training.steps import limit_threads


def live(shared, rank, rendezvous, blocks, validation):
    """The task of a resident master's workers; see Workers.launch."""
    limit_threads()
    with closing(Control(shared, rank)) as control, telling(control):
        with kept(blocks, control) as shelf, kept(enumerate(validation or ()), control) as held:
            with closing(joined(shared, rendezvous)) as group, telling(control):
                Life(shared, control, Worker(shared, group), shelf, held).run()


@contextmanager
def telling(control):
    """The driver hears what goes wrong in here, before others see the consequences."""
    try:
        yield
    except Exception as error:
        with suppress(SparkdlError):  # the driver may be what is lost
            control.failed(error)
        raise


@contextmanager
def kept(blocks, control):
    """A Shelf with all blocks; the driver hears that they are still coming."""
    with closing(Shelf(control.reading(blocks))) as shelf:
        yield shelf


def joined(shared, rendezvous):
    """The Group of all workers; those who have their records wait for those who read more."""
    master = shared.master
    rendezvous.all_gather("ready", master.patience)
    return Group.form(
        rendezvous,
        shared.secret,
        timeout=master.timeout,
        patience=master.patience,
        ports=master.ports,
        interface=master.interface,
        tls=master.tls,
        toward=shared.address[0],
        shared_memory=master.shared_memory,
    )


class Life:
    """Epochs of rounds.

    Parameters
    ----------
    shared : Shared
    control : Control
    worker : Worker
    shelf, held : Shelf
        This worker's blocks, and its share of the data to evaluate on.
    """

    def __init__(self, shared, control, worker, shelf, held):
        self.shared, self.control, self.worker = shared, control, worker
        self.shelf, self.held = shelf, held
        self.strategy = shared.master.strategy(worker)

    def run(self):
        """Train until all epochs are done."""
        state = self.shared.state
        with closing(self.strategy):
            if self.shared.owes:
                self._evaluate(state.epoch - 1)
            while state.epoch < self.shared.epochs:
                state = self._epoch(state)
            self.control.done()

    def _epoch(self, state):
        self.worker.epoch = state.epoch
        last = self.shared.schedule.last_round(state.epoch)
        for number, blocks in self.shared.schedule.todo(state):
            self._round(blocks, number + 1 == last)
            state = counted(state, number + 1 == last, self.worker.iteration)
            self._tell(state)
        if self.shared.evaluates:
            self._evaluate(self.worker.epoch)
        return state

    def _round(self, blocks, last):
        worker, began, sent = self.worker, time.perf_counter(), self.worker.sent_bytes
        worker.figures = Figures()
        steps = steps_of(self.shared, self.shelf, blocks[worker.rank], worker)
        with closing(self._checked(steps)) as steps:
            if self.strategy.lockstep:
                steps = together(steps, self.shared, blocks, worker)
            self.strategy.round(steps)
        if last:
            self.strategy.end_epoch()
        figures = worker.figures
        figures.iteration, figures.finite = worker.iteration, float(worker.is_finite())
        figures.sent = worker.sent_bytes - sent
        figures.duration = time.perf_counter() - began

    def _checked(self, steps):
        """The steps, as long as the driver is there."""
        self.control.check()
        for step in steps:
            self.control.check()
            yield step

    def _tell(self, state):
        """Snapshot and report, in this order: what is reported can be gone back to."""
        if self.shared.is_snapshot(state):
            self._send_snapshot(state)
        self.control.report(state, self.worker.figures)

    def _send_snapshot(self, state):
        held, figures = {"kept": {}} | self.strategy.state(), self.worker.figures
        if self.worker.rank == 0:
            began = time.perf_counter()
            self.control.snapshot(replace(state, **held))
            figures.telling = time.perf_counter() - began
            figures.duration += figures.telling

    def _evaluate(self, epoch):
        replica, conf = self.worker.replica, self.shared.conf
        evaluation, transform = new_evaluation(conf), self.shared.validation_transform
        with lent(replica, self.strategy.state()):
            for number in self.held:
                batches = pieces(self.held.block(number), transform, conf)
                evaluate_batches(replica, batches, evaluation)
        self.control.evaluated(epoch, counts_of(evaluation))


def counted(state, last, iteration):
    """The counters after a round; the vectors are not those of the round."""
    epoch, number = state.epoch + last, 0 if last else state.round + 1
    return replace(state, epoch=epoch, round=number, rounds=state.rounds + 1, iteration=iteration)


@contextmanager
def lent(replica, vectors):
    """The replica with other vectors for a while."""
    own = {name: getattr(replica, name) for name in VECTORS}
    if all(own[name] is vectors[name] for name in VECTORS):
        yield
        return
    own = {name: vector.copy() for name, vector in own.items()}
    replica.load(**{name: vectors[name] for name in VECTORS})
    try:
        yield
    finally:
        replica.load(**own)
