"""Errors of HDFS in one line."""

import pytest

from sparkdl.data.hadoop.streams import reason

REASONS = [
    (OSError("no DataNode left\n\tat java"), "no DataNode left"),
    (FileNotFoundError("/a/b"), "FileNotFoundError: /a/b"),
    (KeyError("FileStatus"), "KeyError: 'FileStatus'"),
    (TimeoutError(), "TimeoutError"),
    (OSError("TimeoutError"), "TimeoutError"),
    (OSError(), "OSError"),
]


@pytest.mark.parametrize("error, text", REASONS)
def test_a_reason_without_words_names_its_class(error, text):
    assert reason(error) == text
