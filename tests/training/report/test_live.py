"""The live page of a fit in a real browser: updated charts keep the reader's settings."""

import json

import pytest

from sparkdl.training.report.page import page
from sparkdl.training.report.run import Run
from tests.support.browser import needs_browser, open_page
from tests.training.report.fits import history, network

pytestmark = [needs_browser, pytest.mark.slow]

# A stub of the server: it announces a change, and then serves another page.
SERVER = """<script>
let told;
window.EventSource = class { set onmessage(hear) { told = hear; } };
window.fetch = async () => ({ok: true, text: async () => LATER});
</script>"""
LOOK = """
const find = (selector) => document.querySelector(selector);
const points = (id) => find(`#${id} path.curve`).getAttribute("d").split("L").length;
const select = find("#loss select");
select.value = "second"; select.dispatchEvent(new Event("change"));
seen.before = [points("loss"), document.querySelectorAll("line.restart").length];
seen.text = document.querySelector("#figures").textContent;
const details = (page) => [...page.querySelectorAll("main details")].map((one) =>
  [one.querySelector("summary").textContent, one.open]);
for (const one of document.querySelectorAll("main details")) {
  one.open = one.querySelector("summary").textContent !== "All of the fit as text";
}
told(); await new Promise((done) => setTimeout(done, 100));
seen.after = [points("loss"), document.querySelectorAll("line.restart").length];
seen.opened = details(document);
seen.axis = [find("#loss select").value, find("#loss select") === select];
seen.curves = document.querySelectorAll("#figures path.curve").length;
seen.facts = document.querySelector("header .facts").textContent;
"""


def test_charts_get_new_points_and_keep_their_settings(tmp_path):
    first = history(epochs=1, restart=False)
    first.epochs.clear()
    early, late = (
        page([Run.of("a", made, network())], "Fit", live=True) for made in (first, history())
    )
    server = SERVER.replace("LATER", json.dumps(late).replace("</", "<\\/"))
    seen = open_page(tmp_path, early.replace("<head>", "<head>" + server, 1), LOOK)
    assert seen["errors"] == []
    assert seen["before"] == [3, 0] and seen["after"] == [6, 1]
    assert "There was no evaluation." in seen["text"] and seen["curves"] > 1
    assert seen["axis"] == ["second", True]
    others = [["Configuration", True], ["All of the fit as text", False]]
    assert seen["opened"] == [["As text", False], *others], "the first of them is new"
    assert seen["facts"].startswith("1 fit, 6 rounds")
