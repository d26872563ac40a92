"""Row blocks of a table, small enough for copies of them to stay in the cache."""

CELLS = 2**16  # 512 KB of float64, which stay in the cache


def blocks_of(shape, cells=CELLS):
    """Yields slices of the rows of a table (rows, columns), each of at most `cells` or one row."""
    size = max(1, cells // max(1, shape[1]))
    for start in range(0, shape[0], size):
        yield slice(start, start + size)
