"""Validation results of a fit as a DataFrame."""

import numpy as np
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

FIRST = "iteration"


def validation_frame(spark, history):
    """Returns a row for each validation of a History: the updates before it, and its figures.

    Returns
    -------
    DataFrame with `iteration`, and for each figure a column of float64 lists: the mean outputs of
    a Caffe test net, as in CaffeOnSpark's trainWithValidation, or accuracy, loss ... of other
    networks.
    """
    evaluations = [(one.iteration, one.validation.figures()) for one in history.validations]
    names = dict.fromkeys(name for _, figures in evaluations for name in figures)
    fields = [StructField(name, ArrayType(DoubleType(), False)) for name in names]
    rows = [(at, *(numbers(figures.get(name)) for name in names)) for at, figures in evaluations]
    return spark.createDataFrame(rows, StructType([StructField(FIRST, LongType(), False), *fields]))


def numbers(value):
    """Returns a figure as a list, or None if there is none."""
    return None if value is None else np.ravel(value).astype(float).tolist()
