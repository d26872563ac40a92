"""Warning about another distribution with the same import name."""

import os
import sys
import warnings


def warn_if_shadowed():
    """Warns if the abandoned distribution `sparkdl` is installed beside this package.

    Both install into the folder sparkdl/, so the later one overwrites files of the other, and the
    resulting errors give no hint of the cause.
    """
    if not any(map(has_metadata, sys.path)):
        return
    from importlib.metadata import PackageNotFoundError, version  # imported late, as it is large

    try:
        other = version("sparkdl")
    except PackageNotFoundError:
        return
    warnings.warn(
        f"the folder sparkdl must belong to sparkdl-hadoop alone, got sparkdl {other} beside it; "
        "pip uninstall sparkdl, then pip install --force-reinstall --no-deps sparkdl-hadoop",
        UserWarning,
        stacklevel=2,
    )


def has_metadata(folder):
    """Returns whether a path entry may hold the other distribution's metadata."""
    try:
        names = os.listdir(folder or ".")
    except OSError:  # a zip, or a missing folder
        return False
    return any(name.startswith(("sparkdl-", "sparkdl.")) and "-info" in name for name in names)
