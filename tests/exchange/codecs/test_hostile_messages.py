"""Codecs refuse messages that are truncated, from another codec, or random bytes."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.errors import DataError
from sparkdl.exchange.codecs import Half, OneBit, Threshold, TopK, TwoBit
from tests.exchange.codecs.test_base import EXAMPLES, every_codec, vector


@every_codec
def test_a_message_cut_short_or_too_long_is_refused_before_anything_is_written(codec):
    n = 37
    message = bytes(codec.coder(n).encode(vector(n)))
    whole = 4 if isinstance(codec, Threshold) else 8  # a shorter list is valid, too
    lists = isinstance(codec, TopK | Threshold)
    for length in range(len(message)):
        if not (lists and length >= 8 and (length - 8) % whole == 0):
            refused(codec, message[:length], n)
    refused(codec, message + b"\0", n)


def refused(codec, message, n):
    out = np.full(n, 7, np.float32)
    with pytest.raises(DataError, match=f"a message of {type(codec).__name__} needs"):
        codec.decode(message, out)
    assert (out == 7).all()


@every_codec
def test_a_message_of_another_codec_or_length_is_refused(codec):
    message = bytes(codec.coder(64).encode(vector(64)))
    refused(codec, message, 65)
    refused(codec, b"????" + message[4:], 64)
    others = [other for other in EXAMPLES if other.mark != codec.mark]
    for other in others:
        refused(codec, bytes(other.coder(64).encode(vector(64))), 64)


NAN, INF = struct.pack("<f", np.nan), struct.pack("<f", np.inf)
HOSTILE = {
    "half that is infinite": (Half(), 1, b"\x00\x7c"),
    "half that is NaN": (Half(), 1, b"\xff\xff"),
    "bfloat16 that is infinite": (Half("bfloat16"), 1, b"\x80\x7f"),
    "level that is NaN": (OneBit(), 1, NAN + bytes(5)),
    "level that is infinite": (OneBit(), 1, bytes(4) + INF + b"\1"),
    "bit after the last": (OneBit(), 3, bytes(8) + b"\x08"),
    "code 01": (TwoBit(), 4, struct.pack("<f", 0.5) + b"\x40"),
    "code after the last": (TwoBit(), 3, struct.pack("<f", 0.5) + b"\x03"),
    "another threshold": (TwoBit(), 4, struct.pack("<f", 0.25) + b"\0"),
    "threshold 0": (Threshold(), 100, struct.pack("<If", 0, 0)),
    "threshold below 0": (Threshold(), 100, struct.pack("<If", 0, -1)),
    "threshold NaN": (Threshold(), 100, bytes(4) + NAN),
    "threshold infinite": (Threshold(), 100, bytes(4) + INF),
    "form 2": (Threshold(), 100, struct.pack("<If", 2, 1)),
    "place too large": (Threshold(), 100, struct.pack("<IfI", 0, 1, 200)),
    "places that fall": (Threshold(), 100, struct.pack("<IfII", 0, 1, 4, 2)),
    "a place up and down": (Threshold(), 100, struct.pack("<IfII", 0, 1, 4, 5)),
    "half a place": (Threshold(), 100, struct.pack("<IfH", 0, 1, 4)),
    "codes too few": (Threshold(), 100, struct.pack("<If", 1, 1) + bytes(24)),
    "code past the last": (Threshold(), 3, struct.pack("<If", 1, 1) + b"\1"),
    "top place too large": (TopK(), 100, struct.pack("<If", 100, 1)),
    "top places that fall": (TopK(), 100, struct.pack("<IIff", 5, 4, 1, 1)),
    "top place twice": (TopK(), 100, struct.pack("<IIff", 5, 5, 1, 1)),
    "top number NaN": (TopK(), 100, bytes(4) + NAN),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_message_is_refused(name):
    codec, n, body = HOSTILE[name]
    refused(codec, codec.mark + struct.pack("<I", n) + body, n)


@pytest.mark.slow
@every_codec
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_bytes_are_refused_or_give_finite_numbers(codec, data):
    n = data.draw(st.integers(0, 40))
    head = codec.mark + struct.pack("<I", n)
    body = bytearray(codec.coder(n).encode(vector(n)))[8:]
    if body and data.draw(st.booleans()):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    else:
        body = data.draw(st.binary(max_size=80))
    out = np.full(n, 7, np.float32)
    try:
        codec.decode(head + bytes(body), out)
    except DataError:
        assert (out == 7).all()
    else:
        assert np.isfinite(out).all()
