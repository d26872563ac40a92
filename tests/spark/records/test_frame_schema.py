"""Problems visible in a DataFrame's schema are reported without a job."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from sparkdl.data.records.label import Label
from sparkdl.data.records.label_range import LabelRange
from sparkdl.data.records.schema import Schema
from sparkdl.errors import DataError
from sparkdl.spark.records.frame_schema import check_fields, class_names, vector_width

SCHEMA = Schema(features=(2,), labels={"labels": Label(kind="class", size=3)})
COLUMNS = {"features": "x", "labels": "y", "weights": "w"}
VECTOR, NAMED = VectorUDT(), {"numeric": [{"idx": 1, "name": "b"}, {"idx": 0, "name": "a"}]}
MASK = {"features": "mask"}


def attr(**noted):
    return {"ml_attr": noted}


def fields(x=VECTOR, y=DoubleType(), w=DoubleType(), x_attr=None, y_attr=None):  # noqa: B008
    parts = [StructField("x", x, True, x_attr), StructField("y", y, True, y_attr)]
    return StructType([*parts, StructField("w", w)])


SOUND = {
    "vectors": fields(),
    "vectors of that width": fields(x_attr=attr(attrs=NAMED)),
    "vectors of that length": fields(x_attr=attr(num_attrs=2)),
    "lists": fields(ArrayType(DoubleType())),
    "lists of lists": fields(ArrayType(ArrayType(IntegerType()))),
    "binary": fields(BinaryType()),
    "decimals": fields(w=DecimalType(10, 2)),
    "true or false": fields(y=BooleanType()),
    "fewer classes": fields(y_attr=attr(vals=["p", "q"])),
    "one-hot labels": fields(y=VECTOR),
    "vectors from ORC": fields(VECTOR.sqlType(), VECTOR.sqlType()),
    "vectors from JSON, all of them dense": fields(StructType(VECTOR.sqlType().fields[::3])),
}


@pytest.mark.parametrize("shape, widths", [((3,), {1, 2, 3}), ((3, 2), {2, 4, 6})])
def test_a_sequence_may_have_fewer_steps(shape, widths):
    """As the records may, which are padded; see `pad_sequences`."""
    whole = Schema(features=shape, labels=SCHEMA.outputs)
    for width in range(8):
        x = fields(x_attr=attr(num_attrs=width))
        for schema, allowed in ((whole, {max(widths)}), (replace(whole, masks=MASK), widths)):
            with nullcontext() if width in allowed else pytest.raises(DataError, match="numbers"):
                check_fields(x, COLUMNS, schema)


@pytest.mark.parametrize("case", SOUND)
def test_what_can_be_is_let_through(case):
    check_fields(SOUND[case], COLUMNS, SCHEMA)


BAD = {
    "a missing column": (
        StructType(fields().fields[:2]),
        "has no column 'w'; columns are ['x', 'y']",
    ),
    "features that are there twice": (
        StructType([*fields().fields, fields().fields[0]]),
        "column 'x' must be there once, got 2; rename or drop the others",
    ),
    "features that are texts": (
        fields(StringType()),
        "column 'x' must hold numbers, lists of numbers, vectors or binary, got string; "
        "StringIndexer and OneHotEncoder make vectors of categories, Tokenizer and HashingTF of "
        "words; F.col('x').cast('double') makes numbers of texts",
    ),
    "lists of texts": (fields(ArrayType(StringType())), "binary, got array<string>"),
    "features that are dates": (
        fields(DateType()),
        "binary, got date; F.unix_date('x') makes days of dates",
    ),
    "features that are times": (
        fields(TimestampType()),
        "binary, got timestamp; F.unix_date(F.to_date('x')) makes days of times, F.hour('x') hours",
    ),
    "features that are maps": (
        fields(MapType(StringType(), DoubleType())),
        "binary, got map<string,double>; F.col('x')['a key'] makes a column of the values",
    ),
    "features that are structs": (
        fields(StructType([StructField("a", DoubleType())])),
        "binary, got struct<a:double>; select('*', F.col('x')['a field']) makes a column of a",
    ),
    "one number": (
        fields(DoubleType()),
        "column 'x' must have 2 numbers, got one (double); VectorAssembler puts several",
    ),
    "another width": (
        fields(x_attr=attr(attrs={"numeric": [{"idx": i, "name": f"c{i}"} for i in range(6)]})),
        "column 'x' must have 2 numbers, got 6 (c0, c1, c2, c3, ...)",
    ),
    "another length": (fields(x_attr=attr(num_attrs=3)), "must have 2 numbers, got 3"),
    "labels that are texts": (
        fields(y=StringType()),
        "column 'y' must hold numbers, got string; index it first: "
        "StringIndexer(inputCol='y', outputCol='y_index'), then label='y_index', of a stage "
        "labelCol='y_index'",
    ),
    "labels that are dates": (
        fields(y=DateType()),
        "column 'y' must hold numbers, got date; F.unix_date('y') makes days",
    ),
    "more classes": (
        fields(y_attr=attr(vals=["p", "q", "r", "s", "t"])),
        "must have at most 3 classes, got 5: ['p', 'q', 'r', 's']...; Output(units=5) has one",
    ),
    "weights that are lists": (
        fields(w=ArrayType(DoubleType())),
        "column 'w' must hold a number a record, got array<double>",
    ),
    "weights that are texts": (
        fields(w=StringType()),
        "column 'w' must hold a number a record, got string; F.col('w').cast('double') makes num",
    ),
    "weights that are dates": (
        fields(w=DateType()),
        "column 'w' must hold a number a record, got date; F.unix_date('w') makes days of dates",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_by_name(case):
    schema, message = BAD[case]
    with pytest.raises(DataError) as caught:
        check_fields(schema, COLUMNS, SCHEMA)
    assert str(caught.value).startswith("the DataFrame: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


SHARES = LabelRange("sigmoid_cross_entropy", 0, 1)
LABELS_OF_TEXTS = {
    "classes": (SCHEMA.outputs["labels"], "StringIndexer"),
    "values": (
        Label(kind="values", shape=(1,)),
        "F.col('y').cast('double') makes numbers of texts",
    ),
    "yes or no": (Label(kind="values", shape=(1,), ranges=(SHARES,)), "StringIndexer"),
    "one-hot classes": (Label(kind="values", shape=(3,), one_hot=True), "StringIndexer"),
}


@pytest.mark.parametrize("case", LABELS_OF_TEXTS)
def test_labels_of_texts_become_classes_or_numbers(case):
    label, cure = LABELS_OF_TEXTS[case]
    schema = Schema(features=(2,), labels={"labels": label})
    with pytest.raises(DataError, match="'y' must hold numbers, got string; ") as caught:
        check_fields(fields(y=StringType()), COLUMNS, schema)
    assert cure in str(caught.value)


IDS = Schema(features={"x": (2,), "z": (1,)}, ids=frozenset({"x"}))
OF_IDS = {
    "integers": (ArrayType(IntegerType()), None),
    "short integers": (ArrayType(ShortType()), None),
    "bytes": (BinaryType(), None),
    "text": (StringType(), "got string; F.xxhash64('x').bitwiseAND(2**63 - 1) makes ids"),
    "texts": (
        ArrayType(StringType()),
        "F.transform('x', lambda text: F.xxhash64(text).bitwiseAND(2**63 - 1)) makes ids",
    ),
    "floats": (ArrayType(DoubleType()), "got array<double>; F.col('x').cast('array<long>') makes"),
    "a float": (
        DoubleType(),
        "lists of them, as they are ids, got double; F.col('x').cast('long')",
    ),
    "a decimal": (DecimalType(10, 0), "got decimal(10,0); F.col('x').cast('long')"),
    "true or false": (BooleanType(), "got boolean; F.col('x').cast('long')"),
    "vectors": (VECTOR, "got vector; vector_to_array(F.col('x')).cast('array<long>')"),
    "too few": (IntegerType(), "must have 2 numbers, got one (int); F.array puts several columns"),
    "a date": (DateType(), "got date; F.unix_date('x') makes ids of dates"),
}


@pytest.mark.parametrize("case", OF_IDS)
def test_ids_are_integers(case):
    kind, message = OF_IDS[case]
    schema = StructType([StructField("x", kind), StructField("z", DoubleType())])
    if message is None:
        return check_fields(schema, {"x": "x", "z": "z"}, IDS)
    with pytest.raises(DataError) as caught:
        check_fields(schema, {"x": "x", "z": "z"}, IDS)
    assert message in str(caught.value)


def test_a_free_size_is_not_asked_about():
    free = Schema(features=(3, None, None))
    check_fields(fields(DoubleType()), {"features": "x"}, free)


def test_names_and_widths_are_those_that_pyspark_notes():
    field = fields(x_attr=attr(attrs=NAMED), y_attr=attr(vals=["p", "q"]))
    assert vector_width(field["x"]) == 2
    assert class_names(field["y"]) == ("p", "q")
    assert (vector_width(field["w"]), class_names(field["w"])) == (None, None)
