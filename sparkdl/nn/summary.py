"""A network as a table that people read."""

from math import prod

HEAD = ("layer", "type", "output shape", "parameters")


def summary(network, batch_size):
    """Layers, output shapes of one example, parameters; the total; the memory of a step."""
    rows = [
        (p.name, p.layer.type_name, str(p.out_shape), f"{count(p.param_shapes):,}")
        for p in network.stack
    ]
    total = ("total", "", "", f"{network.parameter_count:,}")
    first = ("input", "", str(network.input_shape), "")
    parts = memory(network, batch_size)
    text = ", ".join(f"{name} {size(n)}" for name, n in parts.items())
    last = f"memory per step of {batch_size} examples: {size(sum(parts.values()))} ({text})"
    return "\n".join([*table(HEAD, [first, *rows], total), "", last])


def memory(network, batch_size):
    """Bytes of {parameters, gradients, slots, buffers, activations} while a batch is trained.

    Activations are the input and the output of each layer, which the way back needs. A program
    that reuses memory may need less, a convolution's workspace comes on top.
    """
    item = 4
    values = prod(network.input_shape) + sum(prod(place.out_shape) for place in network.stack)
    return {
        "parameters": item * network.parameter_count,
        "gradients": item * network.parameter_count,
        "slots": item * network.slots_layout.size,
        "buffers": item * network.buffers_layout.size,
        "activations": item * batch_size * values,
    }


def count(shapes):
    return sum(prod(shape) for shape in shapes.values())


def size(n):
    """Bytes in a unit that keeps the number short."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000


def table(head, rows, total):
    """Lines in columns, the last one to the right."""
    widths = [max(len(row[i]) for row in [head, *rows, total]) for i in range(len(head))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [line(row, widths) for row in rows]
    return [line(head, widths), rule, *lines, rule, line(total, widths)]


def line(row, widths):
    *left, right = zip(row, widths)
    cells = [*(cell.ljust(width) for cell, width in left), right[0].rjust(right[1])]
    return "  ".join(cells).rstrip()
