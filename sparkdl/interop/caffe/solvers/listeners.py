"""Listeners that act like Caffe's solver: progress lines and snapshots."""

import logging
from collections import deque

from sparkdl.interop.caffe.checkpoints.snapshots import save_snapshot
from sparkdl.training.reporting.listeners import Listener

log = logging.getLogger("sparkdl.caffe")


class Display(Listener):
    """Logs like Caffe: loss and learning rate at intervals, and the results of each test.

    A line is logged when a round passes a multiple of the solver's `display`. Its loss is the mean
    over the rounds with the last `average_loss` updates.
    """

    def __init__(self, solver):
        self.every, self.average = solver.display, solver.average_loss
        self._losses, self._last_shown = deque(), 0

    def on_fit_start(self, plan):
        self._conf, self._last_shown = plan.conf, plan.iteration
        self._steering = plan.steering

    def on_round(self, report, state):
        now, losses = report.iteration, self._losses
        losses.append((now, report.loss, report.examples))
        while losses[0][0] <= now - self.average:
            losses.popleft()
        if self.every and now // self.every > self._last_shown // self.every:
            self._last_shown = now
            loss = sum(loss * n for _, loss, n in losses) / sum(n for _, _, n in losses)
            log.info("Iteration %d, loss = %.6g", now, loss)
            rate = self._conf.rate_at(now, report.epoch) * self._steering.rate_factor
            log.info("Iteration %d, lr = %.6g", now, rate)

    def on_restart(self, restart):
        for _ in range(min(restart.lost, len(self._losses))):
            self._losses.pop()

    def on_validation(self, report, state):
        if not hasattr(report.validation, "of_net"):
            return log.info("Iteration %d, %s", report.iteration, report.validation.figures())
        for net in range(len(report.validation.names)):
            log.info("Iteration %d, Testing net (#%d)", report.iteration, net)
            for number, (name, values) in enumerate(report.validation.of_net(net).items()):
                text = ", ".join(f"{value:.6g}" for value in values)
                log.info("    Test net output #%d: %s = %s", number, name, text)


class Snapshots(Listener):
    """Writes snapshots after every `snapshot` updates, and one at the end.

    `last` is the path of the newest .solverstate, None before the first.

    Parameters
    ----------
    net : CaffeNet
    solver : CaffeSolverConf
    prefix : str
        Local or a URI.
    """

    def __init__(self, net, solver, prefix):
        self.net, self.solver, self.prefix = net, solver, prefix
        self.every_updates = (solver.snapshot,) if solver.snapshot else ()
        self.last, self._written = None, 0

    def on_fit_start(self, plan):
        self._written = plan.iteration

    def on_round(self, report, state):
        every = self.solver.snapshot
        if every and state is not None and state.iteration // every > self._written // every:
            self.write(state)

    def finish(self, state):
        """Writes a final snapshot, if the solver asks for it."""
        if self.solver.snapshot_after_train and state.iteration > self._written:
            self.write(state)

    def write(self, state):
        """Writes a snapshot."""
        options = {"format": self.solver.snapshot_format, "name": self.net.name}
        layers = self.net.layers
        self.last = save_snapshot(self.net.conf, state, self.prefix, layers, **options)
        self._written = state.iteration
        log.info("Snapshotting to %s", self.last)
