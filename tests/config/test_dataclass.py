"""Frozen dataclasses that share their generated methods."""

import copy
import dataclasses
import pickle
import sys
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace

import pytest

from sparkdl.config import Config, FrozenFields, Integer, dataclass, option
from sparkdl.config.documentation import list_fields
from sparkdl.errors import ConfigError
from tests.config.test_members import OURS

METHODS = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}


@dataclass(frozen=True)
class Point(FrozenFields):
    """A point in the plane."""

    x: int
    y: int = 0


@dataclass(frozen=True)
class Place(Point):
    """A point with a name."""

    name: str = field(default="", kw_only=True)
    notes: list = field(default_factory=list, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Standard:
    """The same fields under the standard decorator."""

    x: int
    y: int = 0
    name: str = field(default="", kw_only=True)
    notes: list = field(default_factory=list, repr=False, compare=False)


def test_it_is_what_the_standard_decorator_makes():
    ours, theirs = Place(1, name="a"), Standard(1, name="a")
    assert repr(ours) == repr(theirs).replace("Standard", "Place")
    assert hash(ours) == hash(theirs)
    assert [(f.name, f.default, f.kw_only, f.repr) for f in fields(ours)] == [
        (f.name, f.default, f.kw_only, f.repr) for f in fields(theirs)
    ]
    assert Place.__match_args__ == Standard.__match_args__ == ("x", "y", "notes")
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert Place.y == Standard.y == 0 and not hasattr(Place, "x")
    assert is_dataclass(Place) and Place.__dataclass_params__.frozen


@pytest.mark.skipif(sys.version_info < (3, 14), reason="earlier Pythons evaluate types at once")
def test_types_may_be_defined_later():
    @dataclass(frozen=True, kw_only=True)
    class Tree(Config):
        left: Tree | None = None  # noqa: F821
        size: Later = option(Integer(), "Its size.", default=1)  # noqa: F821

    @dataclass(frozen=True, kw_only=True)
    class Leaf(Tree):
        size: Never = 2  # noqa: F821

    assert Tree(left=Leaf()).left.size == 2
    assert [item.name for item in list_fields(Leaf)] == ["size", "left"]
    with pytest.raises(ConfigError, match="Leaf.size must be an integer"):
        Leaf(size="large")


def test_equality_is_of_the_class_and_of_the_fields_that_are_compared():
    assert Place(1) == Place(1, 0, ["a note"]) != Place(2)
    assert Point(1) != Place(1) and Place(1) != 1
    assert len({Place(1), Place(1, name="a"), Place(1)}) == 2


def test_each_has_a_default_of_its_own_from_a_factory():
    assert Place(1).notes is not Place(1).notes


def test_nothing_of_it_can_be_changed():
    place = Place(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        place.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del place.x
    assert replace(place, x=2) == Place(2) == place.__replace__(x=2)


def test_it_can_be_copied_and_matched():
    place = Place(1, 2, name="a")
    assert pickle.loads(pickle.dumps(place)) == copy.deepcopy(place) == copy.copy(place) == place
    match place:
        case Place(x, y, name=name):
            assert (x, y, name) == (1, 2, "a")


def test_one_that_holds_itself_is_shown():
    place = Place(1, name=[])
    place.name.append(place)
    assert repr(place) == "Place(x=1, y=0, name=[...])"


WRONG = {
    "too many": ((1, 2, [], "a"), {}),
    "twice": ((1,), {"x": 1}),
    "unknown": ((1,), {"z": 1}),
    "not without its name": ((1, 2, [], "a"), {}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_its_fields_is_refused(name):
    values, named = WRONG[name]
    with pytest.raises(TypeError, match=r"Place takes x, y, name, notes once each, got "):
        Place(*values, **named)
    with pytest.raises(TypeError, match=r"Place needs x$"):
        Place()


def test_the_standard_decorator_may_stand_in_its_place():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Mine(Point):
        """Mine."""

        z: int = 3

    @dataclass(frozen=True, kw_only=True)
    class Yours(Mine):
        """Yours."""

        z: int = 4

    assert Mine(1) == Mine(1, z=3) != Yours(1)
    assert repr(Yours(1)).endswith("Yours(x=1, y=0, z=4)")


def test_another_class_is_refused():
    with pytest.raises(TypeError, match="Bare must be below FrozenFields"):

        @dataclass(frozen=True)
        class Bare:
            """Has no methods to share."""


def test_arrays_which_a_configuration_does_not_show_are_not_compared():
    @dataclass(frozen=True, kw_only=True)
    class Kept(Config):
        """A class with a field left out of its repr."""

        size: int = option(Integer(), "How much.", default=1)
        seen: int = option(Integer(), "What nobody looks at.", default=1, repr=False)

    assert Kept(seen=1) == Kept(seen=2) != Kept(size=2)


def test_no_configuration_of_ours_is_given_methods_of_its_own():
    assert not [
        (cls, name)
        for cls in OURS.values()
        for name in METHODS
        if "<string>" in code_of(vars(cls).get(name))
    ]


def code_of(method):
    """Returns the file of a method's code: "<string>" where it was generated."""
    return getattr(getattr(method, "__code__", None), "co_filename", "")
