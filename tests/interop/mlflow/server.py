"""MLflow's tracking server, run on this machine in one process with SQLite."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager

from tests.support.waiting import until

QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


@contextmanager
def mlflow_server(folder):
    """Yields the server's URL. `mlflow server` runs the same application in four processes."""
    store = {
        "_MLFLOW_SERVER_FILE_STORE": f"sqlite:///{folder}/runs.db",
        "_MLFLOW_SERVER_ARTIFACT_ROOT": "mlflow-artifacts:/",
        "_MLFLOW_SERVER_ARTIFACT_DESTINATION": f"{folder}/artifacts",
        "_MLFLOW_SERVER_SERVE_ARTIFACTS": "true",
    }
    command = [sys.executable, "-m", "flask", "--app", "mlflow.server:app", "run", "--port", "0"]
    path = folder / "server.log"
    with path.open("w") as log:
        process = subprocess.Popen(
            command, env=os.environ | QUIET | store, cwd=folder, stdout=log, stderr=log
        )
    try:
        yield until(lambda: url_in(path, process))
    finally:
        process.terminate()
        process.wait()


def url_in(path, process):
    text = path.read_text()
    assert process.poll() is None, text
    found = re.search(r"Running on (http://127\.0\.0\.1:\d+)", text)
    return found and found[1]
