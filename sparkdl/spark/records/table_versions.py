"""Versions of tables that have them, such as those of Delta Lake and Apache Iceberg.

A version has the same rows for ever, in any order; each change of the rows makes another one. One
of the columns' names may not, so the plan belongs to the identity, too.
"""

from typing import NamedTuple

from sparkdl.spark.jobs.release import PYSPARK

HAS_VERSIONS = PYSPARK >= (4, 1)
DELTA_FILES = "org.apache.spark.sql.delta.files.TahoeLogFileIndex"


class TableVersion(NamedTuple):
    """The id of a table, of which no other table has had it, and a version of its rows."""

    table: str
    version: str | int


def table_version(leaf):
    """Returns the TableVersion of a plan's leaf of class TABLE; None if its source has none."""
    if not HAS_VERSIONS:
        return None
    found = TableVersion(leaf.table().id(), leaf.table().version())
    return None if None in found else found


def delta_version(location):
    """Returns the TableVersion that the next job reads from a location of class DELTA_FILES."""
    snapshot = location.getSnapshot()  # the newest one, unless the query names another
    return TableVersion(f"{snapshot.metadata().id()} {location.path()}", snapshot.version())
