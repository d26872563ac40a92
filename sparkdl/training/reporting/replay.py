"""Replay of a fit that ran where listeners could not be: they are notified once it is over."""

from contextlib import contextmanager


@contextmanager
def tell_around(listeners, plan):
    """Notifies listeners of the start and the end of the fit run inside, even if it fails.

    Parameters
    ----------
    listeners : Listeners
    plan : FitPlan
        Its history is still empty; `replay` fills it.
    """
    listeners.on_fit_start(plan)
    try:
        yield
    except BaseException as error:
        plan.steering.error = error
        raise
    finally:
        listeners.on_fit_end(plan.history)


def replay(history, state, plan, listeners):
    """Notifies listeners of the contents of a History, in chronological order.

    The plan's History grows along, as during a fit. `state`, the last one, is passed with the last
    events; with all others it is None.
    """
    known, evaluations = plan.history, {one.iteration: one for one in history.validations}
    epochs = {one.epoch: one for one in history.epochs}
    if plan.iteration in evaluations:
        tell_evaluation(evaluations[plan.iteration], None, known, listeners)
    trained = {report.epoch for report in history.rounds}
    for report in history.epochs:
        if report.epoch not in trained:  # its end was due before the first round
            tell_epoch(report, None, known, listeners)
    for report, second in zip(history.rounds, history.round_ends, strict=True):
        last = state if report is history.rounds[-1] else None
        known.rounds.append(report)
        known.round_ends.append(second)
        listeners.on_round(report, last)
        if report.iteration in evaluations:
            tell_evaluation(evaluations[report.iteration], last, known, listeners)
        if report.round + 1 == report.rounds_in_epoch and report.epoch in epochs:
            tell_epoch(epochs[report.epoch], last, known, listeners)
    vars(known).update(vars(history))


def tell_evaluation(report, state, known, listeners):
    known.validations.append(report)
    listeners.on_validation(report, state)


def tell_epoch(report, state, known, listeners):
    known.epochs.append(report)
    listeners.on_epoch(report, state)
