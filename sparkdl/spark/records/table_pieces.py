"""Arrow tables of a partition to checked Batches, a bounded number of bytes at a time.

Spark counts the rows of a table, 10,000 by default, whatever their width. Sparse vectors take a few
bytes in Arrow, and megabytes as arrays.
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
        Bytes that a record needs for what is computed of it.
    """
    start, where = 0, f"partition {partition}"
    options = {"sequences": schema.masks, "sizes": schema.sizes, "singles": schema.singles}
    for piece in cut_tables(schema, columns, tables, beside):
        batch = table_batch(piece, columns, where, partition, start, **options)
        start += piece.num_rows
        yield piece, schema.check(batch, where)


def cut_tables(schema, columns, tables, beside=0):
    """Yields pieces of the tables that have rows: as many as fit into WINDOW_BYTES as arrays."""
    for table in tables:
        if table.num_rows:
            nbytes = beside + row_bytes(schema, columns, table)
            size = max(1, WINDOW_BYTES // max(1, nbytes))
            for first in range(0, table.num_rows, size):
                yield table.slice(first, size)


def row_bytes(schema, columns, table):
    """Returns about how many bytes a record of the table has as arrays."""
    present = set(table.schema.names)
    return sum(
        max(schema.column_bytes.get(column, 0), stored_bytes(table.column(name)))
        for column, name in columns.items()
        if name in present
    )


def stored_bytes(column):
    """Returns the bytes of a value of a column as it is stored, of sparse vectors made dense."""
    mean = column.nbytes // len(column)
    if not types.is_struct(column.type) or column.type.get_field_index("size") < 0:
        return mean
    return max(mean, 4 * (pc.max(column.field("size")).as_py() or 0))
