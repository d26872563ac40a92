"""The Spark side: only it, sparkdl.ml and sparkdl.tune import pyspark.

The names below are loaded when they are first used: an executor, which imports modules of this
package, needs none of them.
"""

from sparkdl.lazy_names import homes, lazy_names

EXPORTS = {
    "sparkdl.spark.records.kept_data": "clear_kept_data",
    "sparkdl.spark.cluster_check.doctor": "doctor",
    "sparkdl.spark.inference.column_prediction": "predict_column",
    "sparkdl.spark.network": "SparkNetwork",
    "sparkdl.spark.text.tokenizer": "Tokenizer",
    "sparkdl.spark.workers": "SparkWorkers",
}

HOMES = homes(EXPORTS)
__all__ = list(HOMES)
__getattr__, __dir__ = lazy_names(__name__, HOMES)
