"""Spark's pages link to the page of a fit; tested on a Spark whose UI is on."""

import json
import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sparkdl.spark.jobs.page_link import LINK, link_of, link_page

FIT = r"""
import json, re, urllib.request
from urllib.error import HTTPError
from pyspark.sql import SparkSession
from sparkdl import Dashboard, NetworkConf, Output, ParameterAveraging, SparkNetwork

options = {"spark.ui.port": "0", "spark.ui.enabled": "true", "spark.log.level": "ERROR"}
spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
first, dashboard = Dashboard(spark_link=True), Dashboard(spark_link=True)
net = SparkNetwork(spark, NetworkConf(input_shape=(2,), layers=[Output(units=2)]),
                   ParameterAveraging(aggregation="driver"))
rdd = spark.sparkContext.parallelize([([0.0, 1.0], 1), ([1.0, 0.0], 0)], 1)
for listener in (first, dashboard):
    net.fit(rdd, 1, listeners=[listener])

class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None

def read(address):
    return urllib.request.urlopen(address).read().decode()

pages = spark.sparkContext.uiWebUrl
try:
    urllib.request.build_opener(Stay).open(f"{pages}/sparkdl/")
except HTTPError as answer:
    led = answer.code, answer.headers["Location"]
links = re.findall(r'sparkdl: a round on \d blocks, <a href="([^"]*)"', read(f"{pages}/jobs/"))
title = re.findall("<title>(.*?)</title>", read(f"{pages}/sparkdl"))
print(json.dumps({"url": dashboard.url, "led": led, "links": links, "title": title}))
"""


@pytest.mark.slow
def test_descriptions_of_jobs_lead_to_the_page_of_the_last_fit():
    program = [sys.executable, "-c", FIT]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["led"] == [302, found["url"]]
    assert set(found["links"]) == {"/sparkdl/"}
    assert found["title"][0] == "Fit", "of the dashboard itself"


def test_without_pages_of_spark_the_log_says_so(sc, caplog):
    page = SimpleNamespace(url="http://127.0.0.1:9/token/", spark_link=True)
    with caplog.at_level(logging.WARNING):
        link_page(sc, [object(), page])
    assert "Spark's pages cannot link to /sparkdl: spark.ui.enabled is false" in caplog.text
    assert "token" not in caplog.text and link_of(sc) == ""


def test_a_page_that_is_not_to_be_linked_is_not(sc, caplog):
    link_page(sc, [SimpleNamespace(url="http://127.0.0.1:9/token/", spark_link=False)])
    assert not caplog.text and link_of(sc) == "" and "/sparkdl" in LINK
