"""Constraints: accepted values, their normalized form, and error messages."""

from pathlib import PurePath

import numpy as np
import pytest

from sparkdl.config import (
    Boolean,
    Callable,
    Character,
    Choice,
    Either,
    Instance,
    Integer,
    Mapping,
    Nested,
    Number,
    Of,
    Optional,
    Path,
    Row,
    Sequence,
    Size,
    Sizes,
    Text,
    is_integer,
)
from sparkdl.errors import ConfigError
from sparkdl.nn.schedules import FixedSchedule, Schedule
from tests.config.nonsense import NONSENSE
from tests.config.test_option import Tool
from tests.support.tables import for_all

SHARE = Number(minimum=0, below=1)
PLACE = Row(of=(Integer(minimum=0), Number(above=0)))
COLUMN = Either(of=(Text(what="a name"), Integer()))
PLACES = Either(of=(Path(), Sequence(of=Path(), minimum=1)))
RATE = Of(family=Schedule, number=Number(above=0))

TAKEN = [
    (Integer(), -3, -3),
    (Integer(), np.int16(3), 3),
    (Integer(minimum=1), 1, 1),
    (Integer(maximum=4), 4, 4),
    (Integer(), 2**63 - 1, 2**63 - 1),
    (Size(minimum=1), 2**31 - 1, 2**31 - 1),
    (Number(), -1.5, -1.5),
    (Number(), 10**30, 10**30),
    (Number(), np.float32(0.5), 0.5),
    (Number(minimum=0), 0, 0),
    (Number(above=0), 5e-324, 5e-324),
    (SHARE, 0, 0),
    (Boolean(), False, False),
    (Boolean(), np.bool_(True), True),
    (Text(), "a", "a"),
    (Path(), PurePath("a/b"), "a/b"),
    (Text(), np.str_("a"), "a"),
    (Character(), "\t", "\t"),
    (COLUMN, "a", "a"),
    (COLUMN, np.int64(-1), -1),
    (PLACES, ["a", PurePath("b")], ("a", "b")),
    (Choice(of=("a", "b")), "b", "b"),
    (Choice(of=(1, "all")), 1, 1),
    (Sequence(of=Integer()), [1, np.int8(2)], (1, 2)),
    (Sequence(of=Integer()), (), ()),
    (Sequence(of=Integer(), length=2), [1, 2], (1, 2)),
    (Sequence(of=Sequence(of=Number())), [[1], []], ((1,), ())),
    (PLACE, [0, 0.5], (0, 0.5)),
    (Sizes(axes=2), 3, 3),
    (Sizes(axes=2), [3, 4], (3, 4)),
    (Sizes(axes=2, spread=True), 3, (3, 3)),
    (Sizes(axes=2, spread=True), [3, 4], (3, 4)),
    (Mapping(keys=Text(), values=Integer()), {"a": np.int64(1)}, {"a": 1}),
    (Optional(of=Integer()), None, None),
    (Optional(of=Integer()), 1, 1),
    (
        Instance(of=FixedSchedule, what="a FixedSchedule"),
        FixedSchedule(initial=1),
        FixedSchedule(initial=1),
    ),
    (Callable(), len, len),
    (Nested(of=Tool), {"width": 1}, Tool(width=1)),
    (RATE, 0.1, 0.1),
    (RATE, {"type": "FixedSchedule", "initial": 1}, FixedSchedule(initial=1)),
    (RATE, {"type": "fixedschedule", "initial": 1}, FixedSchedule(initial=1)),
]


@pytest.mark.parametrize("constraint, given, kept", TAKEN, ids=str)
def test_takes(constraint, given, kept):
    found = constraint.check(given, "A.b")
    assert found == kept and type(found) is type(kept)


REFUSED = [
    (Integer(minimum=1), 0, "A.b must be an integer >= 1, got 0"),
    (Integer(), 1.0, "A.b must be an integer, got 1.0"),
    (Integer(), True, "A.b must be an integer, got True"),
    (Integer(minimum=0, maximum=9), 10, "A.b must be an integer in [0, 9], got 10"),
    (Integer(), "3", "A.b must be an integer, got '3'; write it without quotes"),
    (Integer(), 2**63, "; the largest possible is 9223372036854775807"),
    (Size(minimum=1), 10**12, "got 1000000000000; the largest possible is 2147483647"),
    (Number(above=0), 0, "A.b must be a number above 0, got 0"),
    (Number(minimum=0), -0.1, "A.b must be a number >= 0, got -0.1"),
    (Number(), float("nan"), "A.b must be a finite number, got nan"),
    (Number(), 10**39, "; the largest possible is 3.4e+38"),
    (Number(), np.bool_(True), "A.b must be a finite number, got "),
    (SHARE, 1, "A.b must be a number in [0, 1), got 1"),
    (Number(above=0, maximum=1), 0.0, "A.b must be a number in (0, 1], got 0.0"),
    (Boolean(), 1, "A.b must be True or False, got 1"),
    (Path(), 3, "A.b must be a path that is not empty, got 3"),
    (Text(what="a path"), " ", "A.b must be a path that is not empty, got ' '"),
    (
        Choice(of=("low", "high")),
        "hihg",
        "'low' or 'high', got 'hihg'; did you mean 'high'?",
    ),
    (Choice(of=(1, 2)), True, "A.b must be 1 or 2, got True"),
    (Sequence(of=Integer(minimum=1)), [1, 0], "A.b[1] must be an integer >= 1, got 0"),
    (Sequence(of=Integer()), 3, "A.b must be a sequence of integers, got 3"),
    (
        Sequence(of=Integer(), minimum=1),
        [],
        "must be a sequence of one or more integers, got []",
    ),
    (Sequence(of=Integer(), length=2), [1], "A.b must be two integers, got [1]"),
    (Sequence(of=Integer()), np.arange(2), "; give array.tolist()"),
    (Sequence(of=Integer()), "12", "A.b must be a sequence of integers, got '12'"),
    (PLACE, [0], "A.b must be (an integer >= 0, a number above 0), got [0]"),
    (PLACE, [0, 0], "A.b[1] must be a number above 0, got 0"),
    (Sizes(axes=2), [1, 2, 3], "must be an integer >= 1 or a pair of them, got [1, 2, 3]"),
    (Sizes(axes=2), 0, "A.b must be an integer >= 1 or a pair of them, got 0"),
    (Character(), ",,", "A.b must be one character of ASCII, got ',,'"),
    (Character(), "é", "A.b must be one character of ASCII, got 'é'"),
    (COLUMN, 1.5, "A.b must be a name that is not empty or an integer, got 1.5"),
    (PLACES, ["a", 3], "A.b[1] must be a path that is not empty, got 3"),
    (
        Mapping(keys=Text(what="a column of a batch"), values=Integer()),
        1,
        "A.b must be a mapping of columns of a batch that are not empty to integers, got 1",
    ),
    (Mapping(keys=Text(), values=Integer()), {"a": "b"}, "A.b['a'] must be an integer, got 'b'"),
    (Mapping(keys=Text(), values=Integer()), {1: 1}, "A.b key must be a text that is not empty"),
    (Optional(of=Integer()), "a", "A.b must be an integer or None, got 'a'"),
    (Optional(of=Sequence(of=Integer())), ["a"], "A.b[0] must be an integer, got 'a'"),
    (
        Sequence(of=Sequence(of=Number(above=0), length=2), minimum=1),
        [],
        "A.b must be a sequence of one or more pairs of numbers above 0, got []",
    ),
    (Nested(of=Tool), 3, "A.b must be a Tool or a mapping of its options, got 3"),
    (RATE, 0, "A.b must be a number above 0 or a Schedule, got 0"),
    (RATE, None, "A.b must be a number above 0 or one of 15 names, got None; they are Cos"),
    (RATE, "FixedSchedule", "FixedSchedule needs the field 'initial'"),
]


@pytest.mark.parametrize("constraint, given, message", REFUSED, ids=str)
def test_refuses(constraint, given, message):
    with pytest.raises(ConfigError) as caught:
        constraint.check(given, "A.b")
    assert message in str(caught.value)


EVERY = {type(constraint).__name__: constraint for constraint, *_ in TAKEN}


@pytest.mark.parametrize("name", EVERY)
def test_nonsense_is_taken_or_a_short_config_error(name):
    def check(value):
        try:
            EVERY[name].check(value, "A.b")
        except ConfigError as error:
            assert any(name in str(error) for name in ("A.b", "Schedule", "Tool"))
            assert len(str(error)) <= 500

    for_all(NONSENSE, lambda key: check(NONSENSE[key]))


@pytest.mark.parametrize("name", EVERY)
def test_every_constraint_has_words_for_one_and_for_many(name):
    assert isinstance(EVERY[name].phrase, str) and isinstance(EVERY[name].plural, str)
    assert EVERY[name].phrase and EVERY[name].plural


@pytest.mark.parametrize("value", [3, np.int32(3), True, np.True_, 3.0, "3", None])
def test_an_integer_is_no_bool(value):
    assert is_integer(value) == (value is not True and isinstance(value, int | np.integer))
    assert is_integer(value, 3) == is_integer(value) and not is_integer(value, 4)
