"""Text table of a network."""

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.nn.networks.placement import PlacedLayer


HEAD = ("layer", "type", "output shape", "parameters")


def summary(network: "Conf", batch_size: int) -> str:
    """Returns a table of layers, output shapes and parameters, with the memory of a step.

    If layers branch or join, an extra column shows what each one reads.
    """
    stack, inputs = network.stack, network.input_shapes
    rows: list[tuple[str, ...]]
    rows = [("input" if len(inputs) == 1 else n, "", str(s), "") for n, s in inputs.items()]
    rows += [(p.name, p.layer.type_name, str(p.out_shape), parameters(p)) for p in stack]
    rows = [HEAD, *rows, ("total", "", "", f"{network.parameter_count:,}")]
    if branches(network):
        reads = ["inputs", *("" for _ in inputs), *(", ".join(p.sources) for p in stack), ""]
        rows = [(*row[:2], read, *row[2:]) for row, read in zip(rows, reads)]
    parts = memory(network, batch_size)
    text = ", ".join(f"{name} {size(n)}" for name, n in parts.items())
    last = f"memory per step of {batch_size} examples: {size(sum(parts.values()))} ({text})"
    return "\n".join([*table(rows), "", last])


def branches(network: "Conf") -> bool:
    """Returns whether any layer reads anything but the output of the layer before it."""
    names = [*network.input_shapes, *(place.name for place in network.stack)]
    before = zip(names[len(network.input_shapes) - 1 :], network.stack)
    return any(place.sources != (name,) for name, place in before)


def memory(network: "Conf", batch_size: int) -> dict[str, int]:
    """Returns the bytes of {parameters, gradients, slots, buffers, activations} in training.

    Activations are the inputs of the network and the outputs of all layers, kept for the backward
    pass. A program that reuses memory may need less; workspaces of convolutions come on top.
    """
    item = 4
    shapes = [*network.input_shapes.values(), *(place.out_shape for place in network.stack)]
    values = sum(map(prod, shapes))
    return {
        "parameters": item * network.parameter_count,
        "gradients": item * network.parameter_count,
        "slots": item * network.slots_layout.size,
        "buffers": item * network.buffers_layout.size,
        "activations": item * batch_size * values,
    }


def parameters(place: "PlacedLayer") -> str:
    """Returns the number of a layer's parameters as text, or the layer that owns them."""
    if place.owner != place.name:
        return f"those of {place.owner}"
    return f"{sum(prod(shape) for shape in place.param_shapes.values()):,}"


def size(n: float) -> str:
    """Formats bytes in a unit that keeps the number short."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            break
        n /= 1000
    return f"{n} {unit}" if unit == "B" else f"{n:.1f} {unit}"


def table(rows: list[tuple[str, ...]], numbers: int = 1) -> list[str]:
    """Formats rows as aligned columns, the last `numbers` to the right, with two rules."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    head, *body, total = [line(row, widths, numbers) for row in rows]
    return [head, rule, *body, rule, total]


def line(row: tuple[str, ...], widths: list[int], numbers: int) -> str:
    columns = list(zip(row, widths))
    cells = [cell.ljust(width) for cell, width in columns[:-numbers]]
    cells += [cell.rjust(width) for cell, width in columns[-numbers:]]
    return "  ".join(cells).rstrip()
