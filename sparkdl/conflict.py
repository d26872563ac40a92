"""Warns of another distribution with the same import name, before it does harm."""

import os
import sys
import warnings


def warn_if_shadowed():
    """Warns when the abandoned distribution `sparkdl` is installed beside this package.

    Both write to the folder sparkdl/, so the one installed last has overwritten files of the
    other, and what breaks then gives no hint why.
    """
    if not any(map(has_metadata, sys.path)):
        return
    from importlib.metadata import PackageNotFoundError, version  # larger than all else here

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
    """Returns whether a folder of the path has what may be the other distribution's metadata."""
    try:
        names = os.listdir(folder or ".")
    except OSError:  # a zip, or a folder that is not there
        return False
    return any(name.startswith(("sparkdl-", "sparkdl.")) and "-info" in name for name in names)
