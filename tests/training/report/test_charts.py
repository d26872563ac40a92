"""Charts in a real browser: data, zoom, hidden curves, and keyboard readout."""

import json
import math
from dataclasses import replace

import pytest

from sparkdl.training.report.curves import evaluation_curves
from sparkdl.training.report.page import page
from sparkdl.training.report.run import Run
from sparkdl.training.report.waits import DRIVER
from tests.support.browser import needs_browser, open_page
from tests.training.report.fits import FIGURES, history, inspection, network

pytestmark = [needs_browser, pytest.mark.slow]

SLOW = FIGURES._replace(compute=1.45)
REASON = "for worker 1, the slowest, which was computing"
LOOK = """
const figure = (id) => document.getElementById(id);
const paths = (id) => [...figure(id).querySelectorAll("path.curve")].map((p) => p.dataset.name);
const ticks = (id) => [...figure(id).querySelectorAll("svg text[text-anchor=middle]")]
  .map((text) => text.textContent);
const press = (id, key) => figure(id).querySelector("svg")
  .dispatchEvent(new KeyboardEvent("keydown", {key, cancelable: true}));
seen.charts = [...document.querySelectorAll("figure.chart")].map((one) => [one.id,
  one.querySelectorAll("path.curve[d^=M], rect[fill]").length]);
seen.curves = paths("loss");
seen.restart = [...document.querySelectorAll("line.restart")].map((l) => [l.dataset.second,
  l.textContent]);
seen.reasons = [...figure("timeline-a").querySelectorAll("rect[data-kind=waiting] title")]
  .map((title) => title.textContent);
seen.ratio = figure("ratios-a").querySelector("path.curve").dataset.name;
seen.small = ["weights", "gradients", "updates"].map((name) =>
  figure(`${name}-a`).querySelectorAll(".grid-of-small svg").length);
const drawing = document.querySelector("svg.network");
const boxes = [...drawing.querySelectorAll("rect.box")].map((one) => one.getBoundingClientRect());
seen.boxes = boxes.map((one) => Math.round(one.top - boxes[0].top));
seen.fits = [...drawing.querySelectorAll("text")].every((text) => {
  const box = text.getBoundingClientRect();
  return boxes.some((one) => box.left >= one.left && box.right <= one.right && box.top >= one.top);
});
const image = document.querySelector('img[alt="example 7"]');
await image.decode();
seen.image = [image.naturalWidth, image.naturalHeight, image.alt];
seen.kinds = [...new Set([...figure("timeline-a").querySelectorAll("rect")]
  .map((rect) => rect.dataset.kind))];

seen.before = ticks("loss");
press("loss", "+");
seen.zoomed = ticks("loss");
press("loss", "0");
seen.whole = ticks("loss");

const box = figure("loss").querySelector("svg").getBoundingClientRect();
const drag = (type, share) => figure("loss").querySelector("svg").dispatchEvent(
  new PointerEvent(type, {clientX: box.left + share * box.width, clientY: box.top + 50}));
drag("pointerdown", 0.5); drag("pointermove", 0.8); drag("pointerup", 0.8);
seen.dragged = ticks("loss");
press("loss", "0");

press("loss", "ArrowRight");
seen.readout = figure("loss").querySelector(".readout").textContent;

figure("loss").querySelector("button").click();
seen.hidden = [paths("loss"), figure("loss").querySelector("button").ariaPressed];
figure("loss").querySelector("button").click();

const select = figure("loss").querySelector("select");
select.value = "second"; select.dispatchEvent(new Event("change"));
seen.by_second = ticks("loss");
const log = figure("loss").querySelector("input[type=checkbox]");
const levels = () => [...figure("loss").querySelectorAll("svg text[text-anchor=end]")]
  .map((text) => text.textContent);
seen.linear = levels();
log.checked = true; log.dispatchEvent(new Event("change"));
seen.log = levels();
const slider = figure("loss").querySelector("input[type=range]");
const curve = () => figure("loss").querySelector("path.curve").getAttribute("d");
const rough = curve();
slider.value = 0.9; slider.dispatchEvent(new Event("input"));
seen.smoothing_changes = curve() !== rough;
seen.wider_than_the_window = document.documentElement.scrollWidth > innerWidth;
seen.paper = getComputedStyle(document.body).backgroundColor;
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return open_page(tmp_path_factory.mktemp("page"), text(), LOOK)


def text(*others):
    made = history()
    made.rounds = [replace(one, by_worker=(FIGURES, SLOW)) for one in made.rounds]
    made.inspection = inspection()
    runs = [Run.of("a", made, network()), *(Run.of(name, history()) for name in others)]
    return page(runs, "A fit")


def test_each_chart_has_data_and_no_error(seen):
    assert seen["errors"] == []
    ids = ["loss", "figures", "throughput", "rate", "timeline-a", "roc-a", "ratios-a", "dead-a"]
    ids += ["weights-a", "gradients-a", "updates-a"]
    assert [one for one, _ in seen["charts"]] == ids
    assert all(drawn for _, drawn in seen["charts"])
    assert seen["curves"] == ["loss", "loss of evaluation"]


def test_the_network_its_layers_and_wrong_examples_are_there(seen):
    assert seen["ratio"] == "dense_1/W" and seen["small"] == [4, 4, 4]
    assert seen["boxes"][0] == 0 and sorted(set(seen["boxes"])) == seen["boxes"]
    assert len(seen["boxes"]) == 3 and seen["fits"]
    assert seen["image"] == [8, 8, "example 7"]


def test_the_timeline_shows_the_restart_at_its_second(seen):
    [(second, text)] = seen["restart"]
    assert second == "11" and text.startswith("worker 1 </script>")
    assert {"compute", "averaging", "starting", "waiting"} <= set(seen["kinds"])
    assert len(seen["reasons"]) == 12 and set(seen["reasons"]) == {REASON, DRIVER}


def test_keys_and_the_pointer_zoom(seen):
    assert seen["before"] == ["5", "10", "15", "20", "25", "30", "update"] == seen["whole"]
    for name in ("zoomed", "dragged"):
        shown = [float(tick) for tick in seen[name][:-1]]
        assert shown and shown[0] > 5 and shown[-1] < 30 and len(shown) >= 2


def test_the_cursor_reads_out(seen):
    """After the drag the cursor is at update 24.9; a key moves it by half an update."""
    last = evaluation_curves(Run.of("a", history()))["loss"][-1]
    assert seen["readout"] == f"loss: 0.04 at 25; loss of evaluation: {last:.5g} at 30"


def test_curves_can_be_hidden_and_the_axis_changed(seen):
    assert seen["hidden"] == [["loss of evaluation"], "false"]
    assert seen["by_second"][-1] == "second" and seen["by_second"] != seen["before"]
    assert seen["log"] != seen["linear"] and seen["smoothing_changes"]


def test_a_phone_scrolls_down_only(tmp_path):
    seen = open_page(tmp_path, text(), LOOK, width=500)
    assert seen["errors"] == [] and not seen["wider_than_the_window"]


def test_a_dark_room_gets_dark_paper_and_several_fits_lie_over_each_other(seen, tmp_path):
    dark = open_page(tmp_path, text("b"), LOOK, dark=True)
    assert seen["paper"] == "rgb(255, 255, 255)" and dark["paper"] == "rgb(18, 22, 28)"
    names = ["a: loss", "b: loss", "a: loss of evaluation", "b: loss of evaluation"]
    assert dark["curves"] == names and dark["errors"] == []


EDGES = """
const marks = (id) => [...document.querySelectorAll(`#${id} circle`)].map((dot) =>
  ["cx", "cy", "fill"].map((name) => dot.getAttribute(name)));
seen.marks = marks("loss").length;
seen.first = [marks("loss")[0][0], document.querySelector("#loss path.curve").getAttribute("d")];
seen.cut = [...document.querySelectorAll("figure.chart > svg text")].filter((text) => {
  const box = text.getBBox();
  return box.x < 0 || box.x + box.width > text.ownerSVGElement.viewBox.baseVal.width;
}).map((text) => text.textContent);
seen.wide = [...document.querySelectorAll("button")].filter((one) =>
  one.getBoundingClientRect().right > innerWidth).length;
seen.isolated = getComputedStyle(document.querySelector("th")).unicodeBidi;
seen.names = document.querySelectorAll("#loss button bdi").length;
"""


def test_what_stands_alone_is_drawn_and_no_text_is_cut(tmp_path):
    made = history(epochs=1, rounds=7)
    losses = 2.0, math.nan, 1.0, math.nan, 0.6931471, 0.6931473, math.nan
    lanes = tuple([FIGURES] * 12)
    made.rounds = [
        replace(one, loss=loss, iteration=200_000 * n, by_worker=lanes)
        for n, (one, loss) in enumerate(zip(made.rounds, losses, strict=True), 1)
    ]
    runs = [Run.of("name" * 30, made), Run.of("flat", flat())]
    seen = open_page(tmp_path, page(runs, "A fit"), EDGES, width=500)
    assert seen["errors"] == []
    assert seen["marks"] == 2 + 2, "rounds 1 and 3 of the first, an evaluation each"
    place, path = seen["first"]
    assert path.startswith(f"M{float(place):.1f},") and path.count("L") == 1
    assert seen["cut"] == [] and seen["wide"] == 0
    assert seen["isolated"] == "isolate" and seen["names"] == 4


def flat():
    """Returns a fit with many updates whose losses differ only in the seventh digit."""
    made = history(epochs=1, rounds=8)
    made.rounds = [
        replace(one, loss=0.6931471 + 1e-7 * n, iteration=1_234_800 * (n + 1))
        for n, one in enumerate(made.rounds)
    ]
    return made


TICKS = {
    "large integers": ("0, 1234800", ["0", "500000", "1000000"]),
    "a narrow range of large ones": (
        "1000000, 1000500",
        ["1000000", "1000100", "1000200", "1000300", "1000400", "1000500"],
    ),
    "losses that hardly differ": (
        "2.30258, 2.30259",
        ["2.302580", "2.302582", "2.302584", "2.302586", "2.302588", "2.302590"],
    ),
    "fractions": ("0, 2", ["0", "0.5", "1.0", "1.5", "2.0"]),
    "small numbers": ("1e-7, 3e-7", ["1.0e-7", "1.5e-7", "2.0e-7", "2.5e-7", "3.0e-7"]),
    "around zero": ("-1, 1", ["-1.0", "-0.5", "0", "0.5", "1.0"]),
    "numbers beyond all digits": (
        "1e15, 3e15",
        ["1.0e+15", "1.5e+15", "2.0e+15", "2.5e+15", "3.0e+15"],
    ),
    "powers of ten": ("-1, 3, true", ["0.1", "1", "10", "100", "1000"]),
    "a part of one": (
        "Math.log10(0.6), Math.log10(0.9), true",
        ["0.6", "0.7", "0.8", "0.9"],
    ),
}
NUMBERS = {
    "123456": "123456",
    "1234560": "1234560",
    "1e15": "1.000e+15",
    "123456.7": "123457",
    "1234.567": "1234.6",
    "0.5": "0.5",
    "1e-4": "1.000e-4",
    "null": "-",
}


def test_ticks_and_numbers_have_the_digits_that_they_need(tmp_path):
    asked = {
        name: f"ticksOf({range_}).map((tick) => tick[1])" for name, (range_, _) in TICKS.items()
    }
    asked |= {number: f"format({number})" for number in NUMBERS}
    script = "".join(f"seen[{json.dumps(name)}] = {call};\n" for name, call in asked.items())
    seen = open_page(tmp_path, page([Run.of("a", history())]), script)
    expected = {name: ticks for name, (_, ticks) in TICKS.items()} | NUMBERS
    assert seen == expected | {"errors": []}
