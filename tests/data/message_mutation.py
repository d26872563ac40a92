"""Mutates protocol buffer messages field by field, so that they stay messages of their kind."""

from contextlib import suppress

from google.protobuf.message import DecodeError

NUMBERS = [0, 1, -1, 2, 3, 7, -2, 1000, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1]
FLOATS = [0.0, 1.0, -1.0, 1e38, 1e-40, float("nan"), float("inf")]
TEXTS, CONTENTS = ["", "x"], [b"", b"x", b"\xff" * 16, bytes(64)]


def message_mutated(data, kind, rng):
    """Returns a message of this class with one field changed; None for other bytes."""
    message = kind()
    with suppress(DecodeError):
        message.ParseFromString(data)
        places = list(fields_in(message))
        if places:
            holder, name = rng.choice(places)
            with suppress(ValueError, TypeError):  # a number beyond the field's type
                change(holder, name, places, rng)
            return message.SerializeToString()
    return None


def fields_in(message):
    """Yields (message, name) of each field that is set, in messages within it, too."""
    for field, value in message.ListFields():
        yield message, field.name
        if field.message_type is not None:
            for one in value if hasattr(value, "append") else [value]:
                yield from fields_in(one)


def change(holder, name, places, rng):
    """Sets, drops, repeats or adds to a field."""
    value = getattr(holder, name)
    if not hasattr(value, "append"):
        if hasattr(value, "ListFields"):
            holder.ClearField(name)
        else:
            setattr(holder, name, other_value(value, places, rng))
    elif rng.random() < 0.3:
        del value[rng.randrange(len(value))]
    elif hasattr(value[0], "ListFields"):
        value.add().CopyFrom(rng.choice(value))
    elif rng.random() < 0.3:
        value.append(other_value(value[0], places, rng))
    else:
        value[rng.randrange(len(value))] = other_value(value[0], places, rng)


def other_value(value, places, rng):
    """Returns an extreme value of the type, or another text of the message."""
    if isinstance(value, str):
        holder, name = rng.choice(places)
        other = getattr(holder, name)
        return other if isinstance(other, str) else rng.choice(TEXTS)
    if isinstance(value, bytes):
        return rng.choice(CONTENTS)
    return rng.choice(FLOATS if isinstance(value, float) else NUMBERS)
