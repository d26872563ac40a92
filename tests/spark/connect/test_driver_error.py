"""Errors of a fit's driver reach the client unchanged, for any class that the client knows."""

import json

import pytest

from sparkdl.errors import ConfigError, PeerError, WorkerError
from sparkdl.spark.connect.driver_error import driver_error_from_json, driver_error_to_json


class Impatient(RuntimeError):
    """An error whose constructor takes more arguments than it passes to its base."""

    def __init__(self, what, epoch):
        super().__init__(f"{what} in epoch {epoch}")
        self.epoch = epoch


class Spoken(LookupError):
    """An error that defines __str__."""

    def __init__(self, word):
        self.word = word

    def __str__(self):
        return f"no {self.word!r}"


class Fussy(ConfigError):
    """A subclass of one of our errors."""


class Mute(Exception):
    """An error whose text depends on attributes that are not sent."""

    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def __str__(self):
        return " ".join(self.parts)


def local(base):
    """Returns an error of a local class, which cannot be imported by name."""

    class Local(base):
        pass

    return Local("a", 3)


SAME = {
    "of Python": ValueError("no epoch"),
    "several values": ValueError("no", 3, None),
    "a key": KeyError("loss"),
    "of the system": OSError(28, "No space left on device"),
    "of the system, with a file": FileNotFoundError(2, "No such file", "/x"),
    "without a text": StopIteration(),
    "no class of its own": Exception("bare"),
    "of a user": Impatient("tired", 3),
    "with its own text": Spoken("loss"),
    "below one of ours": Fussy("no"),
    "of ours": PeerError(3, "left", "gone"),
}
OTHERS = {
    "a class below ValueError": (local(ValueError), ValueError, "Local: ('a', 3)"),
    "a class below KeyError": (local(KeyError), KeyError, "Local: ('a', 3)"),
    "a class below one of ours": (local(ConfigError), ConfigError, "('a', 3)"),
    "a class below Exception": (local(Exception), WorkerError, "Local: ('a', 3)"),
    "what its text is made of": (Mute(["a", "b"]), WorkerError, "Mute: a b"),
}


def travelled(error):
    return driver_error_from_json(json.loads(json.dumps(driver_error_to_json(error))))


@pytest.mark.parametrize("case", SAME)
def test_an_error_is_of_its_class_again(case):
    error = SAME[case]
    error.add_note("a note")
    again = travelled(error)
    assert type(again) is type(error)
    assert (str(again), again.args) == (str(error), error.args)
    assert again.__notes__[-1] == "a note"
    own = {name: value for name, value in vars(error).items() if name != "__notes__"}
    assert {name: vars(again)[name] for name in own} == own


@pytest.mark.parametrize("case", OTHERS)
def test_of_a_class_that_is_not_known_it_is_of_the_nearest_and_names_it(case):
    error, kind, text = OTHERS[case]
    again = travelled(error)
    assert type(again) is kind and text in str(again)


def test_no_module_is_imported_and_nothing_else_is_made():
    meta = driver_error_to_json(ValueError("text"))
    for names in (
        ["this", "s"],
        ["builtins", "eval"],
        ["builtins", "SystemExit"],
        ["os", "path.join"],
    ):
        again = driver_error_from_json(meta | {"classes": [names, ["builtins", "ValueError"]]})
        assert type(again) is ValueError and str(again) == "ValueError: text"
