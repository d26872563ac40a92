"""Runs `python -m tests.exchange.fuzz` for a few seconds instead of ten minutes."""

import random

import pytest

from tests.exchange import fuzz
from tests.exchange.mutation import CHANGES, json_mutated, mutated
from tests.support.fuzzing import drawn_seed


@pytest.mark.slow
def test_hostile_bytes_do_no_harm():
    counts = fuzz.run(seconds=4, seed=drawn_seed())
    fuzz.endpoint().close()
    fuzz.endpoint.cache_clear()
    assert min(counts.values()) >= 20


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_something(change):
    changed = 0
    for seed in range(20):
        data = bytearray(b"some bytes of some length")
        change(data, random.Random(seed))
        changed += data != b"some bytes of some length"
    assert changed > 10


def test_a_case_can_be_repeated():
    once, again = (mutated(b"12345678", random.Random("x")) for _ in range(2))
    assert once == again


def test_one_value_of_a_json_text_changes():
    text = b'{"a": [0, {"b": "c"}]}'
    found = {json_mutated(text, random.Random(seed)) for seed in range(200)}
    assert {b'{"a": {}}', b'{"a": [0, -1]}', b'{"a": [0, {"b": null}]}'} <= found
    assert not any(json_mutated(other, random.Random(0)) for other in (b"[", b"3", b"\xff", b"[]"))
