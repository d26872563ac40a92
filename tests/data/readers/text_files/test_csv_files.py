"""CSV files: columns, lines, and errors. The rest is in test_sources.py."""

import numpy as np
import pytest

from sparkdl.data import Batch, Csv
from sparkdl.errors import ConfigError, DataError

TEXT = "name,a,b,label\ncat,1,2.5,0\ndog,3,4,1\nbird,5,6,2\n"


def read(source):
    return Batch.concat([batch for split in source.splits() for batch in source.read(split)])


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


WRONG = [
    ("a,label\n1,0\n2\n", "record 1: Expected 2 columns, got 1"),
    ("a,label\n1,0\n2,3,4\n", "record 1: Expected 2 columns, got 3"),
    ("a,label\n1,0\n2,1\ncat,1\n", "record 2: .*invalid value 'cat'"),
    ("a,label\n1,0\n,1\n", "record 1: column '0' must have a value, got null"),
]


@pytest.mark.parametrize("text, message", WRONG)
def test_a_line_that_cannot_be_used_is_named(tmp_path, text, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(DataError, match=rf"^{path}, lines of bytes 0 to {len(text)}.*{message}"):
        read(Csv(path))


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
