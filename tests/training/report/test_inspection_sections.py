"""Sections on an Inspector's reports, and the text shown without any."""

import re

from sparkdl.html_elements import text_of
from sparkdl.training.report.inspection_sections import (
    ABSENT,
    POINTS,
    cost_table,
    figures_table,
    layer_curves,
)
from sparkdl.training.report.page import page
from sparkdl.training.report.run import Run
from tests.training.report.fits import history, inspection, network


def cells(made):
    return re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", text_of(made))


def test_curves_are_those_of_the_reports():
    curves = layer_curves(inspection())
    assert curves["update"] == [10, 20, 30] and curves["dead"] == {"dense_1": [0.2, 0.4, 0.6]}
    assert curves["ratios"]["output_1/b"] == [-0.69897, -1.69897, -2.69897]


def test_many_inspections_are_thinned_and_the_last_is_kept():
    curves = layer_curves(inspection(1001))
    assert len(curves["update"]) <= POINTS and curves["update"][-1] == 10_010


def test_tables_say_what_was_measured():
    made = inspection()
    costs = cells(cost_table(made))
    assert costs[7:14] == ["dense_1", "3", "4", "70", "2", "4.1 kB", "brg:avx512_core"]
    figures = cells(figures_table(made))
    assert figures[5:10] == ["dense_1/W", "0.5", "0.3", "0.001", "-2.699"]


def test_a_fit_without_inspector_says_how_to_get_one():
    made = history()
    assert ABSENT in page([Run.of("a", made, network())])
    made.inspection = inspection()
    assert ABSENT not in page([Run.of("a", made, network())])


def test_nothing_inspected_is_nothing_shown():
    empty = inspection(0)
    empty.costs = []
    assert (layer_curves(empty), cost_table(empty), figures_table(empty)) == ({}, None, None)
    assert (layer_curves(None), cost_table(None), figures_table(None)) == ({}, None, None)
