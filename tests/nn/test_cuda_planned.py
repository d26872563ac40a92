"""cuDNN plans the graphs of the zoo's networks for an H200, without the device.

`cudnn_plans.txt` records the expected plans: graphs of each kind, engines, workspace.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sparkdl.engine.backends.cuda.device.shared_libraries import wheels
from tests.support.cuda import compiler
from tests.support.zoo_networks import OF_ARRAYS

RECORD = Path(__file__).with_name("cudnn_plans.txt").read_text()
VERSION, *BLOCKS = re.split(r"^(?=\w)", RECORD, flags=re.MULTILINE)[1:]
NETWORKS = {block.split("\n")[0]: block for block in BLOCKS}
OF_A_VERSION = re.compile(r", \d+ engines.*")
LIBRARIES = "libcudnn.so.9", "libcublas.so.13", "libnvrtc.so.13"


def test_the_record_has_every_network_that_asks_for_graphs():
    assert {network.split()[0] for network in NETWORKS} >= {*OF_ARRAYS} - {"char_lstm"}


@pytest.fixture
def folders(tmp_path):
    """Returns the folders of cuDNN's libraries and of a driver without a device."""
    places = dict.fromkeys(str(p.parent) for p in wheels(LIBRARIES))
    if find_spec("cudnn") is None or not wheels(LIBRARIES[:1]):
        needs = "nvidia-cudnn-cu13 (517 MB), nvidia-cublas (444 MB), nvidia-cudnn-frontend (6 MB)"
        pytest.skip(f"needs {needs}: pip install nvidia-cudnn-cu13 'nvidia-cudnn-frontend<1.29'")
    if shutil.which("gcc") is None:
        pytest.skip("no gcc for a driver without a device")
    source, driver = Path(compiler.__file__).with_name("no_device.c"), tmp_path / "libcuda.so.1"
    flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", driver]
    subprocess.run(["gcc", *flags, source], check=True)
    return [str(tmp_path), *places]


@pytest.mark.parametrize("network", NETWORKS)
def test_every_graph_is_planned_as_recorded(folders, network):
    command = [sys.executable, "-m", "tests.support.cuda.planning", *network.split()]
    paths = {"LD_LIBRARY_PATH": os.pathsep.join(folders), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.check_output(command, env=os.environ | paths, text=True, timeout=280)
    version, found = re.split(r"(?<=\n)", found, maxsplit=1)
    expected = NETWORKS[network]
    if version != VERSION:  # engines and workspace differ between releases
        found, expected = (OF_A_VERSION.sub("", text) for text in (found, expected))
    assert found == expected
