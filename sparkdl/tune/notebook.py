"""A Search as notebooks show it, by Jupyter's _repr_html_: its trials, the best first."""

from typing import TYPE_CHECKING

from sparkdl.html_elements import element, table, text_of

if TYPE_CHECKING:
    import optuna

MOST = 50  # trials that are shown


def search_html(study: "optuna.Study | None") -> str:
    """Returns a table of the trials of a study: finished ones first, the best of them on top."""
    trials = [] if study is None else study.get_trials(deepcopy=False)
    if study is None or not trials:
        return text_of(element("p", "no trials yet"))
    sign = -1 if study.direction.name == "MAXIMIZE" else 1
    trials = sorted(trials, key=lambda trial: _place(trial, sign))
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    rows = [_row(trial, names) for trial in trials[:MOST]]
    more = f", of which the first {MOST}" * (len(trials) > MOST)
    head = ["trial", "state", "value", *names, "seconds"]
    return text_of(element("div", table(head, rows, f"{len(trials)} trials{more}")))


def _place(trial, sign):
    """Returns the key to sort a trial by; one that was not finished has no place of its own."""
    finished = trial.state.name == "COMPLETE"
    return not finished, sign * trial.value if finished else trial.number


def _row(trial, names):
    """Returns the cells of a trial; a pruned one has the last figure that it reported."""
    values = [trial.params.get(name) for name in names]
    seconds = None if trial.duration is None else trial.duration.total_seconds()
    return [trial.number, trial.state.name.lower(), trial.value, *values, seconds]
