"""CSV files: columns, lines, and errors. The rest is in test_source.py."""

import csv
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from sparkdl.data import Csv
from sparkdl.data.readers.text_files.csv_lines import first_line
from sparkdl.errors import ConfigError, DataError
from tests.data.sources import read

TEXT = "name,a,b,label\ncat,1,2.5,0\ndog,3,4,1\nbird,5,6,2\n"


def write(path, text=TEXT):
    path.write_bytes(text.encode())
    return str(path)


CHOICES = [
    ({"features": ["b", "a"]}, [[2.5, 1], [4, 3], [6, 5]], [0, 1, 2]),
    ({"features": [1, "b"], "label": -1}, [[1, 2.5], [3, 4], [5, 6]], [0, 1, 2]),
    ({"features": ["a"], "label": "b"}, [[1], [3], [5]], [2.5, 4, 6]),
]


@pytest.mark.parametrize("size", [None, 1, 5, 17])
@pytest.mark.parametrize("options, x, y", CHOICES)
def test_columns_by_name_and_position(tmp_path, options, x, y, size):
    batch = read(Csv(write(tmp_path / "a.csv"), bytes_per_split=size, **options))
    np.testing.assert_array_equal(batch.features, x)
    np.testing.assert_array_equal(batch.labels, y)


def test_columns_of_one_name_go_by_position(tmp_path):
    path = write(tmp_path / "a.csv", "label,a,a,label\n0,5,6,7\n1,8,9,10\n")
    batch = read(Csv(path, features=[2, 1], label=0))
    np.testing.assert_array_equal(batch.features, [[6, 5], [9, 8]])
    np.testing.assert_array_equal(batch.labels, [0, 1])


FORMS = {
    "no last break": TEXT.rstrip("\n"),
    "windows": TEXT.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + TEXT,
    "quotes": TEXT.replace("cat", '"a, ""cat"""').replace("2.5", '"2.5"'),
    "empty lines": TEXT.replace("\n", "\n\n") + "\n\n",
    "spaces": TEXT.replace("1,2.5,", " 1, 2.5 ,"),
}


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_text(tmp_path, form, size):
    path = write(tmp_path / "a.csv", FORMS[form])
    batch = read(Csv(path, features=["a", "b"], bytes_per_split=size))
    np.testing.assert_array_equal(batch.features, [[1, 2.5], [3, 4], [5, 6]])
    np.testing.assert_array_equal(batch.labels, [0, 1, 2])


@pytest.mark.parametrize("size", [None, 1, 4])
def test_no_header_and_no_labels(tmp_path, size):
    source = Csv(
        write(tmp_path / "a.csv", "1;2\n3;4\n"),
        label=None,
        header=False,
        delimiter=";",
        bytes_per_split=size,
    )
    batch = read(source)
    assert list(batch.columns) == ["features"]
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])


def test_files_may_have_their_columns_in_another_order(tmp_path):
    write(tmp_path / "a.csv", "a,label,b\n1,0,2\n")
    write(tmp_path / "b.csv", "label,b,a\n1,4,3\n")
    batch = read(Csv(str(tmp_path), features=["a", "b"]))
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(batch.labels, [0, 1])


@pytest.mark.parametrize("label", ["label", 1])
def test_without_features_the_first_file_says_their_order(tmp_path, label):
    write(tmp_path / "a.csv", "a,label,b\n1,0,2\n")
    write(tmp_path / "b.csv", "b,label,a\n4,1,3\n")
    write(tmp_path / "c.csv", "")
    batch = read(Csv(str(tmp_path), label=label))
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(batch.labels, [0, 1])


def test_without_a_header_columns_go_by_position(tmp_path):
    write(tmp_path / "a.csv", "1,2,0\n")
    write(tmp_path / "b.csv", "3,4,1\n")
    batch = read(Csv(str(tmp_path), header=False, label=-1))
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])


OTHERS = [
    ("a,b,label", "x,b,label", "column 'a' occurs 0 times, not 1"),
    ("a,b,label", "a,label", "column 'b' occurs 0 times, not 1"),
    ("a,b,label", "b,a,c,label", "column 'c' occurs 1 times, not 0"),
    ("a,b,label", "b,a,a,label", "column 'a' occurs 2 times, not 1"),
    ("a,a,b,label", "a,b,a,label", "column 'a' occurs 2 times, in another order"),
]


@pytest.mark.parametrize("first, other, message", OTHERS)
def test_without_features_files_of_other_columns_are_named(tmp_path, first, other, message):
    write(tmp_path / "a.csv", f"{first}\n" + "1,2,3,4"[: 2 * first.count(",") + 1])
    path = write(tmp_path / "b.csv", f"{other}\n" + "1,2,3,4"[: 2 * other.count(",") + 1])
    start = f"^{path}: must have the columns of features of {tmp_path}/a.csv, but {message}; Csv"
    with pytest.raises(DataError, match=start):
        Csv(str(tmp_path)).splits()
    assert len(Csv(str(tmp_path), features=[0], label=-1).splits()) == 2


def test_long_lines_fit(tmp_path):
    line = f'0.5,"{"x" * 1_200_000}",1\n'  # pyarrow's default blocks have 1 MiB
    limit = csv.field_size_limit()
    batch = read(Csv(write(tmp_path / "a.csv", line * 3), features=[0], label=-1, header=False))
    np.testing.assert_array_equal(batch.features, [[0.5]] * 3)
    assert csv.field_size_limit() == limit


@pytest.mark.slow
def test_long_lines_fit_in_threads(tmp_path):
    path = write(tmp_path / "a.csv", "x" * 200_000)
    limit = csv.field_size_limit()
    with ThreadPoolExecutor(8) as pool:
        assert {len(line[0]) for line in pool.map(first_line, [path] * 200, "," * 200)} == {200_000}
    assert csv.field_size_limit() == limit


FIRST_LINES = [
    ("a,label\r1,0\r2,1\r", {}, r"lines must end in \\n or \\r\\n, but end in \\r$"),
    ("1,0\r2,1\r", {"header": False, "label": -1}, r"lines must end in"),
    ("label\n1\n", {}, "must have columns of features beside the label, but has none"),
    ("a,b,label\n1,2,0\n", {"features": ["a", 0]}, "'a' and 0 are the same column"),
    ("a,b,label\n1,2,0\n", {"features": [1, 0, -2]}, "1 and -2 are the same column"),
    ("label,a,label\n0,5,0\n", {}, "has 2 columns 'label'; rename all but one, or give a position"),
    ("a,a,label\n1,2,0\n", {"features": ["a"]}, "has 2 columns 'a'; rename all but one, or give"),
]


@pytest.mark.parametrize("text, options, message", FIRST_LINES)
def test_a_first_line_that_does_not_fit_is_named(tmp_path, text, options, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(DataError, match=f"^{path}: .*{message}"):
        Csv(path, **options).splits()


@pytest.mark.parametrize("kind", ["gzip", "bz2", "zstd"])
def test_a_compressed_file_is_named(tmp_path, kind):
    text = "".join(f"{i},{i % 7}\n" for i in range(1000))
    with pa.output_stream(tmp_path / "a.csv", compression=kind) as file:
        file.write(text.encode())
    with pytest.raises(DataError, match=f"a.csv: must be text, but is compressed by {kind[:2]}"):
        Csv(str(tmp_path / "a.csv"), header=False, label=-1).splits()


WRONG = [
    ("a,label\n1,0\n2\n", {}, ": .*record 1: Expected 2 columns, got 1"),
    ("a,label\n1,0\n2,3,4\n", {}, ": .*record 1: Expected 2 columns, got 3"),
    ("a,label\n1,0\n2,1\ncat,1\n", {}, ": record 2: column 'a': .*invalid value 'cat'"),
    ("a,label\n1,0\n2,true\n", {}, ": .* 'label': .* 'true'; .*spark.read.csv.* booleans count"),
    ("a,label\nFalse,0\n", {}, ": record 0: column 'a': .*invalid value 'False'; write numbers"),
    ("a,label\n1,0\n,1\n", {}, ", record 1: column 'a' must have a value, got null"),
    ("b,label,a\n1,0,2\n1,,3\n", {}, ", record 1: column 'label' must have a value, got null"),
    ('"b ""c""",label\ncat,0\n', {}, ": record 0: column 'b \"c\"': .*invalid value 'cat'"),
    ("a,a,label\n1,cat,0\n", {}, ": record 0: column 1: .*invalid value 'cat'"),
    (",label\n1,0\n,1\n", {}, ", record 1: column 0 must have a value, got null"),
    ("1,0\n,1\n", {"header": False, "label": -1}, ", record 1: column 0 must have a value"),
]


@pytest.mark.parametrize("text, options, message", WRONG)
def test_a_line_that_cannot_be_used_is_named(tmp_path, text, options, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(DataError, match=rf"^{path}, lines of bytes 0 to {len(text)}{message}"):
        read(Csv(path, **options))


def test_a_missing_column_gets_its_nearest(tmp_path):
    with pytest.raises(DataError, match="has no column 4; there are 4"):
        Csv(write(tmp_path / "a.csv"), label=4).splits()
    with pytest.raises(DataError, match="has no column 'lable'; .*did you mean 'label'"):
        Csv(write(tmp_path / "a.csv"), label="lable").splits()


REFUSED = [
    ({"features": []}, "Csv.features must be a sequence of one or more .* or None, got"),
    ({"features": ["a", "a"]}, "Csv.features must be different columns"),
    ({"delimiter": ",,"}, "Csv.delimiter must be one character"),
    ({"header": False}, "Csv.header must be true where columns go by names"),
    ({"bytes_per_split": 0}, "Csv.bytes_per_split must be an integer >= 1"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Csv("a", **options)
