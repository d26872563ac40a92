"""Errors sent as JSON arrive unchanged; JSON that describes no error becomes a WorkerError."""

import json

import pytest

from sparkdl import errors
from sparkdl.error_messages import KINDS, LONGEST, LONGEST_NOTE, error_from_json, error_to_json
from sparkdl.errors import DataError, PeerError, ShapeError, SparkdlError, WorkerError

CLASSES = sorted(
    (c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)),
    key=lambda kind: kind.__name__,
)
TEXT = "record 7: must be finite,\ngot \N{SNOWMAN} \0 {'a': 1}"
ARGUMENTS = {PeerError: [(3, "left", "gone"), (None, "right", TEXT)]}
EVERY = [(kind, args) for kind in CLASSES for args in ARGUMENTS.get(kind, [(TEXT,), ("",)])]
MESSAGE = 1 << 20  # most bytes of JSON in a message


def travelled(error, whose="worker 1"):
    """Returns the error after a round trip through JSON bytes."""
    return error_from_json(json.loads(json.dumps(error_to_json(error)).encode()), whose)


def raised(error):
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_the_table_is_of_every_class_there_is():
    assert set(KINDS.values()) == set(CLASSES)
    assert {"SparkdlError", "NoRecords", "DivergedError", "OperandError"} <= set(KINDS)


@pytest.mark.parametrize("kind, arguments", EVERY)
def test_an_error_of_ours_is_itself_again(kind, arguments):
    error = kind(*arguments)
    error.add_note("one")
    error.add_note("two\nlines")
    again = travelled(raised(error))
    assert type(again) is kind
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_an_error_without_notes_gets_none():
    assert not hasattr(travelled(DataError("a")), "__notes__")


class Narrow(ShapeError):
    """Has arguments that JSON cannot hold, and its own text."""

    def __init__(self, first, second):
        super().__init__(first, second)
        self.both = first, second

    def __str__(self):
        return f"{self.both[0]} and {self.both[1]}"


class Refused(PeerError):
    """Takes fewer arguments than its base."""

    def __init__(self, host):
        super().__init__(None, host, "has refused")


def test_a_class_that_is_not_among_ours_is_the_nearest_that_is():
    again = travelled(Narrow({1}, object))
    assert (type(again), str(again)) == (ShapeError, f"{{1}} and {object}")
    again = travelled(Refused("left"))
    assert type(again) is PeerError
    assert (again.rank, again.host, again.what) == (None, "left", "has refused")


def test_a_peer_that_cannot_be_described_is_a_lost_worker_all_the_same():
    again = travelled(PeerError({1, 2}, "left", "gone"))
    assert (type(again), str(again)) == (WorkerError, "rank {1, 2} on left: gone")


def divide():
    return 1 / 0


def test_any_other_error_names_its_worker_its_type_and_its_place():
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    caught.value.add_note("a note")
    again = travelled(caught.value)
    assert type(again) is WorkerError
    assert str(again) == "worker 1: ZeroDivisionError: division by zero"
    trace, note = again.__notes__
    assert trace.startswith("Traceback") and "in divide" in trace and note == "a note"


class DataErrorOfOthers(Exception):
    """An error of another package that has the name of one of ours."""

    def __str__(self):
        raise ValueError("no text")


DataErrorOfOthers.__qualname__ = DataErrorOfOthers.__name__ = "DataError"


def test_a_name_of_ours_is_not_taken_for_our_class_and_no_text_is_no_crash():
    again = travelled(DataErrorOfOthers())
    assert type(again) is WorkerError
    assert str(again).startswith(f"worker 1: {__name__}.DataError: <exception str() failed>")


def test_what_travels_again_stays_as_it_is():
    once = travelled(raised(ZeroDivisionError("x" * 10_000)))
    twice = travelled(once, "worker 2")
    assert (type(twice), str(twice), vars(twice)) == (type(once), str(once), vars(once))


@pytest.mark.parametrize("letter", ["x", "\0", "\N{SNOWMAN}", "\N{FIRE}", "\ud800"])
@pytest.mark.parametrize("kind", [DataError, ValueError])
def test_long_texts_are_cut_and_the_whole_fits_into_a_message(kind, letter):
    error = kind(f"start {letter * 100_000} end")
    for number in range(40):
        error.add_note(f"{number} {letter * 20_000}")
    assert len(json.dumps(error_to_json(error))) < MESSAGE
    again = travelled(error)
    assert "start" in str(again) and str(again).endswith(" end")
    assert len(str(again)) <= LONGEST and max(map(len, again.__notes__)) <= LONGEST_NOTE
    assert "more notes" in again.__notes__[-1]


def test_huge_texts_that_others_have_not_cut_are_cut_on_arrival():
    huge = "h" * 10**6
    error = error_from_json({"error": "PeerError", "arguments": [1, huge, huge], "notes": [huge]})
    assert type(error) is PeerError
    assert len(error.host) <= LONGEST and len(error.what) <= LONGEST
    assert len(error.__notes__[0]) <= LONGEST_NOTE
    assert len(str(error_from_json({"error": huge, "arguments": ["a"]}))) <= LONGEST


HOSTILE = [
    {},
    {"error": None},
    {"error": 3, "arguments": ["a"]},
    {"error": ["DataError"], "arguments": ["a"]},
    {"error": "DataError"},
    {"error": "DataError", "arguments": None},
    {"error": "DataError", "arguments": "a"},
    {"error": "DataError", "arguments": []},
    {"error": "DataError", "arguments": [3]},
    {"error": "DataError", "arguments": [["a"]]},
    {"error": "DataError", "arguments": ["a", "b"]},
    {"error": "PeerError", "arguments": ["a"]},
    {"error": "PeerError", "arguments": ["1", "left", "gone"]},
    {"error": "PeerError", "arguments": [1, None, {}]},
    {"error": "NoSuchError", "arguments": ["a"]},
    {"error": "SystemExit", "arguments": ["a"]},
    {"error": "require", "arguments": ["a"]},
    {"error": "__builtins__", "arguments": ["a"]},
    {"error": "", "arguments": [""], "notes": 3},
    {"error": "a", "arguments": ["b"], "notes": {"c": "d"}},
    [],
    ["DataError"],
    None,
    3,
    "DataError",
]


@pytest.mark.parametrize("meta", HOSTILE, ids=str)
def test_what_is_no_error_is_a_worker_s(meta):
    error = error_from_json(meta, "worker 1")
    assert type(error) is WorkerError
    assert str(error).startswith("worker 1: ")


def test_notes_that_are_no_texts_are_left_out():
    meta = {"error": "DataError", "arguments": ["a"], "notes": [None, 3, [[]], "sound", {}]}
    error = error_from_json(meta)
    assert (type(error), error.__notes__) == (DataError, ["sound"])


@pytest.mark.parametrize("notes", [3, None, ("a", "b")])
def test_notes_that_a_class_has_as_something_else_are_no_crash(notes):
    error = SparkdlError("a")
    error.__notes__ = notes
    assert str(travelled(error)) == "a"


@pytest.mark.parametrize("kind", [errors.UnsupportedError, errors.ConfigError])
def test_a_package_that_is_missing_is_named_with_who_needs_it_and_how_to_get_it(kind):
    says = r"^a Reader needs zzz on the driver: pip install zzz \(No module named 'zzz'\)$"
    with pytest.raises(kind, match=says) as caught:
        with errors.needs_package("a Reader", "zzz on the driver", "pip install zzz", kind):
            import zzz  # noqa: F401
    assert isinstance(caught.value.__cause__, ImportError)


TEXTS = [
    (KeyError("units"), "KeyError: 'units'"),
    (KeyError("of two words"), "KeyError: 'of two words'"),
    (FileNotFoundError("/a/b"), "FileNotFoundError: /a/b"),
    (FileNotFoundError(2, "No such file", "/a/b"), "[Errno 2] No such file: '/a/b'"),
    (ValueError(), "ValueError"),
    (ValueError("must be 3, got 4"), "must be 3, got 4"),
]


@pytest.mark.parametrize("error, text", TEXTS)
def test_a_text_without_words_names_its_class(error, text):
    assert errors.text_of(error) == text


class Lines:
    def __repr__(self):
        return "Adam (\n  lr: 0.1\n)"


def test_a_value_of_several_lines_is_shown_on_one():
    assert errors.brief(Lines()) == "Adam ( lr: 0.1 )"
    assert errors.brief("two\nlines") == r"'two\nlines'"


def test_one_thing_has_no_s():
    assert [errors.count_of(n, "round") for n in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
