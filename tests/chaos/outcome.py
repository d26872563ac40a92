"""The outcome of a fit with a fault, and its printed form."""

from typing import NamedTuple

from sparkdl.training.workers.base import MORE_SLOTS

COLUMNS = (
    *("turn", "master", "fault", "data", "struck", "s", "longest wait", "restarts"),
    *("outcome", "wrong"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n" + "|---" * len(COLUMNS) + "|"


class Outcome(NamedTuple):
    """The outcome of a fit.

    Parameters
    ----------
    master, fault, data : str
    struck : bool
        Whether the fit was still training when the fault was due.
    seconds : float
    wait : float
        The longest time, in seconds, without a new minibatch, from the fault to the last one.
    restarts : int
        Restarts after a loss, without moves to more slots.
    error : str
        The error that the fit raised, or "" if it finished.
    wrong : tuple of str
        Violated expectations.
    """

    master: str
    fault: str
    data: str
    struck: bool
    seconds: float
    wait: float
    restarts: int
    error: str
    wrong: tuple[str, ...]

    def row(self, turn):
        """Returns a row of Markdown."""
        struck, wrong = "yes" if self.struck else "no", "; ".join(self.wrong) or "nothing"
        times = f"{self.seconds:.0f}", f"{self.wait:.1f}", self.restarts
        cells = (
            turn,
            self.master,
            self.fault,
            self.data,
            struck,
            *times,
            self.error or "finished",
            wrong,
        )
        return f"| {' | '.join(map(str, cells))} |"


def count_losses(reasons):
    """Returns how many restarts were not moves to more slots, which follow a lost executor."""
    return sum(not reason.startswith(MORE_SLOTS) for reason in reasons)


def wrongs(row, same, examples, expected):
    """Lists the violated expectations of a fit under a Row of MASTERS, as str.

    Parameters
    ----------
    row : Row
    same : bool
        Whether its weights equal those of a fit without faults.
    examples, expected : list of int
        The records of each epoch.
    """
    found = [] if same or not row.same_bits else ["other weights"]
    return found if examples == expected else [*found, f"examples {examples}"]
