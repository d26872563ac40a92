"""The notebooks run from top to bottom, and are stored without what they print."""

from pathlib import Path

import nbclient
import nbformat
import pytest
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 240  # seconds for a cell, and for the kernel to come
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setenv("SPARKDL_EPOCHS", "1")
    monkeypatch.setenv("SPARKDL_RECORDS", "1280")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell.source for cell in code if cell.outputs or cell.execution_count]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")  # Jupyter's own
def test_notebook_runs(path, small, tmp_path, tmp_path_factory):
    notebook = nbformat.read(path, as_version=4)
    # Of ports that are free, others may take one before the kernel does.
    line = {"transport": "ipc", "ip": str(tmp_path_factory.mktemp("line") / "to")}
    options = {"config": Config(KernelManager=line), "timeout": LIMIT, "startup_timeout": LIMIT}
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, resources=resources, **options).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    printed = "".join(output.text for output in outputs if output.get("name") == "stdout")
    assert len(pictures) == 4
    assert "where time went" in printed
    assert "accuracy 0." in printed
    assert not list(tmp_path.iterdir())
