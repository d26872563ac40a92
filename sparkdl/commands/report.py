"""sparkdl report: HTML page of one or several fits, from the folders of their logs."""

from collections import Counter
from pathlib import Path

from sparkdl.training.report.page import write_report
from sparkdl.training.report.run_folder import read_run


def report(arguments):
    """Writes the page; fits whose folders have equal names are called by their paths."""
    folders = list(dict.fromkeys(arguments.folders))
    count = Counter(Path(folder).resolve().name for folder in folders)
    names = [name if count[name := Path(one).resolve().name] == 1 else one for one in folders]
    runs = [read_run(folder, name) for folder, name in zip(folders, names, strict=True)]
    write_report(arguments.output, runs, arguments.title or ", ".join(names))
    print(f"the report of {', '.join(names)} is in {arguments.output}", flush=True)
