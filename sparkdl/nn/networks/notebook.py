"""HTML display of a network in notebooks (Jupyter's _repr_html_): its table and picture."""

from math import prod
from typing import TYPE_CHECKING

from sparkdl.html_elements import element, table, text_of
from sparkdl.nn.networks.picture import network_picture
from sparkdl.nn.networks.summary import memory, parameters, size

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf

HEAD = "layer", "type", "reads", "output shape", "parameters"
BATCH = 64  # examples per step, for the memory shown


def conf_html(conf: "Conf") -> str:
    """Returns the layers of a network as an HTML table, its memory, and an expandable picture."""
    rows = [
        [
            place.name,
            place.layer.type_name,
            ", ".join(place.sources),
            str(place.out_shape),
            sum(map(prod, place.param_shapes.values()))
            if place.owner == place.name
            else parameters(place),
        ]
        for place in conf.stack
    ]
    parts = memory(conf, BATCH)
    text = ", ".join(f"{name} {size(count)}" for name, count in parts.items())
    total = f"a step of {BATCH} examples takes {size(sum(parts.values()))} ({text})"
    picture = network_picture(conf)
    heading = f"{type(conf).__name__}: {conf.parameter_count:,} parameters"
    shown = element("details", element("summary", "As a picture"), picture)
    return text_of(
        element(
            "div",
            table(HEAD, rows, heading),
            element("p", total),
            None if picture is None else shown,
        )
    )
