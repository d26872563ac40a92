"""Files on HDFS behave like local files, over either protocol and as WebHDFS sees them.

Expected contents are written and read by the fixture, which shares no code with sparkdl.
"""

import io

import pyarrow.parquet
import pytest

from sparkdl.data import files
from sparkdl.data.file_facts import describe
from sparkdl.errors import DataError

ODD = "a b%20#?&ä+;.txt"
BIG = bytes(range(256)) * 25_000  # 6.4 MB: larger than the buffers of both protocols


def inner(uri):
    """The path without the cluster's URI."""
    return f"/{uri.rpartition('/')[2]}"


def test_what_is_written_is_there(root, as_user):
    files.remove(root)
    for content in (b"", b"some", BIG):
        files.write(f"{root}/below/file", content)
        assert as_user.read(f"{inner(root)}/below/file") == content
        with files.open(f"{root}/below/file") as file:
            assert file.read() == content
    assert files.list(f"{root}/below") == ["file"]
    assert files.size(f"{root}/below/file") == len(BIG)
    assert files.is_directory(f"{root}/below")
    assert not files.is_local(root)


def test_reads_may_go_anywhere(root, as_user):
    as_user.write(f"{inner(root)}/file", BIG, blocksize=2**20)
    with files.open(f"{root}/file") as file, io.BytesIO(BIG) as expected:
        for offset, whence, count in [(-5, 2, 9), (3, 0, 2**22 + 7), (-3, 1, 4), (0, 0, -1)]:
            assert file.seek(offset, whence) == expected.seek(offset, whence)
            assert file.read(count) == expected.read(count)
            assert file.tell() == expected.tell()


def test_names_and_texts_come_through(root, as_user):
    files.remove(root)
    with files.open(f"{root}/{ODD}/{ODD}", "w") as file:
        file.write("häll\no")
    assert as_user.names(inner(root)) == [ODD]
    assert files.tree(root) == [f"{root}/{ODD}/{ODD}"]
    with files.open(f"{root}/{ODD}/{ODD}", "r") as file:
        assert list(file) == ["häll\n", "o"]


def test_a_changed_file_has_another_stamp(root, as_user):
    as_user.write(f"{inner(root)}/file", b"one")
    before = describe(f"{root}/file")
    as_user.write(f"{inner(root)}/file", b"two")
    after = describe(f"{root}/file")
    assert before.size == after.size == 3
    assert before.stamp != after.stamp


def test_a_folder_is_replaced_whole(root, as_user):
    for name in ("old", "new"):
        with files.atomic_directory(f"{root}/model") as beside:
            files.write(f"{beside}/{name}", b"x")
    assert as_user.names(inner(root)) == ["model"]
    assert files.list(f"{root}/model") == ["new"]
    with pytest.raises(KeyboardInterrupt), files.atomic_directory(f"{root}/model") as beside:
        files.write(f"{beside}/newer", b"x")
        raise KeyboardInterrupt
    assert as_user.names(f"{inner(root)}/model") == ["new"]
    files.remove(f"{root}/model")
    files.remove(f"{root}/model")
    assert as_user.names(inner(root)) == []


MISSING = [
    (files.open, "there is no such file or folder"),
    (files.size, "there is no such file or folder"),
    (files.list, "there is no such folder"),
]


@pytest.mark.parametrize("function, message", MISSING)
def test_what_is_missing_is_named(root, function, message):
    with pytest.raises(DataError, match=f"^{root}/none: {message}"):
        function(f"{root}/none")
    assert not files.exists(f"{root}/none")


def test_a_folder_is_no_file(root, as_user):
    as_user.write(f"{inner(root)}/folder/file", b"x")
    with pytest.raises(DataError, match=f"^{root}/folder: cannot be opened: .* is a directory"):
        files.open(f"{root}/folder")


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_safe_mode_is_named_and_leaves_what_was_there(as_user, scheme):
    path = f"{scheme}:/safe-{scheme}/file"
    files.write(path, b"old")
    as_user.safe_mode(True)
    try:
        with pytest.raises(DataError, match=f"^{path}: cannot be written: .* is in safe mode.$"):
            files.write(path, b"new")
        assert files.open(path).read() == b"old"
    finally:
        as_user.safe_mode(False)


def test_an_unreadable_block_is_named(as_user):
    as_user.write("/lost", b"x" * 5000)
    for file in as_user.block_files("/lost"):
        file.unlink()
    read = (io.BufferedReader.read, pyarrow.parquet.ParquetFile)
    for reading in read:
        with files.open("hdfs:/lost") as file:
            with pytest.raises(DataError, match="^hdfs:///lost: cannot be read from byte 0 on .*"):
                reading(file)
    files.remove("hdfs:/lost")


def test_a_dead_datanode_is_passed_over(as_user):
    as_user.write("/two", BIG, blocksize=2**20)
    with files.open("hdfs:/two") as file:
        assert file.read(10) == BIG[:10]
        as_user.kill_datanode(0)
        try:
            assert file.read() == BIG[10:]
        finally:
            as_user.restart_datanode(0)
