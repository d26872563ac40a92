"""A process that is a client of Spark Connect; this one has a SparkContext, so it cannot be."""

import multiprocessing
from contextlib import contextmanager


@contextmanager
def client(url):
    """Gives a function: it runs another one there, with a session and the rest of the arguments."""
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
