"""Update ratios, and the replacement of reports from lost rounds."""

import math

import pytest

from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import ArrayFigures, Inspection, LayerReport


def at(iteration, parameter=1.0):
    arrays = {"dense_1/W": ArrayFigures(parameter, 0.1, 0.001)}
    return LayerReport(iteration=iteration, epoch=0, arrays=arrays)


def iterations(inspection):
    return [report.iteration for report in inspection.layers]


@pytest.mark.parametrize("parameter, update, ratio", [(2.0, 0.002, -3), (0.5, 5, 1)])
def test_the_ratio_is_the_logarithm(parameter, update, ratio):
    assert ArrayFigures(parameter, 0.0, update).ratio == pytest.approx(ratio)


@pytest.mark.parametrize("parameter, update", [(0, 1), (1, 0), (math.nan, 1), (1, math.inf)])
def test_there_is_no_ratio_to_nothing(parameter, update):
    assert ArrayFigures(parameter, 1.0, update).ratio is None


def test_reports_of_lost_rounds_are_replaced():
    made = Inspection()
    for iteration in (5, 10, 15, 10):
        made.add(at(iteration))
    assert iterations(made) == [5, 10]


def test_a_later_part_of_a_fit_comes_behind():
    first, second = History(inspection=Inspection()), History(inspection=Inspection(examples=7))
    first.inspection.add(at(5))
    second.inspection.add(at(10))
    first.extend(second)
    assert iterations(first.inspection) == [5, 10] and first.inspection.examples == 7
    first.extend(History())
    assert iterations(first.inspection) == [5, 10]
