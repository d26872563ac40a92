"""Order of rows within the partitions of a DataFrame or an RDD.

After a shuffle a partition has the same rows each time, but in the order in which they arrived from
other executors. A fit on such rows would have other weights each time, also after the loss of an
executor, whose partitions Spark recomputes. So rows that a shuffle delivers are sorted by a hash of
their columns. That takes a fifth to a third of the time of the shuffle itself (60,000 rows of 784
numbers, 3,000,000 rows of 10).
"""

import re
from collections.abc import Callable
from typing import Any

from sparkdl.spark.connect.sessions import is_connect
from sparkdl.spark.inference.arrow_map import with_plain_names
from sparkdl.spark.jobs.slots import elements
from sparkdl.spark.records.seeded_plans import IN_ORDER, is_determinate, is_unordered_rdd

# Nodes in texts of Spark's plans. A broadcast leaves the rows of the other side where they are.
SHUFFLE = re.compile(r"^[ :+|*()\d-]*(?!\w*Broadcast)\w*Exchange\b", re.MULTILINE)
ANALYZED = re.compile(r"== Analyzed Logical Plan ==\n[^\n]*\n(.*?)\n\n== ", re.DOTALL)
OPTIMIZED = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n\n== ", re.DOTALL)
PHYSICAL = "== Physical Plan =="
NODE = re.compile(r"\w+")
KEEP_ORDER = {*(name.rpartition(".")[2] for name in IN_ORDER), "View", "CollectMetrics", "WithCTE"}
CUT = re.compile(r"\.\.\. \d+ more characters\s*$")  # by spark.sql.maxPlanStringLength


def fix_order(frame: Any) -> Any:
    """Returns the DataFrame with rows in the same order each time: sorted, if a shuffle delivers
    them.

    Rows that their user has sorted stay as they are; those with equal keys come in any order.

    Parameters
    ----------
    frame : DataFrame
        Of columns that Spark finds by their names.
    """
    if not is_unordered(frame):
        return frame
    from pyspark.sql import functions as F  # which executors do not need

    # The columns decide where hashes are equal: [1, 2], [3] has that of [1], [2, 3].
    return frame.sortWithinPartitions(F.xxhash64(*frame.columns), *frame.columns)


def map_in_order(frame: Any, function: Callable[..., Any], columns: str) -> Any:
    """Returns the DataFrame of a function of the rows' Arrow tables, in the same order each time.

    Parameters
    ----------
    frame : DataFrame
    function : callable(iterator of Arrow tables) -> iterator of Arrow record batches
    columns : str
        Names and types of the results' columns.
    """
    frame, function = with_plain_names(frame, function)
    return fix_order(frame).mapInArrow(function, columns)


def is_unordered(frame: Any) -> bool:
    """Returns whether rows come in another order each time, although their user sorted none."""
    text = plan_text(frame)
    if is_sorted(text, frame.dtypes):
        return False
    physical = text.partition(PHYSICAL)[2]
    if not physical or CUT.search(physical):
        return True  # what is not in the text may be a shuffle
    return SHUFFLE.search(physical) is not None or has_unordered_rdd(frame)


def plan_text(frame):
    """Returns the text of a DataFrame's logical plans and of its physical plan."""
    if is_connect(frame):
        return frame._explain_string(extended=True)
    return frame._jdf.queryExecution().toString()


def is_sorted(text, columns):
    """Returns whether a plan sorts rows at its end, but for nodes that keep their order.

    The analyzed plan also has what is cached; the optimized one has no WITH and no hint.
    """
    plans = [OPTIMIZED, ANALYZED]
    if any("\n" in name or "\n" in kind for name, kind in columns):
        plans.remove(ANALYZED)  # it begins with the columns
    trees = [found[1] for found in (plan.search(text) for plan in plans) if found]
    return any(map(ends_in_sort, trees))


def ends_in_sort(tree):
    """Returns whether the last node that may change the order of rows is a sort."""
    last = next((name for name in path_to_leaf(tree) if name not in KEEP_ORDER), None)
    return last == "Sort"


def path_to_leaf(tree):
    """Yields the names of nodes from a plan's root to its leaf, always to the last child.

    Its other children, of a subquery or a WITH, have ":" before them.
    """
    before = ""
    for line in tree.split("\n"):
        name = NODE.match(line.removeprefix(before)) if line.startswith(before) else None
        if name:
            yield name[0]
            before = f"   {before}" if before else "+- "


def has_unordered_rdd(frame):
    """Returns whether rows are those of an RDD that Spark may give in another order.

    Over Spark Connect an RDD is a local checkpoint, whose rows Spark does not recompute.
    """
    if is_connect(frame):
        return False
    return any(
        map(is_unordered_rdd, elements(frame._jdf.queryExecution().analyzed().collectLeaves()))
    )


def is_in_order(rdd: Any) -> bool:
    """Returns whether an RDD of Python has the same records in the same order each time.

    Not after a shuffle, even if a Python function has sorted them, which Spark does not know.
    """
    before = getattr(rdd, "_prev_jrdd", None)  # of an RDD that Python computes from another
    return is_determinate((rdd._jrdd if before is None else before).rdd())
