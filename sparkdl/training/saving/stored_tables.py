"""Table rows stored in files by their owners rather than in this process."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl.nn.tables.row_store import IDS
from sparkdl.nn.tables.table_group import ROWS
from sparkdl.nn.tables.table_reader import rows_to_read
from sparkdl.nn.tables.table_shard import join_tables, split_by_owner, take_rows
from sparkdl.training.saving.table_file import TableFile

if TYPE_CHECKING:
    from sparkdl.training.saving.table_folder import TableFolder

PINNED: set["StoredTables"] = set()  # needed by lazy predictions


@dataclass(frozen=True, eq=False)
class StoredTables:
    """The rows of a state in files that all hosts can open; only requested rows are read.

    Parameters
    ----------
    shards : tuple of tuple of TableFile
        The files of each owner; rows of later files replace those of earlier ones.
    folder : TableFolder or None
        Where workers that receive this are to write.
    """

    shards: tuple[tuple[TableFile, ...], ...] = ()
    folder: "TableFolder | None" = None

    def __bool__(self) -> bool:
        return bool(self.shards)

    def __deepcopy__(self, memo: object) -> "StoredTables":
        return self

    @property
    def files(self) -> list[TableFile]:
        """All files, in the order of owners."""
        return [file for shard in self.shards for file in shard]

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    def read(self) -> dict[str, np.ndarray]:
        """Returns {"table/array": vector} of all rows, in the memory of this process."""
        if not self.shards:
            return {}
        return join_tables([merge_rows(open_files(shard)) for shard in self.shards])

    def read_own(self, rank: int, workers: int) -> list[dict[str, np.ndarray]]:
        """Returns [{"table/array": vector}] of the rows that worker `rank` of `workers` owns.

        Rows of later entries replace those of earlier ones. Arrays are memory-mapped if the number
        of workers is unchanged.
        """
        if len(self.shards) == workers:
            return open_files(self.shards[rank])
        parts = [part for shard in self.shards for part in open_files(shard)]
        return [own_rows(part, rank, workers) for part in parts]

    def open_to_read(self) -> list[list[dict[str, np.ndarray]]]:
        """Returns memory-mapped ids and rows for ShardReaders, without optimizer state."""
        return [[ids_and_rows(part) for part in open_files(s)] for s in self.shards]


Tables = dict[str, np.ndarray] | StoredTables


def read_tables(tables: Tables) -> dict[str, np.ndarray]:
    """Returns {"table/array": vector} of all rows, wherever they are stored."""
    return tables.read() if isinstance(tables, StoredTables) else tables


def tables_to_read(tables: Tables) -> Tables:
    """Returns the part of tables that predictions need."""
    return tables if isinstance(tables, StoredTables) else rows_to_read(tables)


def verify_tables(tables: Tables) -> None:
    """Raises CheckpointError unless files of tables have the bytes that were written."""
    if isinstance(tables, StoredTables):
        for file in tables.files:
            file.verify()


def files_of(tables: Tables) -> StoredTables | None:
    """Returns what keeps the files of tables; None for tables in memory."""
    return tables if isinstance(tables, StoredTables) else None


def keep_files(tables: Tables) -> Tables:
    """Keeps the files of tables until this process ends, as lazy readers may run at any time."""
    if isinstance(tables, StoredTables):
        PINNED.add(tables)
    return tables


def open_files(shard: tuple[TableFile, ...]) -> list[dict[str, np.ndarray]]:
    """Returns [{"table/array": vector} of each file], memory-mapped."""
    return [file.open() for file in shard]


def tables_of(arrays: dict[str, Any]) -> Iterator[str]:
    """Yields the names of the tables that have arrays."""
    return (name.rpartition("/")[0] for name in arrays if name.rpartition("/")[2] == IDS)


def own_rows(arrays, rank, workers):
    """Returns copies of the rows {"table/array": vector} that a worker of `workers` owns."""
    own = {}
    for table in tables_of(arrays):
        places = split_by_owner(arrays[f"{table}/{IDS}"], workers)[rank]
        own |= take_rows(arrays, table, places)
    return own


def ids_and_rows(arrays):
    """Returns {"table/array": vector} of only the ids and rows."""
    with_rows = [table for table in tables_of(arrays) if f"{table}/{ROWS}" in arrays]
    return {f"{t}/{kind}": arrays[f"{t}/{kind}"] for t in with_rows for kind in (IDS, ROWS)}


def merge_rows(parts):
    """Returns {"table/array": vector} of parts, in which later rows replace earlier ones."""
    if len(parts) == 1:
        return parts[0]
    merged = {}
    for table in dict.fromkeys(table for part in parts for table in tables_of(part)):
        names = [name for name in parts[0] if name.rpartition("/")[0] == table]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in names}
        ids = joined[f"{table}/{IDS}"]
        _, last = np.unique(ids[::-1], return_index=True)
        merged |= take_rows(joined, table, len(ids) - 1 - last)
    return merged
