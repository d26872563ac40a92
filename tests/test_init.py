"""The public names, and that importing the package costs next to nothing."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sparkdl

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ["pyspark", "numpy", "pyarrow", "lmdb", "yaml", "tqdm"]


def modules_after(statement):
    """Names of all modules that a new process has loaded after a statement."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_sparkdl_loads_no_heavy_library():
    assert not modules_after("import sparkdl") & {*HEAVY, "sparkdl.nn", "sparkdl.spark"}


def test_a_network_can_be_configured_without_spark():
    loaded = modules_after("import sparkdl\nsparkdl.NetworkConf, sparkdl.digits, sparkdl.Network")
    assert "sparkdl.training.network" in loaded
    assert "pyspark" not in loaded


@pytest.mark.parametrize("name", sparkdl.HOMES)
def test_public_name_is_what_its_module_has(name):
    home = importlib.import_module(sparkdl.HOMES[name])
    assert getattr(sparkdl, name) is getattr(home, name)


def test_public_names_are_listed():
    assert {*sparkdl.HOMES} <= {*dir(sparkdl)}
    assert len(set(sparkdl.__all__)) == len(sparkdl.__all__)


def test_public_layers_and_optimizers_are_complete():
    from sparkdl.nn import Clipping, Layer, Optimizer, Schedule

    members = [*Layer.members, *Optimizer.members, *Schedule.members, *Clipping.members]
    ours = {name for name in members if getattr(sparkdl, name, None) is not None}
    from_the_package = [family.members for family in (Layer, Optimizer, Schedule, Clipping)]
    shipped = {
        name
        for members in from_the_package
        for name, kind in members.items()
        if kind.__module__.startswith("sparkdl.")
    }
    assert ours == shipped


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'SparkNet'"):
        _ = sparkdl.SparkNet


def test_version_is_the_distribution_s():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sparkdl.__version__ == project["version"]


def test_docstring_draws_every_part_that_exists():
    parts = {path.parent.name for path in (ROOT / "sparkdl").glob("*/__init__.py")}
    drawn = set(re.findall(r"^(\w+)  ", sparkdl.__doc__, flags=re.MULTILINE))
    assert parts <= drawn
