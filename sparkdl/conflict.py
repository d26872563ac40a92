"""Warns of another distribution with the same import name, before it does harm."""

import warnings
from importlib.metadata import PackageNotFoundError, version


def warn_if_shadowed():
    """Warns when the abandoned distribution `sparkdl` is installed beside this package.

    Both write to the folder sparkdl/, so the one installed last has overwritten files of the
    other, and what breaks then gives no hint why.
    """
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
