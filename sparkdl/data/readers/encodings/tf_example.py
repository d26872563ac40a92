"""Parser of TensorFlow's Example message: named lists of bytes, floats or integers.

References
----------
tensorflow/core/example/example.proto; its map is encoded as repeated pairs.
"""

import numpy as np
from google.protobuf import message

from sparkdl.config import suggestion
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.protobuf_messages import messages

MESSAGES = messages(
    "sparkdl.example",
    {
        "Example": [("features", 1, "Features")],
        "Features": [("feature", 1, "Entry*")],
        "Entry": [("key", 1, "string"), ("value", 2, "Feature")],
        "Feature": [
            ("bytes_list", 1, "BytesList"),
            ("float_list", 2, "FloatList"),
            ("int64_list", 3, "Int64List"),
        ],
        "BytesList": [("value", 1, "bytes*")],
        "FloatList": [("value", 1, "float*")],
        "Int64List": [("value", 1, "int64*")],
    },
)
Example = MESSAGES["Example"]


def parse(content, row):
    """Parses a serialized Example into {name: Feature}. Raises Violation."""
    try:
        example = Example.FromString(bytes(content))
    except message.DecodeError:
        raise Violation(row, f"must be an Example, got {bytes(content[:16])!r}") from None
    entries = {entry.key: entry.value for entry in example.features.feature}
    if not all(isinstance(key, str) for key in entries):  # upb gives invalid UTF-8 as bytes
        raise Violation(row, f"must have features with names, got {[*entries]!r:.80}")
    return entries


def feature(features, name, row):
    """Returns the Feature of a name. Raises Violation, which suggests the nearest name."""
    if name not in features:
        hint = suggestion(name, features, "")
        raise Violation(row, f"has no feature {name!r}; features are {sorted(features)}{hint}")
    return features[name]


def numbers(feature, name, row):
    """Returns a feature's numbers: float32 or int64 (k,), or uint8 of a single byte string."""
    if feature.HasField("bytes_list"):
        return np.frombuffer(one_string(feature, name, row), np.uint8)
    if feature.HasField("float_list"):
        return np.array(feature.float_list.value, np.float32)
    return np.array(feature.int64_list.value, np.int64)


def one_string(feature, name, row):
    """Returns the bytes of a feature with a single byte string. Raises Violation."""
    values = feature.bytes_list.value
    if len(values) != 1:
        raise Violation(row, f"feature {name!r} must be one string of bytes, got {len(values)}")
    return values[0]
