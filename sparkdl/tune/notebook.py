"""HTML table of a Search's trials for notebooks, shown by Jupyter's _repr_html_."""

from typing import TYPE_CHECKING

from sparkdl.html_elements import element, table, text_of

if TYPE_CHECKING:
    import optuna

MOST = 50  # most trials shown


def search_html(study: "optuna.Study | None") -> str:
    """Returns a table of a study's trials: finished ones first, best on top."""
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
    """Returns the sort key of a trial; unfinished ones come last, by number."""
    finished = trial.state.name == "COMPLETE"
    return not finished, sign * trial.value if finished else trial.number


def _row(trial, names):
    """Returns the cells of a trial; a pruned one shows its last reported figure."""
    values = [trial.params.get(name) for name in names]
    seconds = None if trial.duration is None else trial.duration.total_seconds()
    return [trial.number, trial.state.name.lower(), trial.value, *values, seconds]
