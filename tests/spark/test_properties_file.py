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
    "  spark.a 1 \\\n\t  2": {"spark.a": "1 2"},
    "spark.b 1\\\r\n# 2\\\n3": {"spark.b": "1# 23"},
    "spark.c 1\\\\": {"spark.c": "1\\"},
    "spark.d 1\\\n": {"spark.d": "1"},
    "# spark.e\\": {},
    r"spark.f C\:\\tmp": {"spark.f": r"C:\tmp"},
    r"spark\:\ \=\g : 1": {"spark: =g": "1"},
    r"spark.h \u00e9\ta\n b\\u0041": {"spark.h": "é\ta\n b\\u0041"},
    "spark.i a\u2028b\x0bc": {"spark.i": "a\u2028b\x0bc"},
    r"spark.k \ud83d\ude00": {"spark.k": "\U0001f600"},
    "spark.j = = 1": {"spark.j": "= 1"},
    "=1": {"": "1"},
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
    assert {key: value.strip(" ") for key, value in found.items()} == parse_properties(text)
    assert len(found) > 10
