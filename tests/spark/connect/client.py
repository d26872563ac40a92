"""A Spark Connect client in a process of its own, because this one already has a SparkContext."""

import multiprocessing
from contextlib import contextmanager


@contextmanager
def client(url):
    """Yields `call(function, *arguments)`, which runs a function in the client."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(url, theirs))
    process.start()
    theirs.close()

    def call(function, *arguments):
        ours.send((function, arguments))
        error, result = ours.recv()
        if error is not None:
            raise error
        return result

    try:
        yield call
    finally:
        ours.send(None)
        process.join(30)
        process.kill()


def serve(url, pipe):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    while (asked := pipe.recv()) is not None:
        function, arguments = asked
        try:
            answer = None, function(spark, *arguments)
        except Exception as error:
            error.__cause__ = error.__context__ = None
            answer = error, None
        pipe.send(answer)
    spark.stop()
