"""The public names: complete, documented, distinct, visible to tools, and loaded lazily."""

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import sparkdl
from sparkdl import errors
from sparkdl.config import Member

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ["pyspark", "pandas", "cupy", "numpy", "pyarrow", "lmdb", "yaml", "tqdm"]
HEAVY += ["email", "importlib.metadata"]
INTERNAL = {"Run", "Forward", "forward", "Layout", "Replica", "Coder", "ScoredLayer", "Listeners"}
HERE = {module: names.split() for module, names in sparkdl.EXPORTS.items()}
MODULES = {name: importlib.import_module(f"sparkdl.{name}") for name in sparkdl.MODULES}


def run(code):
    """Returns what a new process prints as JSON."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    return json.loads(done.stdout)


def modules_after(statement):
    """Returns the names of all modules that a new process has loaded after a statement."""
    return set(run(f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"))


def public():
    """Returns {short name: all objects with it} of sparkdl and its modules."""
    found = defaultdict(set)
    for home in [*HERE, *(f"sparkdl.{module}" for module in MODULES)]:
        names = HERE.get(home) or sys.modules[home].__all__
        for name in names:
            found[name].add(getattr(importlib.import_module(home), name))
    return found


# What an import loads


def test_importing_sparkdl_loads_no_heavy_library_and_no_part():
    parts = {f"sparkdl.{path.parent.name}" for path in (ROOT / "sparkdl").glob("*/__init__.py")}
    assert not modules_after("import sparkdl") & {*HEAVY, *parts}


@pytest.mark.slow
def test_all_but_spark_s_names_need_no_spark_pandas_or_gpu():
    code = """
import json, sys
sys.modules |= dict.fromkeys(["pyspark", "pandas", "cupy"])
import sparkdl
names = [name for name, home in sparkdl.HOMES.items() if home != "sparkdl.spark"]
print(json.dumps([name for name in [*sparkdl.MODULES, *names] if getattr(sparkdl, name) is None]))
"""
    assert run(code) == []


@pytest.mark.slow
def test_a_star_gives_every_name():
    code = """
import json
from sparkdl import *
print(json.dumps([Dense.__name__, Adam.__name__, NetworkConf.__name__, SparkNetwork.__name__,
                  *sorted(vars())]))
"""
    first, names = run(code)[:4], run(code)[4:]
    assert first == ["Dense", "Adam", "NetworkConf", "SparkNetwork"]
    assert {*sparkdl.__all__} <= {*names}


@pytest.mark.slow
def test_a_star_hides_no_package_of_the_same_name():
    code = """
import json
mlflow = "the package"
from sparkdl import *
import sparkdl
print(json.dumps([mlflow, sparkdl.mlflow.autolog.__name__]))
"""
    assert run(code) == ["the package", "autolog"]


# The names


@pytest.mark.parametrize("module", MODULES)
def test_a_module_lists_its_names_in_order_and_nothing_else_is_in_it(module):
    found = MODULES[module]
    there = {name for name in vars(found) if not name.startswith("_")}
    assert found.__all__ == sorted(found.__all__, key=str.casefold)
    assert there == {*found.__all__} or module == "errors"
    assert getattr(sparkdl, module) is found and found.__doc__


@pytest.mark.parametrize("home", HERE)
def test_a_section_is_in_order_and_has_all_of_its_module(home):
    assert HERE[home] == sorted(HERE[home], key=str.casefold)
    if home.removeprefix("sparkdl.") in MODULES:
        assert HERE[home] == MODULES[home.removeprefix("sparkdl.")].__all__
    for name in HERE[home]:
        assert getattr(sparkdl, name) is getattr(importlib.import_module(home), name)


def test_every_name_is_that_of_one_thing_which_is_documented():
    found = public()
    assert not {name: things for name, things in found.items() if len(things) > 1}
    assert not {*MODULES} & {*found}
    for name, [thing] in found.items():
        text = thing.__doc__  # docstrings that a dataclass generates begin with a signature
        assert callable(thing) and text and not text.startswith(f"{name}("), name


def test_nothing_private_is_public():
    assert dir(sparkdl) == sorted([*sparkdl.__all__, "mlflow"])
    assert len({*sparkdl.__all__}) == len(sparkdl.__all__)
    assert [name for name in sparkdl.__all__ if name.startswith("_")] == ["__version__"]
    assert not {name for name in public() if name.startswith("_")} | (INTERNAL & {*public()})


FAMILIES = [f for f in Member.__subclasses__() if f.__module__.startswith("sparkdl.")]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_family_is_in_one_module_with_all_its_members(family):
    kinds = [kind for kind in family.members.values() if kind.__module__.startswith("sparkdl.")]
    names = {kind.__name__ for kind in [family, *kinds]}
    [home] = [module for module in MODULES.values() if names & {*module.__all__}]
    assert names <= {*home.__all__}


def test_short_names_that_confuse_stay_in_their_modules():
    for module in ("schedules", "losses", "activations", "initializers", "codecs", "transforms"):
        assert not {*MODULES[module].__all__} & {*sparkdl.HOMES}


def test_every_error_is_public():
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    names = {kind.__name__ for kind in kinds if issubclass(kind, errors.SparkdlError)}
    assert {*errors.__all__} == names


UNKNOWN = {
    "SparkNet": "has no attribute 'SparkNet'$",
    "StepSchedule": "attribute 'StepSchedule'; write: from sparkdl.schedules import StepSchedule$",
    "ClipNorm": "has no attribute 'ClipNorm'; write: from sparkdl.clipping import ClipNorm$",
    "KerasModel": "attribute 'KerasModel'; write: from sparkdl.interop.keras import KerasModel$",
    "SparkNetworkClassifier": "; write: from sparkdl.ml import SparkNetworkClassifier$",
    "nothing": "has no attribute 'nothing'$",
    "_private": "has no attribute '_private'$",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_name_is_an_attribute_error_that_says_where_it_is(name):
    with pytest.raises(AttributeError, match=UNKNOWN[name]):
        getattr(sparkdl, name)
    assert not hasattr(sparkdl, name) and getattr(sparkdl, name, None) is None


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_import_of_an_unknown_name_says_the_same(name):
    cure = UNKNOWN[name].partition("; ")[2] or r" from 'sparkdl' \(.*\)$"
    with pytest.raises(ImportError, match=f"^cannot import name '{name}' from 'sparkdl'") as caught:
        exec(f"from sparkdl import {name}")
    assert re.search(cure, str(caught.value))
    assert caught.value.name == "sparkdl" and caught.value.path == sparkdl.__file__


def test_only_an_import_raises_its_error():
    def _handle_fromlist():  # the name of importlib's function
        return getattr(sparkdl, "KerasModel", None)

    assert _handle_fromlist() is None


@pytest.mark.parametrize("module", sparkdl.ELSEWHERE)
def test_names_of_other_parts_are_there(module):
    """As text, since these modules need libraries that may be missing."""
    tree = ast.parse((ROOT / module.replace(".", "/") / "__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    there = {name.name for node in imports for name in node.names}
    texts = [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is str
    ]
    there |= {name for text in texts for name in text.split()}
    assert {*sparkdl.ELSEWHERE[module].split()} <= there


# Tools


def stub_names():
    """Returns {name: module} that __init__.pyi gives to type checkers."""
    for node in ast.parse((ROOT / "sparkdl/__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    listed = importlib.import_module(node.module).__all__
                    yield from ((name, node.module) for name in listed)
                else:
                    assert alias.asname == alias.name, "or it is private to type checkers"
                    yield alias.name, node.module


def test_type_checkers_see_what_there_is_at_run_time():
    found = list(stub_names())
    assert sorted(found) == sorted([*sparkdl.HOMES.items(), *((m, "sparkdl") for m in MODULES)])


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "sparkdl/py.typed").read_text() == ""


def test_version_is_the_distribution_s():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sparkdl.__version__ == project["version"]


def test_docstring_draws_every_part_that_exists():
    parts = {path.parent.name for path in (ROOT / "sparkdl").glob("*/__init__.py")}
    drawn = set(re.findall(r"^(\w+)  ", sparkdl.__doc__, flags=re.MULTILINE))
    assert parts <= drawn
