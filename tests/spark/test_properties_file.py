"""Properties files are read as Java reads them."""

import pytest

from sparkdl.spark.properties_file import parse_properties

LINES = {
    "spark.master yarn": {"spark.master": "yarn"},
    "spark.master=yarn": {"spark.master": "yarn"},
    "  spark.master  =  yarn  ": {"spark.master": "yarn"},
    "spark.master\tyarn": {"spark.master": "yarn"},
    "spark.master: yarn": {"spark.master": "yarn"},
    "spark.master spark://a:7077": {"spark.master": "spark://a:7077"},
    "spark.driver.extraJavaOptions -Da=1 -Db=2": {"spark.driver.extraJavaOptions": "-Da=1 -Db=2"},
    "spark.app.name": {"spark.app.name": ""},
    "# spark.master yarn": {},
    "! spark.master yarn": {},
    "": {},
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_a_key_and_its_value(line):
    assert parse_properties(line) == LINES[line]


def test_java_reads_the_same(sc):
    text = "\n".join(LINES)
    read = sc._jvm.java.util.Properties()
    read.load(sc._jvm.java.io.StringReader(text))
    found = {key: read.getProperty(key) for key in read.stringPropertyNames()}
    assert {key: value.strip() for key, value in found.items()} == parse_properties(text)
