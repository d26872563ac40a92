"""In-memory file systems that report changes of files as other file systems do."""

from datetime import UTC, datetime
from email.utils import format_datetime

from fsspec.implementations.memory import MemoryFileSystem


class Telling(MemoryFileSystem):
    """Reports changes by `tells`, a function (content, time) -> {name in `info`: value}."""

    protocol = "telling"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.partition("://")[2] or path)

    tells = staticmethod(lambda content, time: {})

    def modified(self, path):
        raise NotImplementedError

    def info(self, path, **options):
        known, file = super().info(path), self.store[self._strip_protocol(path)]
        content, time = file.getvalue(), file.modified
        return {n: known[n] for n in ("name", "size", "type")} | self.tells(content, time)


class Coarse(Telling):
    """Reports times in whole seconds, so two changes within a second look like one."""

    protocol = "coarse"

    def modified(self, path):
        return self.store[self._strip_protocol(path)].modified.replace(microsecond=0)


TELLS = {  # the names that HTTP, FTP, Azure, Google and GitHub use
    "nothing": lambda content, time: {},
    "a web server's time": lambda content, time: {"Last-Modified": format_datetime(time)},
    "a web server's digest": lambda content, time: {"Content-MD5": str(hash(content))},
    "a web server's name of the content": lambda content, time: {"ETag": str(hash(content))},
    "modify": lambda content, time: {"modify": str(time)},
    "last_modified": lambda content, time: {"last_modified": time},
    "updated": lambda content, time: {"updated": str(time)},
    "etag": lambda content, time: {"etag": str(hash(content))},
    "sha": lambda content, time: {"sha": str(hash(content))},
}


class ObjectStore(MemoryFileSystem):
    """Makes requests as s3fs does, which asks for a file's size before it opens it.

    `asked` lists the verb and file name of each request.
    """

    protocol, store, async_impl, asked = "counted", {}, True, []

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(path.removeprefix("counted:"))

    def _ask(self, verb, path):
        self.asked.append(f"{verb} {path.rpartition('/')[2]}")

    def info(self, path, **options):
        self._ask("HEAD", path)
        return super().info(path) | {"LastModified": datetime(2026, 1, 1, tzinfo=UTC)}

    def isdir(self, path):
        self._ask("LIST", path)
        return super().isdir(path)

    def modified(self, path):
        return self.info(path)["LastModified"]

    def _open(self, path, mode="rb", **options):
        self._ask("HEAD", path)
        self._ask("GET", path)
        return super()._open(path, mode, **options)

    def cat_file(self, path, start=None, end=None, **options):
        self._ask("GET", path)
        content = super()._open(self._strip_protocol(path), "rb").getvalue()
        if start is not None and not content:
            raise OSError("416: the range cannot be satisfied")
        return content[start:end]
