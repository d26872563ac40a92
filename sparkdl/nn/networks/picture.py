"""SVG picture of a network: one box per layer, below those that it reads."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from sparkdl.html_elements import element
from sparkdl.nn.networks.summary import size

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.nn.networks.placement import PlacedLayer

Corner = tuple[float, float]

WIDTH, HEIGHT, ACROSS, DOWN = 208, 81, 16, 30  # of a box, and gaps between boxes
LETTERS = 32  # per line of a box
MOST = 300  # boxes; a larger network only has its table
TEXT = {"fill": "#1c2330", "font_size": 11, "font_family": "sans-serif"}  # a page may restyle it


def network_picture(conf: "Conf", costs: Sequence[Any] = ()) -> Element | None:
    """Returns the SVG of a network, or None if it has too many layers.

    Boxes show the layer's name, type, output shape and parameters. With `costs`, a sequence of
    LayerCost, they also show its time, operations, memory and kernels, colored by its share of the
    time.
    """
    boxes = place_boxes(conf)
    if len(boxes) > MOST:
        return None
    by_name = {cost.name: cost for cost in costs}
    total = sum(cost.forward + cost.backward for cost in costs)
    pairs = [(source, place.name) for place in conf.stack for source in place.sources]
    lines = [edge(boxes[upper], boxes[lower]) for upper, lower in pairs]
    drawn = [
        box(boxes[name], [name, f"input {shape}"]) for name, shape in conf.input_shapes.items()
    ]
    for place in conf.stack:
        cost = by_name.get(place.name)
        drawn.append(box(boxes[place.name], texts_of(place, cost), share_of(cost, total)))
    width = max(x for x, _ in boxes.values()) + WIDTH + 2
    height = max(y for _, y in boxes.values()) + HEIGHT + 2
    options = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    title = element("title", f"The network: {len(conf.stack)} layers, which the table lists")
    picture = element("svg", title, lines, drawn, role="img", class_="network", **options)
    return element("div", picture, class_="scroll", tabindex="0", role="group")


def place_boxes(conf: "Conf") -> dict[str, Corner]:
    """Returns {input or layer: (x, y)} of the top left corner of its box."""
    rows = dict.fromkeys(conf.input_shapes, 0)
    for place in conf.stack:
        rows[place.name] = 1 + max(rows[source] for source in place.sources)
    taken: dict[int, int] = {}
    boxes: dict[str, Corner] = {}
    for name, row in rows.items():
        column = taken[row] = taken.get(row, -1) + 1
        boxes[name] = (1 + column * (WIDTH + ACROSS), 1 + row * (HEIGHT + DOWN))
    return boxes


def texts_of(place: "PlacedLayer", cost: Any) -> list[str]:
    """Returns the lines in the box of a layer."""
    parameters = sum(map(prod, place.param_shapes.values()))
    shared = (
        f"those of {place.owner}" if place.owner != place.name else f"{parameters:,} parameters"
    )
    lines = [place.name, f"{place.layer.type_name} {place.out_shape}", shared]
    if cost is not None:
        times = f"{1e3 * cost.forward:.2f} + {1e3 * cost.backward:.2f} ms"
        lines.append(times + f", {operations(cost.flops)}" * bool(cost.flops))
        lines.append(f"{size(cost.bytes)}, {cost.kernels}")
    return lines


def operations(flops: float) -> str:
    return f"{flops / 1e6:,.1f} MFLOP" if flops < 1e9 else f"{flops / 1e9:,.1f} GFLOP"


def share_of(cost: Any, total: float) -> float:
    return 0.0 if cost is None or not total else (cost.forward + cost.backward) / total


def box(corner: Corner, lines: list[str], share: float = 0.0) -> list[Any]:
    """Returns the box of an input or layer with its lines of text."""
    x, y = corner
    frame = {"x": x, "y": y, "width": WIDTH, "height": HEIGHT, "rx": 5}
    heat = element(
        "rect", class_="heat", fill="#e8702a", fill_opacity=f"{0.7 * share:.2f}", **frame
    )
    texts = [
        element("text", cut(line), x=x + 8, y=y + 15 * n, class_=kind, **TEXT)
        for n, (line, kind) in enumerate(zip(lines, ["first", *["more"] * len(lines)]), 1)
    ]
    colors = {"fill": "#f6f8fa", "stroke": "#d5dae1"}
    is_cut = any(len(line) > LETTERS for line in lines)
    whole = element("title", "\n".join(lines)) if is_cut else None
    return [element("g", whole, element("rect", class_="box", **colors, **frame), heat, texts)]


def cut(line: str) -> str:
    """Cuts a line to the width of a box, whose title has it in full."""
    return line if len(line) <= LETTERS else f"{line[: LETTERS - 3]}..."


def edge(upper: Corner, lower: Corner) -> Element:
    """Returns the line from a box to one below it."""
    x, y = upper[0] + WIDTH / 2, upper[1] + HEIGHT
    to_x, to_y = lower[0] + WIDTH / 2, lower[1]
    bend = DOWN / 2 if lower[1] - upper[1] < 2 * HEIGHT else HEIGHT
    path = f"M{x:g},{y}C{x:g},{y + bend:g} {to_x:g},{to_y - bend:g} {to_x:g},{to_y}"
    return element("path", d=path, class_="edge", fill="none", stroke="#5c6675")
