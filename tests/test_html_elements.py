"""HTML elements escape their contents."""

from html.parser import HTMLParser

import pytest

from sparkdl.html_elements import cell, element, table, text_of


def test_texts_and_attributes_are_escaped():
    made = element("p", "a < b & ", element("b", "<script>"), " c", None, title='"x"', class_="y")
    assert text_of(made) == (
        '<p title="&quot;x&quot;" class="y">a &lt; b &amp; <b>&lt;script&gt;</b> c</p>'
    )


def test_a_table_has_heads_for_columns_and_rows():
    cells = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            cells.append((tag, dict(attributes).get("scope") or dict(attributes).get("class")))

        def handle_data(self, data):
            cells.append(data)

    Reader().feed(text_of(table(["name", "n", "x"], [["<a>", 12345, 0.123456]], "All")))
    assert cells[1:] == [
        *[("table", None), ("caption", None), "All", ("thead", None), ("tr", None)],
        *[("th", "col"), "name", ("th", "col"), "n", ("th", "col"), "x", ("tbody", None)],
        *[("tr", None), ("th", "row"), "<a>", ("td", "n"), "12,345", ("td", "n"), "0.1235"],
    ]


CELLS = {
    "a number of thousands": (17840.4, "17,840"),
    "millions": (-123456789.0, "-123,456,789"),
    "more than that": (1.5e9, "1.5e+09"),
    "below a thousand": (999.96, "1000"),
    "just below 1": (0.99995, "0.99995"),
    "far below that": (-0.999999999, "-0.999999999"),
    "one": (1.0, "1"),
    "a share": (0.98765, "0.9877"),
    "small": (1.23456e-7, "1.235e-07"),
    "no number": (float("nan"), "nan"),
    "endless": (float("inf"), "inf"),
    "a count": (1234567, "1,234,567"),
    "true": (True, "True"),
    "false": (False, "False"),
    "nothing": (None, ""),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_shows_a_value_as_readers_expect_it(name):
    value, shown = CELLS[name]
    assert cell(value).text == shown


def test_what_utf_8_cannot_hold_is_replaced():
    made = element("p", "t\udcff\xe9", title="\ud800")
    assert text_of(made) == '<p title="?">t?\xe9</p>'
