"""Checks of Avro schemas, as fastavro decodes in C as deeply and as long as a schema demands.

A recursive record would crash it, and an array of items without bytes would never end.
"""

import numpy as np

from sparkdl.data.batches.columns import Violation

DEEPEST, MOST_TYPES = 64, 10_000  # nesting of types; number of types, counting each use
PRIMITIVES = dict.fromkeys(("int", "long", "float", "double", "bytes", "string", "boolean"), 1)
PRIMITIVES["null"] = 0
WIDE = {"double", "int", "long"}  # not all of their values fit into float32


def check_schema(schema):
    """Raises Violation for a schema, as from fastavro.parse_schema, that is unsafe to decode."""
    width, _ = SchemaWalk().measure(schema, 0)
    if not width:
        raise Violation(0, "must have records of at least one byte each")


def float_type(schema):
    """Returns the dtype for a field's numbers if they are not all whole.

    It is float32 if the field has only Avro's floats, else float64.
    """
    return np.float64 if WIDE.intersection(leaf_types(schema)) else np.float32


def leaf_types(schema):
    """Yields the names of the primitive types in a type, through unions and arrays."""
    if isinstance(schema, str):
        yield schema
    elif isinstance(schema, list):
        for one in schema:
            yield from leaf_types(one)
    else:
        yield from leaf_types(schema["items" if schema["type"] == "array" else "type"])


class SchemaWalk:
    """A walk through a schema that measures each type: its least bytes, and its number of types."""

    def __init__(self):
        self.named = {}  # measures by name; None: the type is being defined

    def measure(self, schema, depth):
        """Returns (least bytes of a value, number of types)."""
        if depth > DEEPEST:
            raise Violation(0, f"must nest types at most {DEEPEST} deep")
        if isinstance(schema, list):
            return 1, self._count(self._inner(schema, depth))
        if isinstance(schema, str):
            return self._reference(schema)
        kind, name = schema["type"], schema.get("name")
        if name is None or isinstance(kind, (dict, list)):
            return self._unnamed(kind, schema, depth)
        self.named[name] = None
        self.named[name] = self._named(kind, schema, depth)
        return self.named[name]

    def _reference(self, name):
        if name in PRIMITIVES:
            return PRIMITIVES[name], 1
        measured = self.named.get(name)
        if measured is None:
            raise Violation(0, f"must have a schema without recursive types, got {name}")
        return measured

    def _unnamed(self, kind, schema, depth):
        if kind == "array":
            width, types = self.measure(schema["items"], depth + 1)
            if not width:
                raise Violation(0, "must have arrays whose items take at least one byte")
            return 1, types + 1
        if kind == "map":
            return 1, self._count([self.measure(schema["values"], depth + 1)])
        return self.measure(kind, depth + 1)

    def _named(self, kind, schema, depth):
        if kind in ("record", "error"):
            fields = self._inner([field["type"] for field in schema["fields"]], depth)
            return sum(width for width, _ in fields), self._count(fields)
        return (schema["size"] if kind == "fixed" else 1), 1

    def _inner(self, schemas, depth):
        return [self.measure(one, depth + 1) for one in schemas]

    @staticmethod
    def _count(measured):
        types = 1 + sum(one for _, one in measured)
        if types > MOST_TYPES:
            raise Violation(0, f"must have at most {MOST_TYPES} types")
        return types
