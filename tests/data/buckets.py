"""A double of S3 as s3fs shows it, for tests of what object stores do otherwise than disks.

s3fs 2026.9 on moto's server behaved like this: listings are cached, makedirs makes a bucket, paths
with * ? [ are patterns, the object that marks a folder is listed as a file, a copy of a folder
names no object, and errors of the client are no OSErrors.
"""

from io import BytesIO

from fsspec import AbstractFileSystem
from fsspec.registry import _registry
from fsspec.spec import AbstractBufferedFile

SECONDS = 30  # for readers to meet


def install(monkeypatch):
    """Makes s3:// lead to new Buckets during a test, and returns their class."""
    new = {
        "buckets": {"bucket"},
        "objects": {},
        "calls": [],
        "error": None,
        "sent": [],
        "meet": None,
    }
    for name, value in new.items():
        monkeypatch.setattr(Buckets, name, value)
    monkeypatch.setitem(_registry, "s3", Buckets)
    Buckets.clear_instance_cache()
    return Buckets


class ClientError(Exception):
    """An error of a client's own class, as botocore has them."""


class Upload(BytesIO):
    """A written file, which becomes an object when it is closed, even by an error."""

    def __init__(self, fs, path):
        super().__init__()
        self.fs, self.path = fs, path

    def close(self):
        content = None if self.closed else self.getvalue()
        super().close()
        if content is not None:
            self.fs.pipe_file(self.path, content)


class Download(AbstractBufferedFile):
    """A file that is read in ranges, each with the next 50 MB unless told otherwise."""

    DEFAULT_BLOCK_SIZE = 50 * 2**20

    def _fetch_range(self, start, end):
        self.fs.sent.append(end - start)
        return self.fs.cat_file(self.path, start, end)


class Buckets(AbstractFileSystem):
    """Buckets of objects.

    `objects` is {"bucket/key": bytes}, and `calls` lists the (verb, path) of all requests; `error`,
    if any, is raised by each. `sent` has the bytes of each range that was read. `meet`, or None,
    is a Barrier at which as many readers must wait at once.
    """

    protocol, root_marker, async_impl = ("s3", "s3a"), "", True
    buckets, objects, calls, error, sent, meet = {"bucket"}, {}, [], None, [], None

    def _ask(self, verb, path):
        self.calls.append((verb, path))
        if self.error is not None:
            raise self.error
        if path.partition("/")[0] not in self.buckets:
            raise FileNotFoundError("The specified bucket does not exist")

    def ls(self, path, detail=True, **options):
        path = self._strip_protocol(path)
        if path not in self.dircache:
            self._ask("list", path)
            found = {}
            for key in sorted(one for one in self.objects if one.startswith(f"{path}/")):
                name, slash, _ = key.removeprefix(f"{path}/").partition("/")
                below = f"{path}/{name}"
                entry = self._entry(below, "directory", 0) if slash else self._object(key)
                found.setdefault(below, entry)
            entries = [*found.values()] or ([self._object(path)] if path in self.objects else [])
            if not entries:
                raise FileNotFoundError(path)
            self.dircache[path] = entries
            if path not in self.dircache:  # caches nothing
                return entries
        return self.dircache[path]

    def _entry(self, name, kind, size):
        return {"name": name, "type": kind, "size": size}

    def _object(self, key):
        return self._entry(key, "file", len(self.objects[key])) | {"ETag": str(self.objects[key])}

    def info(self, path, **options):
        path = self._strip_protocol(path)
        parent = path.rpartition("/")[0]
        if parent in self.dircache:
            for one in self.dircache[parent]:
                if one["name"] == path:
                    return one
            raise FileNotFoundError(path)
        self._ask("head", path)
        if path in self.objects:
            return self._object(path)
        if path in self.buckets or any(key.startswith(f"{path}/") for key in self.objects):
            return self._entry(path, "directory", 0)
        raise FileNotFoundError(path)

    def exists(self, path, **options):
        try:
            return bool(self.info(path))
        except FileNotFoundError:
            return False

    def isdir(self, path):
        try:
            return any(one["name"] != self._strip_protocol(path) for one in self.ls(path))
        except FileNotFoundError:
            return False

    def find(self, path, maxdepth=None, withdirs=False, detail=False, **options):
        path = self._strip_protocol(path)
        self._ask("list", path)
        below = sorted(key for key in self.objects if key.startswith(f"{path}/"))
        found = {*below} or ({path} if path in self.objects else set())
        if withdirs:
            found |= {key.rpartition("/")[0] for key in below}
        return dict.fromkeys(sorted(found)) if detail else sorted(found)

    def makedirs(self, path, exist_ok=False):
        self.buckets.add(self._strip_protocol(path).partition("/")[0])

    def cat_file(self, path, start=None, end=None, **options):
        path = self._strip_protocol(path)
        self._ask("get", path)
        if self.meet is not None:
            self.meet.wait(SECONDS)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path][start:end]

    def pipe_file(self, path, value, **options):
        path = self._strip_protocol(path)
        self._ask("put", path)
        self.objects[path] = bytes(value)
        self.invalidate_cache()

    def cp_file(self, path1, path2, **options):
        self._ask("copy", path1)
        if path1 not in self.objects:  # a folder, too
            raise FileNotFoundError(path1)
        self.objects[path2] = self.objects[path1]
        self.invalidate_cache()

    def rm_file(self, path):
        self._ask("delete", path)
        self.objects.pop(path, None)
        self.invalidate_cache()

    def _open(self, path, mode="rb", block_size=None, **options):
        if "w" in mode:
            return Upload(self, path)
        return Download(self, path, mode, block_size or "default")

    def invalidate_cache(self, path=None):
        self.dircache.clear()
