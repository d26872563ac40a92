"""Plans with random numbers of a fixed seed, as the folds of pyspark's CrossValidator have them.

Spark draws such numbers row by row, for each partition anew. They are the same ones each time where
rows come in one order: from a plan that moves no rows between partitions, or from rows that Spark
has cached. Behind a shuffle rows come as they arrive, and a plan that is computed again draws other
numbers for them.
"""

from sparkdl.spark.jobs.slots import elements

CATALYST = "org.apache.spark.sql.catalyst."
LOGICAL, EXPRESSIONS = f"{CATALYST}plans.logical.", f"{CATALYST}expressions."
EXECUTION = "org.apache.spark.sql.execution."
LOGICAL_RDD, CACHED = f"{EXECUTION}LogicalRDD", f"{EXECUTION}columnar.InMemoryRelation"
IN_ORDER = {f"{LOGICAL}{name}" for name in ("Project", "Filter", "SubqueryAlias")}
DRAWS = {f"{EXPRESSIONS}{name}" for name in ("Rand", "Randn")}
ALIAS, LITERAL = f"{EXPRESSIONS}Alias", f"{EXPRESSIONS}Literal"


def cached_rows(execution):
    """Returns numbers of the cached RDDs that a plan with random numbers reads.

    None where its rows may be others each time. A frame that is cached again has another number.

    Parameters
    ----------
    execution : QueryExecution of the JVM
    """
    if not all(map(is_seeded, nodes_of(execution.analyzed()))):
        return None
    numbers = []
    for node in nodes_of(execution.withCachedData()):
        if class_of(node) == CACHED:
            number = number_of_cache(node.cacheBuilder())
            if number is None:
                return None
            numbers.append(number)
        elif not keeps_order(node):
            return None
    return tuple(numbers)


def cache_numbers(execution):
    """Returns numbers of the cached RDDs that a plan reads: a frame cached again has another.

    None where one is not computed yet, which takes a job.
    """
    leaves = elements(execution.withCachedData().collectLeaves())
    cached = [leaf.cacheBuilder() for leaf in leaves if class_of(leaf) == CACHED]
    if not all(builder.isCachedColumnBuffersLoaded() for builder in cached):
        return None
    return tuple(builder.cachedColumnBuffers().id() for builder in cached)


def nodes_of(plan):
    """Yields the nodes of a logical plan."""
    yield plan
    for child in elements(plan.children()):
        yield from nodes_of(child)


def is_seeded(node):
    """Returns whether of all that is random a node has columns of seeded numbers alone."""
    return all(is_drawn(each) for each in elements(node.expressions()) if not each.deterministic())


def is_drawn(expression):
    """Returns whether an expression is a random number of a fixed seed, named or not."""
    kind, inner = class_of(expression), elements(expression.children())
    if kind == ALIAS:
        return is_drawn(inner[0])
    return kind in DRAWS and class_of(inner[0]) == LITERAL


def keeps_order(node):
    """Returns whether the rows of a node come in one order, if those that it reads do."""
    if class_of(node) == LOGICAL_RDD:
        return is_determinate(node.rdd())
    return class_of(node) in IN_ORDER or node.children().isEmpty()


def number_of_cache(builder):
    """Returns the number of the RDD of cached rows; None where Spark may drop and draw them anew.

    On a disk they stay.
    """
    rows = builder.cachedColumnBuffers()
    return rows.id() if builder.storageLevel().useDisk() or is_determinate(rows) else None


def is_determinate(rdd):
    """Returns whether an RDD that is computed again has the same rows in the same order."""
    return rdd.outputDeterministicLevel().toString() == "DETERMINATE"


def class_of(value):
    return value.getClass().getName()
