"""An unknown spark.sparkdl.* setting stops a fit before it begins."""

import re
from pathlib import Path

import pytest

import sparkdl
from sparkdl import Dense, NetworkConf, Output, SparkNetwork
from sparkdl.errors import ConfigError
from sparkdl.spark.own_settings import KNOWN, check_own_settings

PACKAGE = Path(sparkdl.__file__).parent


def test_all_that_are_read_are_known():
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"spark\.sparkdl\.\w+", text)}
    assert names == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_those_that_are_known_are_taken(spark, name):
    spark.conf.set(name, "1m")
    try:
        check_own_settings(spark.sparkContext)
    finally:
        spark.conf.unset(name)


UNKNOWN = [
    ("spark.sparkdl.keptdata", "did you mean 'spark.sparkdl.keptData'?"),
    ("spark.sparkdl.slotTimout", "did you mean 'spark.sparkdl.slotTimeout'?"),
]


@pytest.mark.parametrize("name, cure", UNKNOWN)
def test_a_misspelt_one_ends_a_fit_before_it_begins(spark, name, cure):
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2), Output(units=2)])
    spark.conf.set(name, "1m")
    try:
        with pytest.raises(ConfigError) as raised:
            SparkNetwork(spark, conf).fit(None)
    finally:
        spark.conf.unset(name)
    assert str(raised.value).startswith(f"{name} is no setting of sparkdl, known are ")
    assert str(raised.value).endswith(cure)


def test_the_context_is_looked_at_too(sc):
    sc._conf.set("spark.sparkdl.other", "1")
    try:
        with pytest.raises(ConfigError, match="spark.sparkdl.other is no setting"):
            check_own_settings(sc)
    finally:
        sc._conf._jconf.remove("spark.sparkdl.other")
