"""Configuration options: passed by name, validated, shown in help(), and inherited."""

import inspect
import pickle
import pydoc
from dataclasses import dataclass, field, replace
from typing import ClassVar

import cloudpickle
import pytest

from sparkdl.config import Boolean, Config, Integer, Member, Number, Of, Sizes, Text, config, option
from sparkdl.config.option import options_of
from sparkdl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Tool(Config):
    """What is worked with.

    References
    ----------
    None.
    """

    kind: ClassVar[str] = "tool"

    width: int = option(Integer(minimum=1), "How wide it is.", unit="metres")
    bias: bool = option(Boolean(), "Whether it leans.", default=True)
    rest: float | None = option(Number(minimum=0), "What is left.", default=None)


@dataclass(frozen=True, kw_only=True)
class Saw(Tool):
    """What cuts."""

    width: int = 3
    teeth: int = option(Integer(minimum=2), "How many there are.", default=9)


@dataclass(frozen=True, kw_only=True)
class Heavy(Config):
    """A tool with a weight."""

    weight: float = option(Number(above=0), "How heavy it is.", default=1.0, unit="kilograms")


@dataclass(frozen=True, kw_only=True)
class Hammer(Saw, Heavy):
    """A tool that inherits options from two bases."""

    weight: float = 2.0


@dataclass(frozen=True, kw_only=True)
class Box(Config):
    """A box with one edge per axis of its class."""

    axes: ClassVar[int] = 2

    edges: int | tuple[int, ...] = option(Sizes(), "How long they are.", default=1)
    rest: int | tuple[int, ...] | None = option(Sizes(), "What is left.", default=None)


@dataclass(frozen=True, kw_only=True)
class Cube(Box):
    """A box with one more axis."""

    axes: ClassVar = 3


@dataclass(frozen=True, kw_only=True)
class File(Config):
    """A file to read."""

    path: str = option(Text(what="a path"), "Where it lies.", kw_only=False)
    skip: int = option(Integer(minimum=0), "Lines left out.", default=0)


@dataclass(frozen=True, kw_only=True)
class Paired(Config):
    """Two numbers, the first at most the second."""

    low: int = option(Integer(), "Less.", default=0)
    high: int = option(Integer(), "More.", default=1)

    def validate(self):
        if self.low > self.high:
            raise ConfigError(f"Paired.low must be at most high ({self.high}), got {self.low}")


@dataclass(frozen=True, kw_only=True)
class Shape(Member):
    """A family."""


@dataclass(frozen=True, kw_only=True)
class Circle(Shape):
    """Round."""

    radius: float = option(Number(above=0), "From the middle.", default=1.0)


@dataclass(frozen=True, kw_only=True)
class Drawing(Config):
    """A drawing of a shape."""

    shape: Shape = option(Of(family=Shape), "What is drawn.", default="circle")


REFUSED = {
    "misspelt": (lambda: Tool(widht=1), "Tool has no field 'widht'; did you mean 'width'?"),
    "unlike any": (lambda: Tool(zzz=1), "Tool has no field 'zzz'"),
    "positional": (lambda: Tool(64), "Tool takes options by name only; write width=64"),
    "too many": (lambda: File("a", 3), "File takes options by name only; write skip=3"),
    "positional, for an option": (
        lambda: Saw(3, 4),
        "Saw takes options by name only; write width=3",
    ),
    "positional, of a base's": (
        lambda: Saw(True),
        "Saw takes options by name only; write bias=True",
    ),
    "missing": (lambda: Tool(), "Tool needs the field 'width'"),
    "missing place": (lambda: File(), "File needs the field 'path'"),
    "twice": (lambda: File("a", path="b"), "File got 'path' twice"),
    "bad": (lambda: Tool(width=0), "Tool.width must be an integer >= 1, got 0"),
    "bad, inherited": (lambda: Saw(width=0), "Saw.width must be an integer >= 1, got 0"),
    "bad together": (lambda: Paired(low=3), "Paired.low must be at most high (1), got 3"),
    "bad, of a second base": (lambda: Hammer(weight=0), "Hammer.weight must be a number above 0"),
    "too few for the axes": (
        lambda: Cube(edges=(1, 2)),
        "Cube.edges must be an integer >= 1 or three of them, got (1, 2)",
    ),
    "too many for the axes": (
        lambda: Box(rest=(1, 2, 3)),
        "Box.rest must be an integer >= 1 or a pair of them or None, got (1, 2, 3)",
    ),
    "replaced": (lambda: replace(Saw(), width="1"), "Saw.width must be an integer >= 1, got '1'"),
    "not a mapping": (lambda: Tool.from_dict([1]), "Tool needs a mapping of its options, got [1]"),
    "key that is no text": (lambda: Tool.from_dict({1: 2}), "Tool has no field 1"),
    "long key": (lambda: Tool.from_dict({"k" * 9999: 2}), "Tool has no field 'kkk"),
    "number for a type": (lambda: Shape.from_dict({"type": 1}), "must be one of Circle, got 1"),
    "no mapping of a member": (lambda: Shape.from_dict(3), "Shape needs a 'type', got 3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    make, message = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value) and len(str(caught.value)) < 500


def test_what_no_option_takes_has_no_cure():
    with pytest.raises(ConfigError, match="Paired takes options by name only$"):
        Paired("a")


def test_a_place_may_be_given_without_its_name():
    assert File("a") == File(path="a") and File("a", skip=2).skip == 2


def test_a_default_of_none_allows_none():
    assert Tool(width=1, rest=None).rest is None and Tool(width=1, rest=2).rest == 2


def test_names_are_found_in_any_case():
    for name in ("circle", "Circle", "CIRCLE", {"type": "circle"}):
        assert Drawing(shape=name).shape == Circle()
    assert Drawing().to_dict() == {}
    assert Drawing(shape={"type": "circle", "radius": 2}).to_dict() == {
        "shape": {"type": "Circle", "radius": 2}
    }


def test_copies_by_pickle_and_replace_are_equal():
    assert pickle.loads(pickle.dumps(Saw(width=7))) == Saw(width=7)
    assert replace(Saw(), width=7) == Saw(width=7)


def test_help_explains_every_option():
    assert Tool.__doc__ == (
        "What is worked with.\n"
        "\n"
        "Parameters\n"
        "----------\n"
        "width : an integer >= 1, metres\n"
        "    How wide it is.\n"
        "bias : True or False, default True\n"
        "    Whether it leans.\n"
        "rest : a number >= 0 or None, default None\n"
        "    What is left.\n"
        "\n"
        "References\n"
        "----------\n"
        "None.\n"
    )


def test_help_explains_inherited_options_with_the_new_default():
    text = Saw.__doc__
    assert text.startswith("What cuts.\n\nParameters\n")
    assert "width : an integer >= 1, metres, default 3\n    How wide it is.\n" in text
    assert "teeth : an integer >= 2, default 9\n" in text and "bias : True or False" in text


def test_options_of_a_second_base_are_explained_and_take_another_default():
    assert "teeth : an integer >= 2, default 9\n" in Hammer.__doc__
    assert "weight : a number above 0, kilograms, default 2.0\n" in Hammer.__doc__
    assert Hammer().weight == 2.0


def test_help_begins_with_the_options_of_the_class_and_ends_with_those_of_its_farthest_base():
    found = [line.split(" : ")[0] for line in Hammer.__doc__.splitlines() if " : " in line]
    assert found == ["weight", "width", "teeth", "bias", "rest"]


def test_sizes_are_as_many_as_the_class_has_axes():
    assert Box(edges=[1, 2]).edges == (1, 2) and Cube(edges=[1, 2, 3]).edges == (1, 2, 3)
    assert "edges : an integer >= 1 or a pair of them, default 1\n" in Box.__doc__
    assert "rest : an integer >= 1 or three of them or None, default None\n" in Cube.__doc__


def test_a_section_that_is_written_by_hand_stays():
    @dataclass(frozen=True, kw_only=True)
    class Mine(Config):
        """Mine.

        Parameters
        ----------
        a : int
            Mine.
        """

        a: int = option(Integer(), "Ours.", default=1)

    assert "Ours" not in Mine.__doc__ and "Mine." in Mine.__doc__


def test_a_field_without_an_option_is_kept_as_it_is():
    @dataclass(frozen=True, kw_only=True)
    class Plain(Config):
        """Plain."""

        a: tuple = ()
        b: dict = field(default_factory=dict)

    assert Plain(a=[1, [2]]).a == (1, (2,)) and Plain().b == {} and Plain.__doc__ == "Plain."


def test_the_constraints_of_a_class_are_made_once():
    assert options_of(Cube) is options_of(Cube)
    assert options_of(Cube)["edges"] != options_of(Box)["edges"]


def test_names_are_checked_once(monkeypatch):
    calls = []
    monkeypatch.setattr(config, "check_names", lambda cls, options: calls.append(cls))
    Tool.from_dict({"width": 3})
    assert calls == [Tool]


def test_help_is_the_same_of_a_class_and_of_what_it_makes_whoever_asks():
    assert Saw.__doc__ == Saw(width=7).__doc__
    assert inspect.getdoc(Saw) == inspect.getdoc(Saw()) == Saw.__doc__.strip()
    shown = pydoc.plain(pydoc.render_doc(Saw))
    assert "class Saw(Tool)\n |  Saw(*, width=3" in shown and "What cuts." in shown
    assert "teeth : an integer >= 2, default 9" in shown


def test_a_class_without_a_docstring_has_none_and_one_can_be_given():
    class Bare(Tool):
        pass

    assert Bare.__doc__ is None
    Bare.__doc__ = "Given."
    assert Bare.__doc__ == "Given." == Bare(width=1).__doc__


def test_what_a_notebook_defines_travels_with_its_help(monkeypatch):
    monkeypatch.setattr(Saw, "__module__", "__main__")  # so that cloudpickle pickles it by value
    assert cloudpickle.loads(cloudpickle.dumps(Saw)).__doc__ == Saw.__doc__
