"""The Diagnosis of a cluster."""

from dataclasses import dataclass
from typing import Any

from sparkdl.spark.cluster_check.checks import GIGABYTE
from sparkdl.training.reporting.text_table import align

COLUMNS = "", "host", "Python", "cores", "threads", "memory", "disk", "GPUs", "processor"


@dataclass(frozen=True)
class Diagnosis:
    """Facts of a cluster, and the problems to fix before training.

    Parameters
    ----------
    driver : dict
        Facts of the driver's Python: versions, processor, free memory and disk (bytes), GPUs.
    executors : list of dict
        The same of each executor, with `clock_error` in seconds relative to the driver.
    problems : list of str
        Each with its cure; empty if there are none.
    """

    driver: dict[str, Any]
    executors: list[dict[str, Any]]
    problems: list[str]

    def __str__(self) -> str:
        rows = [COLUMNS, *map(cells, (self.driver, *self.executors))]
        versions = (f"{name} {version or '-'}" for name, version in self.driver["packages"].items())
        lines = [align(rows, len(COLUMNS)), "", f"on the driver: {', '.join(versions)}", ""]
        found = [f"{number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        return "\n".join([*lines, *(found or ["no problems were found"])])


def cells(facts):
    """Returns the table cells of a process."""
    return (
        facts["name"],
        facts["host"],
        facts["python"],
        str(facts["cores"]),
        facts["threads"] or "-",
        size(facts["free_memory"]),
        size(facts["free_disk"]),
        str(facts["gpus"]),
        " ".join(facts["features"]) or "-",
    )


def size(count):
    return "-" if count is None else f"{count / GIGABYTE:.1f} GB"
