"""Counts of the words in a column of texts."""

from collections import Counter

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.text.token_kinds import untrained

MOST = 200_000  # distinct words that a task counts at once
FIELDS = StructType([StructField("word", StringType()), StructField("count", LongType())])


def count_words(frame, column, kind, lowercase, least):
    """Returns {word: int} of a DataFrame's texts, for words that occur at least `least` times.

    Executors split the texts and count; the driver gets the sums.
    """

    def count(batches):
        cut, counts = cutter(kind, lowercase), Counter()
        for batch in batches:
            for text in batch.column(0).to_pylist():
                counts.update(cut(text) if text is not None else ())
                if len(counts) > MOST:
                    yield as_arrow(counts)
                    counts = Counter()
        yield as_arrow(counts)

    counted = map_in_arrow(frame.select(column), count, FIELDS)
    sums = counted.groupBy("word").agg(F.sum("count").alias("count"))
    return {row["word"]: row["count"] for row in sums.where(F.col("count") >= least).collect()}


def cutter(kind, lowercase):
    """Returns a function that splits a text into words."""
    tokenizer = untrained(kind, lowercase)
    normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer

    def cut(text):
        text = text if normalizer is None else normalizer.normalize_str(text)
        return [word for word, _ in splitter.pre_tokenize_str(text)]

    return cut


def as_arrow(counts):
    columns = [pa.array([*counts.keys()], pa.string()), pa.array([*counts.values()], pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=FIELDS.names)
