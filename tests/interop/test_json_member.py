"""JSON in foreign files: mappings within limits of bytes and values."""

import json

import pytest

from sparkdl.errors import DataError
from sparkdl.interop.json_member import parse_json


def test_a_vocabulary_is_read():
    about = {"vocabulary": [f"word {i}" for i in range(100_000)]}
    assert parse_json(json.dumps(about).encode(), "a.json") == about


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{" + b" " * (16 << 20) + b"}", "must have at most 16777216 bytes, got 16777218"),
        (b'{"a": [' + b"[]," * 600_000 + b"0]}", "must have at most 1048576 values, got about"),
        (b'{"a": ' + b"[" * 100_000, "must be JSON"),
        (b"\xff", "must be JSON"),
        (b"[]", "must be JSON"),
    ],
    ids=["long", "many lists", "deep", "no text", "no mapping"],
)
def test_others_are_refused(content, says):
    with pytest.raises(DataError, match=f"a.json: {says}"):
        parse_json(content, "a.json")
