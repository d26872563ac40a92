"""Parts of the page with an Inspector's results: layers and their costs."""

from sparkdl.html_elements import table
from sparkdl.nn.networks.summary import size
from sparkdl.training.report.curves import short
from sparkdl.training.report.weights import MOST

POINTS = 200  # most inspections in a chart
ABSENT = (
    "Gradients, updates, dead units and costs of layers are not known: "
    "give the fit Inspector(sample) before the listener that makes this page."
)
MORE = f"Charts and histograms show the first {MOST} arrays of parameters."
HEAD = "layer", "forward ms", "backward ms", "% of step", "MFLOP", "results take", "kernels"


def layer_curves(inspection):
    """Returns {"update", "ratios": {array: list}, "dead": {layer: list}} of some inspections."""
    if inspection is None or not inspection.layers:
        return {}
    step = -(-len(inspection.layers) // POINTS)
    reports = inspection.layers[::-1][::step][::-1]  # includes the last one
    names, rectifiers = list(reports[-1].arrays)[:MOST], reports[-1].dead
    return {
        "update": [report.iteration for report in reports],
        "ratios": {name: short(one.arrays[name].ratio for one in reports) for name in names},
        "dead": {name: short(share(one.dead[name]) for one in reports) for name in rectifiers},
    }


def share(dead):
    return dead[0] / dead[1]


def cost_table(inspection):
    """Returns a table of each layer's cost in a step, or None if not measured."""
    if inspection is None or not inspection.costs:
        return None
    total = sum(cost.forward + cost.backward for cost in inspection.costs)
    rows = [cost_row(cost, total) for cost in inspection.costs]
    text = f"A step of {inspection.batch_size} examples on the driver's processor, random data"
    return table(HEAD, rows, text)


def cost_row(cost, total):
    seconds = cost.forward + cost.backward
    times = [1e3 * cost.forward, 1e3 * cost.backward, 100 * seconds / (total or 1)]
    return [cost.name, *times, cost.flops / 1e6, size(cost.bytes), cost.kernels]


def figures_table(inspection):
    """Returns a table of each array's figures after the last inspection."""
    if inspection is None or not inspection.layers:
        return None
    last = inspection.layers[-1]
    rows = [[name, *figures, figures.ratio] for name, figures in last.arrays.items()]
    head = ["array", "mean |parameter|", "mean |gradient|", "mean |update|", "log10 ratio"]
    return table(
        head, rows, f"After {last.iteration:,} updates, of {inspection.batch_size} examples"
    )
