"""Plans that Spark takes for random, and that give the same rows each time all the same.

Functions of pyspark.ml: VectorAssembler and StringIndexer are marked as not deterministic, as they
may fail and Spark must not call them for other rows. They compute only from their input.

Random numbers with a fixed seed, such as the folds of pyspark's CrossValidator: Spark draws them
row by row, starting anew in each partition. They are reproducible only if rows have a fixed order:
in a plan that moves no rows between partitions, or for rows that Spark has cached; not in a table
of a catalog, which may give its files in any order. After a shuffle rows come as they arrive, and a
recomputed plan draws other numbers for them.
"""

from sparkdl.spark.jobs.slots import elements

CATALYST = "org.apache.spark.sql.catalyst."
LOGICAL, EXPRESSIONS = f"{CATALYST}plans.logical.", f"{CATALYST}expressions."
EXECUTION = "org.apache.spark.sql.execution."
TABLE = f"{EXECUTION}datasources.v2.DataSourceV2Relation"  # of a catalog, as Iceberg has one
LOGICAL_RDD, CACHED = f"{EXECUTION}LogicalRDD", f"{EXECUTION}columnar.InMemoryRelation"
IN_ORDER = {f"{LOGICAL}{name}" for name in ("Project", "Filter", "SubqueryAlias")}
DRAWS = {f"{EXPRESSIONS}{name}" for name in ("Rand", "Randn")}
JVM_FUNCTION, OF_STAGES = f"{EXPRESSIONS}ScalaUDF", "org.apache.spark.ml."
ALIAS, LITERAL = f"{EXPRESSIONS}Alias", f"{EXPRESSIONS}Literal"


def cached_rows(execution):
    """Returns the ids of the cached RDDs that a plan reads.

    None if its rows may differ each time. A frame that is cached again has another id.

    Parameters
    ----------
    execution : QueryExecution of the JVM
    """
    found = list(random_expressions(execution.analyzed()))
    if not all(map(is_repeatable, found)):
        return None
    if not any(map(draws, found)):
        return cache_numbers(execution) if has_fixed_rows(execution) else None
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


def has_fixed_rows(execution):
    """Returns whether a plan that draws nothing has the same rows each time.

    A table of a catalog may give its rows in another order each time, as Iceberg does with its
    files, and then samples and limits, and what else is in no list here, take other rows.
    """
    plan = execution.withCachedData()
    if not any(class_of(leaf) == TABLE for leaf in elements(plan.collectLeaves())):
        return True
    return all(class_of(node) in IN_ORDER or is_leaf(node) for node in nodes_of(plan))


def cache_numbers(execution):
    """Returns the ids of the cached RDDs that a plan reads; a frame cached again has another id.

    None if one has not been computed yet, which would take a job.
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


def random_expressions(plan):
    """Yields the expressions of a plan's nodes that Spark takes for random."""
    if not plan.deterministic():  # of this node or of one below
        yield from (one for one in elements(plan.expressions()) if not one.deterministic())
        for child in elements(plan.children()):
            yield from random_expressions(child)


def is_repeatable(expression):
    """Returns whether an expression, aliased or not, is a random number with a fixed seed or a
    function of pyspark.ml.
    """
    kind, inner = class_of(expression), elements(expression.children())
    if kind == ALIAS:
        return is_repeatable(inner[0])
    if kind == JVM_FUNCTION:
        is_known = class_of(expression.function()).startswith(OF_STAGES)
        return is_known and all(one.deterministic() or is_repeatable(one) for one in inner)
    return kind in DRAWS and class_of(inner[0]) == LITERAL


def draws(expression):
    """Returns whether a sound expression draws random numbers."""
    return class_of(expression) in DRAWS or any(map(draws, elements(expression.children())))


def keeps_order(node):
    """Returns whether a node's rows have a fixed order, given that its input has."""
    if is_unordered_rdd(node):
        return False
    return class_of(node) in IN_ORDER or (is_leaf(node) and class_of(node) != TABLE)


def is_unordered_rdd(node):
    """Returns whether a node has the rows of an RDD that Spark may give in another order."""
    return class_of(node) == LOGICAL_RDD and not is_determinate(node.rdd())


def is_leaf(node):
    return node.children().isEmpty()


def number_of_cache(builder):
    """Returns the id of the RDD of cached rows; None if Spark may drop and redraw them.

    Rows on disk stay.
    """
    rows = builder.cachedColumnBuffers()
    return rows.id() if builder.storageLevel().useDisk() or is_determinate(rows) else None


def is_determinate(rdd):
    """Returns whether a recomputed RDD has the same rows in the same order."""
    return rdd.outputDeterministicLevel().toString() == "DETERMINATE"


def class_of(value):
    return value.getClass().getName()
