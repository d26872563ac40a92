"""A double of cupy.cuda.nccl: its names and signatures, on the host's memory, between processes.

Ranks meet in a folder, whose path is the unique id. A collective's numbers are files there: it is
done when those of all ranks have come, for the same call. It returns False until then, which the
host driver takes as "not yet"; nothing else differs for whoever calls it.
"""

import ctypes
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np

ID_BYTES = 128
TYPES = {6: np.dtype(np.float16), 7: np.dtype(np.float32), 9: np.dtype(ml_dtypes.bfloat16)}


class NcclError(RuntimeError):
    def __init__(self, status):
        self.status = status
        names = {4: "INVALID_ARGUMENT", 5: "INVALID_USAGE", 6: "REMOTE_ERROR"}
        super().__init__(f"NCCL_ERROR_{names[status]}: told by the double")


class Nccl:
    """The module, as one process sees it.

    Parameters
    ----------
    driver : HostDriver
        Of the device that is the process's own.
    version : int
    folder : path, optional
        Where ranks meet; each group has a folder in there.

    Attributes
    ----------
    stuck : str or None
        "init": to meet others never ends; "collective": no collective is ever done.
    trouble : int or None
        What check_async_error raises.
    calls : list of (name, count, type)
    """

    NCCL_FLOAT16, NCCL_FLOAT32, NCCL_BFLOAT16 = 6, 7, 9
    NCCL_SUM = 0
    NcclError = NcclError
    available = True

    def __init__(self, driver, version=22707, folder=None):
        self.driver, self.version, self.folder = driver, version, folder
        self.stuck = self.trouble = None
        self.calls, self.depth = [], 0

    def get_version(self):
        return self.version

    def get_unique_id(self):
        return tempfile.mkdtemp(prefix="nccl-", dir=self.folder).encode().ljust(ID_BYTES, b"\0")

    def groupStart(self):
        self.depth += 1

    def groupEnd(self):
        self.depth -= 1

    def NcclCommunicator(self, ndev, commId, rank, config=None):
        assert type(commId) is bytes and len(commId) == ID_BYTES
        return Communicator(self, ndev, Path(commId.rstrip(b"\0").decode()), rank)


class Communicator:
    """Meets the others at once, and refuses two ranks on one device as NCCL does."""

    def __init__(self, module, size, folder, rank):
        self.module, self.size, self.folder, self.rank = module, size, folder, rank
        self.number, self.offered, self.aborted = 0, False, False
        while module.stuck == "init":
            time.sleep(0.002)
        self.leave("init", module.driver.properties.id.encode())
        while not all(self.file("init", r).exists() for r in self.all):
            time.sleep(0.002)
        if len({self.file("init", r).read_bytes() for r in self.all}) < size:
            raise NcclError(5)

    @property
    def all(self):
        return range(self.size)

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        assert op == Nccl.NCCL_SUM
        return self.collective("allReduce", sendbuf, recvbuf, count, datatype, self.all)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        assert op == Nccl.NCCL_SUM
        to = recvbuf if root == self.rank else None
        return self.collective(f"reduce to {root}", sendbuf, to, count, datatype, self.all)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        return self.collective("broadcast", sendbuff, recvbuff, count, datatype, [root])

    def collective(self, name, source, target, count, datatype, givers):
        """Whether it is done; a sum of what `givers` gave, in their order, is then in `target`."""
        if self.aborted:
            return True
        if not self.offered:
            self.module.calls.append((name.split()[0], count, TYPES[datatype].name))
            said = f"{name} {count} {datatype}\n".encode()
            self.leave(self.number, said + memory(source, count, datatype).tobytes())
            self.offered = True
        told = [] if self.module.stuck == "collective" else self.come()
        if len(told) < self.size or len({said for said, _ in told}) > 1:
            return False  # NCCL's ranks whose calls differ wait for ever, too
        if target is not None:
            given = [np.frombuffer(told[r][1], TYPES[datatype]) for r in givers]
            memory(target, count, datatype)[:] = sum(given[1:], given[0])
        if self.number:  # all have come to this one, so all have read the one before
            self.file(self.number - 1, self.rank).unlink(missing_ok=True)
        self.number, self.offered = self.number + 1, False
        return True

    def come(self):
        """[what a rank said, its bytes] of those that have come to this collective."""
        with suppress(FileNotFoundError):
            return [self.file(self.number, r).read_bytes().split(b"\n", 1) for r in self.all]
        return []

    def check_async_error(self):
        assert not self.aborted
        if self.module.trouble is not None:
            raise NcclError(self.module.trouble)

    def abort(self):
        self.aborted = True
        shutil.rmtree(self.folder, ignore_errors=True)

    def destroy(self):
        """The last one takes the folder away."""
        self.leave("left", b"")
        if all(self.file("left", r).exists() for r in self.all):
            shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, what, rank):
        return self.folder / f"{what}-{rank}"

    def leave(self, what, data):
        part = self.folder / f"part-{self.rank}"
        with suppress(FileNotFoundError):  # another has given up, and taken the folder away
            part.write_bytes(data)
            part.rename(self.file(what, self.rank))


def memory(address, count, datatype):
    """The numbers at an address, to be read and written."""
    size = count * TYPES[datatype].itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), TYPES[datatype])
