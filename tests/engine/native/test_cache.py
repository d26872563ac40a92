"""Compiled code cached on disk: reused, recompiled if missing, never trusted if damaged."""

import hashlib
import os
import stat
from multiprocessing.pool import ThreadPool

import pytest

from sparkdl.engine.backends import get
from sparkdl.engine.native import cache, jit
from sparkdl.errors import ConfigError, UnsupportedError
from tests.support.owners import give_to

needs_llvm = pytest.mark.skipif(
    getattr(get("auto"), "compiler", None) is None, reason="no oneDNN, or no llvmlite: numpy runs"
)
KEY = cache.key_of("host", "text")
TEXT = "define void @kernel(ptr %words) nounwind {\n  store i64 7, ptr %words\n  ret void\n}\n"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sparkdl" / "kernels"


@pytest.mark.slow
def test_what_is_written_is_read():
    assert cache.read(KEY) is None
    cache.write(KEY, b"code")
    assert cache.read(KEY) == b"code"
    assert cache.read(cache.key_of("host", "other text")) is None


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 32 + b"code"])
def test_what_is_damaged_is_not_there(place, damage):
    cache.write(KEY, b"code")
    (place / KEY).write_bytes(damage)
    assert cache.read(KEY) is None


def test_code_cut_off_is_not_there(place):
    cache.write(KEY, b"code")
    content = (place / KEY).read_bytes()
    assert content == hashlib.sha256(KEY.encode() + b"code").digest() + b"code"
    for length in range(len(content)):
        (place / KEY).write_bytes(content[:length])
        assert cache.read(KEY) is None


def test_code_under_another_name_is_not_there(place):
    cache.write(KEY, b"code")
    other = cache.key_of("host", "other text")
    (place / KEY).rename(place / other)
    assert cache.read(other) is None


@pytest.mark.slow
def test_many_writers_leave_one_whole_file(place):
    with ThreadPool(8) as pool:
        pool.starmap(cache.write, [(KEY, b"code" * 10_000)] * 64)
    assert [path.name for path in place.iterdir()] == [KEY]
    assert cache.read(KEY) == b"code" * 10_000


def test_a_folder_that_others_may_write_to_is_not_used(place):
    cache.write(KEY, b"code")
    place.chmod(stat.S_IRWXU | stat.S_IWOTH)
    assert cache.folder() is None and cache.read(KEY) is None


def test_code_that_others_could_change_is_not_there(place):
    cache.write(KEY, b"code")
    (place / KEY).chmod(0o666)
    assert cache.read(KEY) is None


def test_code_that_is_exchanged_while_it_is_opened_is_not_there(place, monkeypatch):
    cache.write(KEY, b"evil")
    evil = (place / KEY).read_bytes()
    cache.write(KEY, b"code")

    def exchanging(function):
        def call(path, *others, **options):
            found = function(path, *others, **options)
            if os.fspath(path) == os.fspath(place / KEY):
                (place / KEY).unlink()
                (place / KEY).write_bytes(evil)
                (place / KEY).chmod(0o666)
            return found

        return call

    for name in ("lstat", "open"):
        monkeypatch.setattr(os, name, exchanging(getattr(os, name)))
    assert cache.read(KEY) in (b"code", None)
    assert cache.read(KEY) is None


def test_nobody_else_can_exchange_the_folder_whatever_the_umask_says(place):
    before = os.umask(0)
    try:
        cache.write(KEY, b"code")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (place.parent, place, place / KEY)]
    assert modes == [0o700, 0o700, 0o600]


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """A user's folder, linked to from the cache's place, with a cache limit that nothing fits."""
    mine = tmp_path / "documents"
    mine.mkdir(0o700)
    for name in ("thesis.tex", ".profile", "f" * 63):
        (mine / name).write_text("precious")
    (tmp_path / "kernels").symlink_to(mine)
    monkeypatch.setenv("SPARKDL_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setenv("SPARKDL_KERNELS_BYTES", str(cache.DIGEST + 4))
    monkeypatch.setattr(cache, "SELDOM", 1)
    return mine


def test_what_others_have_written_is_not_deleted(documents):
    before = sorted(path.name for path in documents.iterdir())
    for key in (KEY, cache.key_of("other")):
        cache.write(key, b"code")
    left = sorted(path.name for path in documents.iterdir())
    assert len(left) == len(before) + 1 and set(before) < set(left), "a user's own link is used"


def test_a_link_of_another_user_is_not_used(documents, tmp_path, monkeypatch):
    give_to(os.getuid() + 1, tmp_path / "kernels", monkeypatch)
    before = sorted(path.name for path in documents.iterdir())
    cache.write(KEY, b"code")
    assert cache.read(KEY) is None
    assert sorted(path.name for path in documents.iterdir()) == before


def test_a_budget_that_is_no_number_is_refused(place, monkeypatch):
    monkeypatch.setenv("SPARKDL_KERNELS_BYTES", "abc")
    with pytest.raises(ConfigError, match="SPARKDL_KERNELS_BYTES must be a number of bytes, got"):
        cache.make_room(place)


def test_a_budget_that_is_no_number_is_refused_before_anything_is_compiled(place, monkeypatch):
    monkeypatch.setenv("SPARKDL_KERNELS_BYTES", "1 GB")
    with pytest.raises(ConfigError, match="SPARKDL_KERNELS_BYTES must be a number of bytes, got"):
        cache.read(KEY)
    assert not place.exists()


@pytest.mark.parametrize("base", ["file", "/proc/nowhere"])
def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch, base):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.join(tmp_path, base))
    cache.write(KEY, b"code")
    assert cache.read(KEY) is None


def test_the_folder_may_be_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKDL_KERNELS", str(tmp_path / "named"))
    cache.write(KEY, b"code")
    assert [path.name for path in (tmp_path / "named").iterdir()] == [KEY]
    assert cache.read(KEY) == b"code"


def test_what_was_written_first_is_deleted_for_new_files(place, monkeypatch):
    monkeypatch.setenv("SPARKDL_KERNELS_BYTES", "1000")
    monkeypatch.setattr(cache, "SELDOM", 1)
    keys = [cache.key_of(str(i)) for i in range(6)]
    for age, key in enumerate(reversed(keys)):
        cache.write(key, b"x" * (300 - cache.DIGEST))
        os.utime(place / key, (age, age))
    cache.make_room(place)
    assert [key for key in keys if cache.read(key)] == keys[:3]


class Words:
    """An 8-byte word for a compiled function to write to."""

    def __init__(self):
        import ctypes

        self.value = ctypes.c_int64()
        self.address = ctypes.addressof(self.value)


def runs(compiler):
    words = Words()
    compiler.function(TEXT)(words.address)
    return words.value.value == 7


@needs_llvm
def test_another_process_finds_what_one_compiled(place, monkeypatch):
    assert runs(jit.make_compiler())
    [path] = place.iterdir()
    before = path.stat().st_mtime_ns
    second = jit.make_compiler()
    monkeypatch.setattr(second, "compile", None)  # must not be called
    assert runs(second) and path.stat().st_mtime_ns == before


@needs_llvm
def test_damaged_code_is_compiled_again(place):
    assert runs(jit.make_compiler())
    [path] = place.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert runs(jit.make_compiler())
    assert path.read_bytes() == whole


@needs_llvm
def test_it_runs_without_a_folder(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert runs(jit.make_compiler())


def test_without_llvmlite_numpy_runs_and_describe_says_why(monkeypatch):
    onednn = pytest.importorskip("sparkdl.engine.backends.onednn.backend")
    import numpy as np

    from sparkdl.engine import ops
    from sparkdl.engine.program import Program
    from tests.engine.support import feeds, trace

    def missing():
        raise UnsupportedError("chains run in numpy: llvmlite cannot be loaded (no such module)")

    monkeypatch.setattr(onednn, "compiler", missing)
    x = np.ones(5, np.float32)
    program = Program(trace(lambda x: ops.exp(ops.tanh(x)), x), onednn.OneDnn(), strict=True)
    assert "llvmlite cannot be loaded" in program.describe()
    assert [step.kernel for step in program.steps] == ["numpy, blocked"]
    np.testing.assert_allclose(program.run(feeds([x]))["y0"], np.exp(np.tanh(x)), rtol=1e-6)
