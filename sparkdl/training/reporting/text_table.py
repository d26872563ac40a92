"""Text tables for reports."""


def align(rows, left=0):
    """Returns rows of strings as lines with columns of one width.

    The first `left` columns are flush left, the others (numbers) flush right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths, left) for row in rows)


def _line(row, widths, left):
    cells = [
        cell.ljust(width) if place < left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
