"""Text tables for reports."""


def align(rows, left=0):
    """Returns rows of strings as lines with aligned columns.

    The first `left` columns are left-aligned, the others (numbers) right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths, left) for row in rows)


def _line(row, widths, left):
    cells = [
        cell.ljust(width) if place < left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
