"""Elements escape what they are given."""

from html.parser import HTMLParser

from sparkdl.html_elements import element, table, text_of


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
