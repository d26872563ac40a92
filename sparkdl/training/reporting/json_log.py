"""A listener that writes a line of JSON for each event of a fit."""

import json
import math
import time
from dataclasses import asdict
from os import PathLike
from typing import Any

from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import plain


class JsonLog(Listener):
    """Writes a line of JSON for each event of a fit, at once, for collectors of logs.

    Each line has "event" (fit_start, round, validation, epoch, restart, fit_end), "time" in seconds
    since 1970, and what the event's report holds. A number that is not finite is null.

    Parameters
    ----------
    path : path
        Of a file on the driver; one that is there is continued.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[JsonLog("fit.jsonl")])
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path

    def on_fit_start(self, plan: Any) -> None:
        names = "epochs", "rounds_in_epoch", "workers", "epoch", "round", "iteration"
        self._write("fit_start", {name: getattr(plan, name) for name in names})

    def on_round(self, report: Any, state: Any) -> None:
        self._write("round", report.to_dict())

    def on_validation(self, report: Any, state: Any) -> None:
        self._write("validation", report.to_dict())

    def on_epoch(self, report: Any, state: Any) -> None:
        self._write("epoch", report.to_dict())

    def on_restart(self, restart: Any) -> None:
        self._write("restart", asdict(restart))

    def on_fit_end(self, history: Any) -> None:
        counts = {"rounds": len(history.rounds), "epochs": len(history.epochs)}
        rest = {"phases": history.phases, "end_reason": history.end_reason}
        self._write("fit_end", counts | rest)

    def _write(self, event, values):
        line = {"event": event, "time": time.time()} | values
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(sound(line), allow_nan=False) + "\n")


def sound(value: Any) -> Any:
    """Returns a value as JSON can hold it: lists, Python's numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): sound(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sound(item) for item in value]
    if hasattr(value, "tolist"):
        return sound(value.tolist())
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
