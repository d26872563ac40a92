"""Events of a fit, and the loop that emits them round by round."""

from typing import Any, NamedTuple

from sparkdl.training.reporting.reports import ValidationReport


class RoundDone(NamedTuple):
    """A round is done; `state` is None if the workers keep it."""

    report: Any
    state: Any

    def end(self, phases):
        phases.end("overhead", self.report.seconds)

    def tell(self, history, listeners):
        history.add_round(self.report)
        listeners.on_round(self.report, self.state)


class EpochDone(NamedTuple):
    """All rounds of an epoch are done; `validation` is its Evaluation or None."""

    state: Any
    validation: Any

    def end(self, phases):
        phases.end("overhead" if self.validation is None else "evaluation")

    def tell(self, history, listeners):
        listeners.on_epoch(history.end_epoch(self.validation), self.state)


class ValidationDone(NamedTuple):
    """An evaluation that was due at this update is done."""

    report: Any
    state: Any

    def end(self, phases):
        phases.end("evaluation")

    def tell(self, history, listeners):
        history.add_validation(self.report)
        listeners.on_validation(self.report, self.state)


class RestartDone(NamedTuple):
    """Workers were lost, or move to other slots, and have been requested again.

    `state` is the one that they start from.
    """

    restart: Any
    state: Any

    def end(self, phases):
        phases.end("overhead")

    def tell(self, history, listeners):
        history.go_back(self.restart)
        listeners.on_restart(self.restart)


class GroupDone(NamedTuple):
    """Resident workers have ended successfully; `sent` are the bytes by sender and receiver."""

    sent: tuple[tuple[int, ...], ...]
    state = None

    def end(self, phases):
        phases.end("ending")

    def tell(self, history, listeners):
        """Records the bytes; listeners are not called, as the history has them after the fit."""
        history.sent_between = self.sent


class PhaseDone(NamedTuple):
    """A phase before the first round of a group of workers is done."""

    phase: str
    state = None

    def end(self, phases):
        phases.end(self.phase)

    def tell(self, history, listeners):
        """Does nothing: only the phases change."""


def drive_rounds(
    master, workers, conf, blocks, state, epochs, transform, evaluate, marks, steering, due
):
    """Yields events of a fit whose rounds the driver runs one by one, up to epoch `epochs`.

    Events that are `due` before the first round come first.
    """
    yield from due_events(state, due, evaluate, marks)
    state = steering.steer(state)
    while state.epoch < epochs and not marks.over(state.iteration) and not steering.stopped:
        for after, report in master.epoch(workers, conf, blocks, state, transform, marks):
            yield RoundDone(report, after)
            steers = yield from events_after(state, after, evaluate, marks)
            state = steering.steer(after) if steers else after
            if steering.stopped or state is not after:
                break


def events_after(before, state, evaluate, marks):
    """Yields the events that follow a round; see `due_events`."""
    due = marks.has_evaluation(before, state), state.starts_epoch
    return (yield from due_events(state, due, evaluate, marks))


def due_events(state, due, evaluate, marks):
    """Yields ValidationDone and EpochDone if they are due; returns whether any was.

    `due` is (whether an evaluation is due, whether an epoch has ended).
    """
    evaluated, ended = due[0] and evaluate is not None, due[1]
    evaluation = evaluate(state) if evaluated else None
    if evaluated and (marks.validate is not None or not ended):
        yield validation_event(state, evaluation)
    if ended:
        yield EpochDone(state, None if marks.validate else evaluation)
    return evaluated or ended


def validation_event(state, evaluation):
    report = ValidationReport(iteration=state.iteration, epoch=state.epoch, validation=evaluation)
    return ValidationDone(report, state)
