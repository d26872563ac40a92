"""Validations of a fit as a DataFrame."""

import numpy as np
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

FIRST = "iteration"


def validation_frame(spark, history):
    """Returns a row for each validation of a History: the updates before it, and its figures.

    Returns
    -------
    DataFrame of `iteration`, and for each figure a column of float64 lists: what a test net's
    outputs are on average, as CaffeOnSpark's trainWithValidation has it, or accuracy, loss ... of
    other networks.
    """
    evaluations = [(one.iteration, one.validation.figures()) for one in history.validations]
    names = dict.fromkeys(name for _, figures in evaluations for name in figures)
    fields = [StructField(name, ArrayType(DoubleType(), False)) for name in names]
    rows = [(at, *(numbers(figures.get(name)) for name in names)) for at, figures in evaluations]
    return spark.createDataFrame(rows, StructType([StructField(FIRST, LongType(), False), *fields]))


def numbers(value):
    """Returns a figure as a list; None where there was none."""
    return None if value is None else np.ravel(value).astype(float).tolist()
