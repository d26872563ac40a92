"""File systems in memory that tell of changes as other ones do."""

from email.utils import format_datetime

from fsspec.implementations.memory import MemoryFileSystem


class Telling(MemoryFileSystem):
    """Tells of changes as a test says: `tells` gives {name: value} of a file's content and time."""

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
    """Tells whole seconds: of a file that is changed twice within one, it tells one time."""

    protocol = "coarse"

    def modified(self, path):
        return self.store[self._strip_protocol(path)].modified.replace(microsecond=0)


TELLS = {  # of other systems: HTTP, FTP, Azure, Google and GitHub call it so
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
