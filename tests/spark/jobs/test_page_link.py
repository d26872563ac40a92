"""Spark's pages link to the page of a fit; tested on a Spark whose UI is on."""

import logging
from types import SimpleNamespace

import pytest

from sparkdl.spark.jobs.page_link import LINK, link_of, link_page


@pytest.mark.slow
def test_descriptions_of_jobs_lead_to_the_page_of_the_last_fit(own_spark):
    found = own_spark["page"]
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
