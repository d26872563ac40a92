"""What each layer of a network costs in a training step: time, operations, memory, kernels."""

from typing import NamedTuple

from sparkdl.nn.execution.timing import BACKWARD, profile_steps


class LayerCost(NamedTuple):
    """One layer of a training step.

    Parameters
    ----------
    name : str
        Of the layer; "loss": what belongs to none; "update": the optimizer.
    forward, backward : float
        Seconds, medians over some steps. 0 where another layer's kernels do its work.
    flops : int
        Of both passes.
    bytes : int
        That its results take in both passes. A program reuses memory, so its arena is smaller than
        their sum.
    kernels : str
        Of the forward pass, or of the only one there is, in their order.
    """

    name: str
    forward: float
    backward: float
    flops: int
    bytes: int
    kernels: str


def layer_costs(replica, batch_size, repeats=3):
    """Returns the LayerCost of each layer, of the loss and of the update, on random data.

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
    """Returns the LayerCost of the (step, Pass) of its two passes."""
    kernels = dict.fromkeys(step.kernel for step, _ in forward or backward)
    return LayerCost(
        name,
        sum(took.seconds for _, took in forward),
        sum(took.seconds for _, took in backward),
        sum(took.flops for _, took in [*forward, *backward]),
        sum(step.bytes for step, _ in [*forward, *backward]),
        ", ".join(kernels),
    )
