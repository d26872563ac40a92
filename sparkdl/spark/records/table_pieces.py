"""Conversion of a partition's Arrow tables to checked Batches of bounded size.

Spark limits tables by rows, 10,000 by default, whatever their width. A sparse vector may take a few
bytes in Arrow, and megabytes as an array.
"""

import pyarrow.compute as pc
from pyarrow import types

from sparkdl.data.batches.dealing import WINDOW_BYTES
from sparkdl.data.readers.encodings.arrow_columns import table_batch


def check_pieces(schema, columns, partition, tables, beside=0):
    """Yields (piece of an Arrow table, its checked Batch) for all rows of a partition, in order.

    Parameters
    ----------
    schema : Schema
    columns : {column of a batch: column of the tables}
    beside : int
        Further bytes per record, for computed results.
    """
    start = 0
    for piece in cut_tables(schema, columns, tables, beside):
        yield piece, read_piece(schema, columns, partition, piece, start)
        start += piece.num_rows


def read_piece(schema, columns, partition, piece, start):
    """Returns the checked Batch of a piece of a partition, whose first record is `start`."""
    where = f"partition {partition}"
    options = {"sequences": schema.masks, "sizes": schema.sizes, "singles": schema.singles}
    options |= {"labels": schema.outputs}
    batch = table_batch(piece, columns, where, partition, start, **options)
    return schema.check(batch, where)


def cut_tables(schema, columns, tables, beside=0):
    """Yields non-empty pieces of the tables that fit into WINDOW_BYTES as arrays."""
    for table in tables:
        if table.num_rows:
            nbytes = beside + row_bytes(schema, columns, table)
            size = max(1, WINDOW_BYTES // max(1, nbytes))
            for first in range(0, table.num_rows, size):
                yield table.slice(first, size)


def row_bytes(schema, columns, table):
    """Returns the approximate bytes of a record of the table as arrays."""
    present = set(table.schema.names)
    return sum(
        max(schema.column_bytes.get(column, 0), stored_bytes(table.column(name)))
        for column, name in columns.items()
        if name in present
    )


def stored_bytes(column):
    """Returns the bytes per value of a stored column, counting sparse vectors as dense."""
    mean = column.nbytes // len(column)
    if not types.is_struct(column.type) or column.type.get_field_index("size") < 0:
        return mean
    return max(mean, 4 * (pc.max(column.field("size")).as_py() or 0))
