"""A Spark whose pages are on, and then stopped; prints as JSON what a fit and each call make of it.

Two test files ask it, so it starts one JVM for both.
"""

import json
import re
import urllib.request
from urllib.error import HTTPError

from pyspark.sql import SparkSession

from sparkdl import Dashboard, NetworkConf, Output, ParameterAveraging, SparkNetwork
from sparkdl.spark import predict_column

OPTIONS = {"spark.ui.port": "0", "spark.ui.enabled": "true", "spark.log.level": "ERROR"}
CONF = NetworkConf(input_shape=(2,), layers=[Output(name="out", units=2)])


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def page(spark):
    """Returns what Spark's pages have of the second of two fits."""
    first, dashboard = Dashboard(spark_link=True), Dashboard(spark_link=True)
    net = SparkNetwork(spark, CONF, ParameterAveraging(aggregation="driver"))
    rdd = spark.sparkContext.parallelize([([0.0, 1.0], 1), ([1.0, 0.0], 0)], 1)
    for listener in (first, dashboard):
        net.fit(rdd, 1, listeners=[listener])
    pages, led = spark.sparkContext.uiWebUrl, None
    try:
        urllib.request.build_opener(Stay).open(f"{pages}/sparkdl/")
    except HTTPError as answer:
        led = answer.code, answer.headers["Location"]
    links = re.findall(r'sparkdl: a round on \d blocks, <a href="([^"]*)"', read(f"{pages}/jobs/"))
    title = re.findall("<title>(.*?)</title>", read(f"{pages}/sparkdl"))
    return {"url": dashboard.url, "led": led, "links": links, "title": title}


def read(address):
    return urllib.request.urlopen(address).read().decode()


def stopped(spark):
    """Stops the session; returns what each call says then, and whether a network is still there."""
    frame = spark.createDataFrame([([1.0, 2.0], 1)], ["features", "label"])
    net = SparkNetwork(spark, CONF)
    spark.stop()
    calls = [
        lambda: SparkNetwork(spark, CONF),
        lambda: SparkNetwork(spark.sparkContext, CONF),
        lambda: net.fit(frame, epochs=1),
        lambda: net.evaluate(frame),
        lambda: net.score(frame),
        lambda: net.predict(frame),
        lambda: net.features(frame, "out"),
        lambda: predict_column(frame, net),
    ]
    return list(map(said, calls)), net.network.conf == CONF


def said(call):
    try:
        return f"no error: {call()}"
    except Exception as error:
        return f"{type(error).__name__} {error}"


def main():
    spark = SparkSession.builder.master("local[1]").config(map=OPTIONS).getOrCreate()
    found = {"page": page(spark)}
    found["after its stop"], found["keeps its network"] = stopped(spark)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
