"""Finds the Python functions of Spark's plans and RDDs, as the JVM has them."""

from sparkdl.spark.jobs.slots import elements
from sparkdl.spark.records.reproducible_functions import is_command_reproducible
from sparkdl.spark.records.seeded_plans import EXPRESSIONS, LOGICAL, class_of, nodes_of

PYTHON_RDD = "org.apache.spark.api.python.PythonRDD"
PYTHON_UDF = f"{EXPRESSIONS}PythonUDF"
GENERATE = f"{LOGICAL}Generate"
NODES = "Python", "Pandas", "Arrow"  # in names of a physical plan's nodes that run Python


def plan_is_reproducible(spark, plan):
    """Returns whether all Python functions of a logical plan give the same results each time."""
    patterns = spark._jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    generate, udf = patterns.GENERATE(), patterns.PYTHON_UDF()
    if not (plan.containsPattern(generate) or plan.containsPattern(udf)):
        return True
    nodes = list(nodes_of(plan))
    if any(class_of(node) == GENERATE and makes_rows(node.generator()) for node in nodes):
        return False
    found = [each for node in nodes for each in functions_in(node.expressions(), udf)]
    return all(class_of(one) == PYTHON_UDF and is_sound(one.func()) for one in found)


def makes_rows(generator):
    """Returns whether a generator is a Python table function."""
    return "Python" in class_of(generator)


def functions_in(expressions, udf):
    """Yields the expressions that are Python functions."""
    for one in elements(expressions):
        if one.containsPattern(udf):
            inner = list(functions_in(one.children(), udf))
            yield from inner
            if not inner or class_of(one) == PYTHON_UDF:
                yield one


def rdd_is_reproducible(rdd):
    """Returns whether a JVM RDD that runs a Python function gives the same results each time."""
    scope = rdd.scope()
    if scope.isDefined() and any(part in scope.get().name() for part in NODES):
        return False  # the JVM's own functions hide it
    if class_of(rdd) != PYTHON_RDD:
        return True
    field = rdd.getClass().getDeclaredField("func")  # it has no accessor
    field.setAccessible(True)
    return is_sound(field.get(rdd))


def is_sound(function):
    """Returns whether Spark's PythonFunction is reproducible."""
    numbers = function.command().mkString(",").split(",")
    return is_command_reproducible(bytes(int(each) % 256 for each in numbers))
