"""Packages that load their names on first use."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl.config import Member
from tests.test_init import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
LATE = ["sparkdl.data", "sparkdl.data.transforms", "sparkdl.nn", "sparkdl.nn.layers"]
PACKAGES = {name: importlib.import_module(name) for name in [*LATE, "sparkdl.spark"]}


def names_after(statement):
    """Returns the modules of sparkdl that a new process has loaded after a statement."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    return {name for name in json.loads(done.stdout) if name.startswith("sparkdl.")}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_loads_nothing_of_its_own_before_it_is_asked_for(name):
    others = {other for other in PACKAGES if other.startswith(name) or name.startswith(other)}
    loaded = {other for other in names_after(f"import {name}") if other.startswith(f"{name}.")}
    assert loaded <= others


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_is_found_and_told_by_dir(name):
    package = PACKAGES[name]
    assert {*package.__all__} <= {*dir(package)}
    for one in package.__all__:
        assert getattr(package, one) is vars(package)[one]
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


@pytest.mark.parametrize("name", PACKAGES)
def test_a_star_gives_every_name_of_a_package(name):
    found = {}
    exec(f"from {name} import *", found)
    assert {*PACKAGES[name].__all__} == {*found} - {"__builtins__"}


@pytest.mark.slow
def test_the_package_s_own_modules_are_found_as_its_attributes():
    found = names_after("import sparkdl.data, sparkdl.nn; sparkdl.data.files; sparkdl.nn.losses")
    assert {"sparkdl.data.files", "sparkdl.nn.losses"} <= found


def stub_names(package):
    """Returns {name: module} that a package's __init__.pyi gives type checkers, and `__all__`."""
    names, listed = {}, None
    path = ROOT / package.replace(".", "/") / "__init__.pyi"
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            listed = ast.literal_eval(node.value)
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if alias.name == "*":
                names |= dict.fromkeys(importlib.import_module(node.module).__all__, node.module)
            else:
                assert alias.asname == alias.name, "or it is private to type checkers"
                names[alias.name] = node.module
    return names, listed


@pytest.mark.parametrize("name", LATE)
def test_type_checkers_see_what_there_is_at_run_time(name):
    package, (names, listed) = PACKAGES[name], stub_names(name)
    assert listed is None or listed == package.__all__
    assert {*names} >= {*package.__all__}
    for one, module in names.items():
        assert getattr(package, one) is getattr(importlib.import_module(module), one)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_table_of_a_family_names_the_modules_of_its_members(family):
    ours = {n: c.__module__ for n, c in family.members.items() if is_ours(c)}
    package = sys.modules[family.members.package] if family.members.package else None
    assert package is None or ours == package.MEMBERS


def is_ours(cls):
    return cls.__module__.startswith("sparkdl.")


FOUND = {
    "sparkdl.data.source": ("Source", "csv", "path='a', features=['x']"),
    "sparkdl.data.transforms.base": ("Transform", "crop", "size=3"),
    "sparkdl.nn.layers.core.base": ("Layer", "dense", "units=3"),
}


@pytest.mark.parametrize("module", FOUND)
def test_a_member_is_found_by_name_before_its_module_is_imported(module):
    family, name, options = FOUND[module]
    rest = f"type={name!r}, {options}"
    loaded = names_after(f"from {module} import {family}; {family}.from_dict(dict({rest}))")
    home = {key.lower(): home for key, home in family_of(module, family).items()}[name]
    assert home in loaded and len(loaded & {*family_of(module, family).values()}) <= 3


def family_of(module, family):
    return sys.modules[getattr(sys.modules[module], family).members.package].MEMBERS


def test_a_name_of_ours_is_taken_before_its_module_is_imported():
    code = """
from sparkdl.errors import ConfigError
from sparkdl.nn.layers.core.base import Layer
try:
    class Dense(Layer): pass
except ConfigError as error:
    assert str(error) == "'Dense' is already the name of sparkdl.nn.layers.dense.dense.Dense"
else:
    raise AssertionError
"""
    assert "sparkdl.nn.layers.dense.dense" in names_after(code)


def test_a_family_counts_all_its_members_and_forgets_one_that_is_deleted():
    class Thing(Member):
        """A family."""

    class Cup(Thing):
        """One of it."""

    assert dict(Thing.members) == {"Cup": Cup} and len(Thing.members) == 1
    del Thing.members["Cup"]
    assert not Thing.members and "Cup" not in Thing.members
