"""Files in an object store: what is moved, removed, listed and replaced, and what errors say."""

import pytest

from sparkdl.data import AvroFiles, Csv, Images, TFRecords, files, object_stores
from sparkdl.data.file_stamps import stamp_files
from sparkdl.data.readers.core.file_ranges import open_listed
from sparkdl.data.readers.tfrecords import RecordFile
from sparkdl.errors import CheckpointError, DataError
from sparkdl.training.saving.checkpoint import Checkpoints, CheckpointWriter
from sparkdl.training.saving.manifest import read_directory, refuse_to_destroy, write_directory
from tests.data.buckets import ClientError, install
from tests.training.reports import plan

ODD = ["a b", "ü", "100%", "a%20b", "x+y", "q?z", "h#h", "[x]", "st*r", "{a}", "do..ts"]


@pytest.fixture
def s3(monkeypatch):
    return install(monkeypatch)


def write_model(path, *names):
    with files.atomic_directory(path) as beside:
        for name in names:
            files.write(f"{beside}/{name}", name.encode())


def test_a_folder_appears_and_is_replaced(s3):
    write_model("s3://bucket/models/m", "a", "b/c")
    assert s3.objects == {"bucket/models/m/a": b"a", "bucket/models/m/b/c": b"b/c"}
    write_model("s3://bucket/models/m", "d")
    assert s3.objects == {"bucket/models/m/d": b"d"}
    files.move("s3://bucket/models", "s3://bucket/others")
    assert s3.objects == {"bucket/others/m/d": b"d"}
    with pytest.raises(DataError, match=r"s3://bucket/models: there is no such file or folder"):
        files.move("s3://bucket/models", "s3://bucket/more")


def test_a_failed_copy_brings_the_old_folder_back(s3, monkeypatch):
    write_model("s3://bucket/m", "a")
    copy = s3.cp_file

    def refuse(fs, path1, path2, **options):
        if path2 == "bucket/m/b":
            raise ClientError("SlowDown")
        copy(fs, path1, path2, **options)

    monkeypatch.setattr(s3, "cp_file", refuse)
    with pytest.raises(
        DataError, match=r"^s3://bucket/m: cannot be written: ClientError: SlowDown$"
    ):
        write_model("s3://bucket/m", "b")
    assert s3.objects == {"bucket/m/a": b"a"}


OLD = {"a": b"1", "b": b"2", "c": b"3"}
PRESENT = {"nothing": None, "a model": OLD, "a model of the same files": {"a": b"1", "d": b"4"}}


@pytest.mark.parametrize("present", PRESENT.values(), ids=list(PRESENT))
def test_a_copy_that_fails_anywhere_changes_nothing(s3, monkeypatch, present):
    copy, new = s3.cp_file, {"a": b"5", "e": b"6", "d": b"7"}
    if present:
        write_directory("s3://bucket/m", present)
    before, copies, error = dict(s3.objects), [], ClientError("SlowDown")

    def fail_once(fs, path1, path2, **options):
        copies.append(path2)
        if len(copies) == failing:
            raise error
        copy(fs, path1, path2, **options)

    monkeypatch.setattr(s3, "cp_file", fail_once)
    number = len(before) + len(new) + 1  # those of the old one and of the new one, with a manifest
    for place in range(1, number + 1):
        failing = place
        copies.clear()
        with pytest.raises(DataError, match=r"^s3://bucket/m: cannot be \w+: ClientError: Slow"):
            write_directory("s3://bucket/m", new)
        assert s3.objects == before
    failing = 0
    write_directory("s3://bucket/m", new)
    assert dict(read_directory("s3://bucket/m", [*new])) == new
    assert len(s3.objects) == len(new) + 1


def test_a_deletion_that_fails_brings_the_old_model_back(s3, monkeypatch):
    write_directory("s3://bucket/m", OLD)
    before, delete, errors = dict(s3.objects), s3.rm_file, [ClientError("SlowDown")]

    def fail_once(fs, path):
        if ".m.new-" in path and errors:
            raise errors.pop()
        delete(fs, path)

    monkeypatch.setattr(s3, "rm_file", fail_once)
    with pytest.raises(DataError, match=r"^s3://bucket/m: cannot be written: ClientError: Slow"):
        write_directory("s3://bucket/m", {"a": b"5", "e": b"6"})
    at_target = {key: s3.objects[key] for key in s3.objects if key.startswith("bucket/m/")}
    assert at_target == before


def test_an_empty_bucket_that_a_client_does_not_find_is_there(s3, monkeypatch):
    """Older versions of s3fs look for objects, not for the bucket."""

    def info(fs, path, **options):
        raise FileNotFoundError(path)

    with monkeypatch.context() as patch:
        patch.setattr(s3, "info", info)
        object_stores.check_bucket("s3://bucket/m", s3(), "bucket/m")
        with pytest.raises(DataError, match="there is no bucket other"):
            object_stores.check_bucket("s3://other/m", s3(), "other/m")


def test_a_failed_move_keeps_what_was_at_its_target(s3, monkeypatch):
    before = {"bucket/m/a": b"1", "bucket/m/c": b"2", "bucket/t/a": b"0", "bucket/t/x": b"3"}
    s3.objects.update(before)
    copy = s3.cp_file

    def refuse(fs, path1, path2, **options):
        if path1 == "bucket/m/c":
            fs.error = ClientError("SlowDown")  # nothing can be listed or deleted either
        copy(fs, path1, path2, **options)

    monkeypatch.setattr(s3, "cp_file", refuse)
    with pytest.raises(DataError, match="cannot be moved: ClientError: SlowDown$"):
        files.move("s3://bucket/m", "s3://bucket/t")
    assert s3.objects == {**before, "bucket/t/a": b"1"}


def test_a_client_may_raise_an_error_for_no_keys(s3, monkeypatch):
    find = s3.find

    def refuse(fs, path, **options):
        found = find(fs, path, **options)
        if not found:
            raise FileNotFoundError(path)
        return found

    monkeypatch.setattr(s3, "find", refuse)
    write_model("s3://bucket/m", "a")
    assert s3.objects == {"bucket/m/a": b"a"}


@pytest.mark.parametrize("name", ODD)
def test_names_are_literal(s3, name):
    others = [other for other in ["x", "qaz", "star", "a", *ODD] if other != name]
    for other in others:
        files.write(f"s3://bucket/k/{other}", b"other")
    path = f"s3://bucket/k/{name}"
    files.write(path, b"first")
    files.write(path, b"second")
    assert files.read(path) == files.open(path).read() == b"second"
    assert files.size(path) == 6 and name in files.list("s3://bucket/k")
    with files.atomic_path(path) as beside, files.open(beside, "wb") as file:
        file.write(b"third")
    files.move(path, f"{path}.moved")
    files.move(f"{path}.moved", path)
    assert files.read(path) == b"third"
    write_model(f"s3://bucket/folders/{name}", "inner")
    write_model(f"s3://bucket/folders/{name}", "later")
    assert files.tree(f"s3://bucket/folders/{name}") == [f"s3://bucket/folders/{name}/later"]
    files.remove(f"s3://bucket/folders/{name}")
    files.remove(path)
    assert s3.objects == {f"bucket/k/{other}": b"other" for other in others}


def test_a_file_is_one_request(s3):
    """An object appears whole, so it needs no rename."""
    files.write("s3://bucket/deep/er/a", b"1")
    assert s3.calls == [("put", "bucket/deep/er/a")]
    with files.atomic_path("s3://bucket/deep/er/a") as beside, files.open(beside, "wb") as file:
        file.write(b"2")
    assert ("delete", "bucket/deep/er/a") not in s3.calls  # readers always see one
    assert s3.objects == {"bucket/deep/er/a": b"2"}


def test_what_other_processes_write_is_seen(s3):
    files.write("s3://bucket/d/a", b"1")
    assert files.list("s3://bucket/d") == ["a"] and not files.exists("s3://bucket/d/b")
    s3.objects["bucket/d/b"] = b"2"
    assert files.exists("s3://bucket/d/b") and files.size("s3://bucket/d/b") == 1
    assert files.list("s3://bucket/d") == ["a", "b"]
    s3.objects["bucket/d/b"] = b"longer"
    assert files.open("s3://bucket/d/b").read() == b"longer" and files.size("s3://bucket/d/b") == 6
    s3.objects["bucket/e/f"] = b""
    assert files.is_directory("s3://bucket/e")
    del s3.objects["bucket/d/b"]
    assert not files.exists("s3://bucket/d/b")


def test_objects_that_mark_folders_are_no_files(s3):
    for key in "d/", "d/cats/", "d/cats/0.png", "d/dogs/", "d/dogs/1.png", "empty/":
        s3.objects[f"bucket/{key}"] = b""
    assert files.list("s3://bucket/d") == ["cats", "dogs"]
    paths = ["s3://bucket/d/cats/0.png", "s3://bucket/d/dogs/1.png"]
    assert files.tree("s3://bucket/d") == paths
    assert Images("s3://bucket/d").classes() == ["cats", "dogs"]
    assert [stamp[0] for stamp in stamp_files(["s3://bucket/d"])] == paths
    assert files.is_directory("s3://bucket/empty") is False or files.list("s3://bucket/empty") == []


def test_a_file_is_no_folder(s3):
    files.write("s3://bucket/a", b"1")
    for path in "s3://bucket/a", "s3://bucket/b":
        with pytest.raises(DataError, match=f"^{path}: there is no such folder$"):
            files.list(path)


@pytest.mark.parametrize("kind", [AvroFiles, TFRecords])
def test_a_listing_tells_the_sizes_of_all_files(s3, kind):
    for i in range(50):
        s3.objects[f"bucket/d/{i:02d}"] = bytes(i)
    assert len(kind("s3://bucket/d").splits()) == 49  # one is empty
    assert s3.calls == [("list", "bucket/d")] * 2  # whether it is a folder, and what is in it
    assert len(stamp_files(["s3://bucket/d"])) == 50
    assert len(s3.calls) == 4


def test_no_bucket_is_made(s3):
    for write in (
        lambda path: files.write(path, b"1"),
        lambda path: write_model(path, "a"),
        lambda path: files.open(path, "wb").close(),
    ):
        with pytest.raises(
            DataError,
            match=r"s3://typo/a\S* cannot be written: The specified bucket does not exist",
        ):
            write("s3://typo/a/b")
    assert s3.buckets == {"bucket"}
    with pytest.raises(DataError, match=r"^s3://typo/a: there is no such file or folder$"):
        files.read("s3://typo/a")


def test_a_missing_bucket_is_named_before_a_fit(s3):
    writer = CheckpointWriter(Checkpoints(path="s3://typo/a"))
    text = "^s3://typo/a: cannot be written: there is no bucket typo; make it, or choose another$"
    with pytest.raises(CheckpointError, match=text):
        writer.on_fit_start(plan())
    with pytest.raises(DataError, match=text):
        files.check_parents("s3://typo/a")
    files.check_parents("s3://bucket/a")
    s3.error = PermissionError("Forbidden")  # some may write, but not ask
    files.check_parents("s3://bucket/a")


@pytest.mark.parametrize("path", ["s3://bucket", "s3://bucket/", "S3://bucket"])
def test_a_bucket_is_no_place_of_a_model(s3, path):
    s3.objects["bucket/x"] = b""
    path_name = path.rstrip("/")
    text = f"^{path_name}: must name a folder in the bucket, got the bucket; choose one, such as "
    for write in (
        lambda: refuse_to_destroy(path),
        lambda: write_directory(path, {"a": b"1"}),
        lambda: write_model(path, "a"),
    ):
        with pytest.raises((CheckpointError, DataError), match=text):
            write()
    CheckpointWriter(Checkpoints(path=path)).on_fit_start(plan())  # checkpoints are folders in it
    assert s3.objects == {"bucket/x": b""} and s3.buckets == {"bucket"}


@pytest.mark.parametrize(
    "act",
    [
        files.exists,
        files.read,
        files.open,
        files.size,
        files.list,
        files.is_directory,
        files.remove,
        lambda path: files.write(path, b""),
        lambda path: Csv(path).splits(),
    ],
)
@pytest.mark.parametrize("error", [ClientError("Unable to locate credentials"), ClientError()])
def test_errors_of_the_client_name_the_path(s3, act, error):
    s3.error = error
    with pytest.raises(DataError, match=rf"^s3://bucket/a: cannot be \w+( \w+)?: {error or 'Cl'}"):
        act("s3://bucket/a")
    assert len(s3.calls) == 1  # as each may take minutes


def test_a_store_that_lists_late_gets_no_half_model(s3, monkeypatch):
    """It is refused, as a file that is not listed would not be moved."""
    ls = s3.ls

    def late(fs, path, **options):
        return [one for one in ls(fs, path, **options) if not one["name"].endswith("/late")]

    monkeypatch.setattr(s3, "ls", late)
    with pytest.raises(CheckpointError, match="late is missing; there are"):
        write_directory("s3://bucket/m", {"early": b"1", "late": b"2"})
    assert not [key for key in s3.objects if key.startswith("bucket/m/")]


def test_a_model_that_was_being_replaced_leads_to_the_complete_one(s3):
    """Its files are deleted one by one, and the process is killed meanwhile."""
    write_directory("s3://bucket/m", {"a": b"1", "b": b"2"})
    files.move("s3://bucket/m", "s3://bucket/.m.old-01234567")
    s3.objects["bucket/m/a"] = b"1"
    text = r"; beside it are \['.m.old-01234567'\], rename the one to use$"
    for _ in "without a manifest", "with one":
        with pytest.raises(CheckpointError, match=text):
            dict(read_directory("s3://bucket/m", ["a", "b"]))
        s3.objects["bucket/m/manifest.json"] = s3.objects["bucket/.m.old-01234567/manifest.json"]


def test_an_interrupted_block_leaves_nothing(s3):
    """Closing a file makes an object of what was written so far."""
    with pytest.raises(KeyboardInterrupt), files.atomic_path("s3://bucket/a") as beside:
        with files.open(beside, "wb") as file:
            file.write(b"half")
            raise KeyboardInterrupt
    assert s3.objects == {}


def test_a_split_reads_little_more_than_its_bytes(s3):
    s3.objects["bucket/a.csv"] = b"x,label\n" + b"1.25,3\n" * (2**23 // 7)
    source = Csv("s3://bucket/a.csv", bytes_per_split=2**20)
    splits = source.splits()
    s3.sent.clear()
    assert sum(map(len, source.read(splits[2]))) > 140_000
    assert sum(s3.sent) < 2.2 * 2**20


def test_a_split_of_a_whole_object_takes_few_requests(s3):
    size = 24 * 2**20
    s3.objects["bucket/a"] = bytes(size)
    with open_listed(
        RecordFile(partition=0, count=None, path="s3://bucket/a", size=size), size
    ) as file:
        s3.sent.clear()
        while file.read(2**18):
            pass
    assert len(s3.sent) == 2
