"""Costs of each layer of a network in a training step: time, operations, memory, kernels."""

from typing import NamedTuple

from sparkdl.nn.execution.timing import BACKWARD, profile_steps


class LayerCost(NamedTuple):
    """The costs of one layer in a training step.

    Parameters
    ----------
    name : str
        The layer; "loss": work outside all layers; "update": the optimizer.
    forward, backward : float
        Seconds, medians over several steps. 0 if kernels of another layer do the work.
    flops : int
        Both passes together.
    bytes : int
        The size of its results in both passes. A program reuses memory, so its arena is smaller
        than their sum.
    kernels : str
        Kernels of the forward pass, or of the backward pass if there is no other, in order.
    """

    name: str
    forward: float
    backward: float
    flops: int
    bytes: int
    kernels: str


def layer_costs(replica, batch_size, repeats=3):
    """Returns the LayerCost of each layer, the loss and the update, measured on random data.

    The replica's vectors are overwritten.
    """
    names = [place.name for place in replica.conf.stack]
    gradient, update = replica.programs(batch_size)
    rows = {name: ([], []) for name in [*names, "loss", "update"]}
    for step, took in profile_steps(gradient, repeats):
        layer = step.scope.removesuffix(BACKWARD)
        backward = f":{step.scope}".endswith(BACKWARD)
        rows[layer if layer in rows else "loss"][backward].append((step, took))
    rows["update"][0].extend(profile_steps(update, repeats))
    return [cost_of(name, *passes) for name, passes in rows.items()]


def cost_of(name, forward, backward):
    """Returns the LayerCost of a layer, given the (step, Pass) pairs of its two passes."""
    kernels = dict.fromkeys(step.kernel for step, _ in forward or backward)
    return LayerCost(
        name,
        sum(took.seconds for _, took in forward),
        sum(took.seconds for _, took in backward),
        sum(took.flops for _, took in [*forward, *backward]),
        sum(step.bytes for step, _ in [*forward, *backward]),
        ", ".join(kernels),
    )
