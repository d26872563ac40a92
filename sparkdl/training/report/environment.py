"""The environment in which a page was written: versions, processor, time."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata

PACKAGES = ("sparkdl-hadoop", "pyspark", "numpy", "pyarrow", "onednn-cpu-gomp")


def environment_rows():
    """Returns (name, value) rows of this process's machine and packages."""
    rows = [
        ("written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("driver", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        ("Python", sys.version.split()[0]),
    ]
    return rows + [(name, version) for name in PACKAGES if (version := version_of(name))]


def version_of(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
