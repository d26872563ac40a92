"""The drawing of a network: a box per layer, placed below its inputs and connected to them."""

from xml.etree.ElementTree import fromstring

import pytest

from sparkdl import zoo
from sparkdl.html_elements import text_of
from sparkdl.nn.networks import picture as module
from sparkdl.nn.networks.picture import HEIGHT, network_picture, place_boxes
from tests.training.report.fits import CONF, inspection


def parts(conf, costs=()):
    """Returns (texts of the boxes, their corners, endpoints of the lines)."""
    picture = fromstring(text_of(network_picture(conf, costs)))
    corners = [(float(r.get("x")), float(r.get("y"))) for r in picture.iter("rect")][::2]
    edges = [path.get("d") for path in picture.iter("path")]
    return [text.text for text in picture.iter("text")], corners, edges


@pytest.mark.slow
def test_boxes_say_what_their_layers_are():
    texts, corners, edges = parts(CONF)
    assert texts[:5] == ["features", "input (4,)", "dense_1", "Dense (5,)", "25 parameters"]
    assert len(corners) == 3 and len(edges) == 2


def test_costs_stand_in_the_boxes():
    texts, _, _ = parts(CONF, inspection().costs)
    assert "3.00 + 4.00 ms, 2.0 MFLOP" in texts and "1.00 + 1.00 ms" in texts
    assert "4.1 kB, brg:avx512_core" in texts and "512 B, compiled loop" in texts


def test_long_lines_are_cut_and_whole_in_the_title():
    costs = [inspection().costs[0]._replace(kernels="a kernel, " * 9)]
    texts, _, _ = parts(CONF, costs)
    assert "4.1 kB, a kernel, a kernel, a..." in texts
    assert costs[0].kernels in text_of(network_picture(CONF, costs))


@pytest.mark.parametrize("conf", [CONF, zoo.googlenet(), zoo.resnet18()], ids=["chain", "a", "b"])
def test_no_box_covers_another_and_all_read_from_above(conf):
    boxes = place_boxes(conf)
    assert len(set(boxes.values())) == len(boxes) == len(conf.input_shapes) + len(conf.stack)
    for place in conf.stack:
        for source in place.sources:
            assert boxes[source][1] + HEIGHT < boxes[place.name][1]
    _, corners, edges = parts(conf)
    assert len(corners) == len(boxes)
    assert len(edges) == sum(len(place.sources) for place in conf.stack)


def test_a_very_large_network_has_its_table_alone(monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    assert network_picture(CONF) is None
