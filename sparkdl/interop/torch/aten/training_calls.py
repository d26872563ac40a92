"""What a module calls in training that it does not call in evaluation, the mode that is read."""

import logging
from collections import Counter, defaultdict

from sparkdl.errors import brief
from sparkdl.interop.torch.aten.attention import submodule
from sparkdl.interop.torch.aten.node import module_paths, named_arguments

log = logging.getLogger(__name__)
DROPS = ("dropout", "feature_dropout", "scaled_dot_product_attention")
COUNT = "torch.int64"  # of the batches that a BatchNorm has seen
OWN = "MultiheadAttention"  # a layer of ours, with its dropout


def export_training(torch, module, inputs):
    """Returns the graph of a module in training mode; None, with a warning, if it has none."""
    module.train()
    try:
        return torch.export.export(module, inputs).graph
    except Exception as error:  # of the user's code
        log.warning(
            "%s cannot be exported in training mode, so attention has no dropout, and a "
            "branch on `self.training` goes unnoticed: %s", type(module).__name__, brief(error)
        )  # fmt: skip
        return None


def training_options(evaluated, trained, module):
    """Returns {call of the graph in evaluation: its arguments in training}, of calls that drop.

    Warns of all calls that only one of both graphs has, since the network makes those of
    evaluation.
    """
    if trained is None:
        return {}
    graphs = [calls_of(graph, module) for graph in (evaluated, trained)]
    groups = [calls_by_key(calls) for calls in graphs]
    found = {}
    for key in groups[0].keys() & groups[1].keys():
        pair = [group[key] for group in groups]
        if key[0] in DROPS and len(pair[0]) == len(pair[1]):
            found |= {
                call: named_arguments(other, other.args, other.kwargs)
                for call, other in zip(*pair, strict=True)
            }
    warn(*(Counter(calls.values()) for calls in graphs))
    return found


def calls_by_key(calls):
    """Returns {key: [call, ...]} of {call: key}."""
    groups = defaultdict(list)
    for call, key in calls.items():
        groups[key].append(call)
    return groups


def calls_of(graph, module):
    """Returns {call: (operation, module's path, numbers among its arguments)}."""
    kinds, found = defaultdict(str), {}
    for call in graph.nodes:
        kinds[call] = str(getattr(call.meta.get("val"), "dtype", ""))
        schema = getattr(call.target, "_schema", None)
        paths = module_paths(call)
        own = any(type(submodule(module, path)).__name__ == OWN for path in paths)
        counts = call.args and kinds.get(call.args[0]) == COUNT and kinds[call] == COUNT
        if call.op != "call_function" or schema is None or own or counts:
            continue
        name = schema.name.split("::")[-1]
        if not name.startswith("_assert"):
            found[call] = (name, paths[-1] if paths else "", numbers_of(name, call))
    return found


def numbers_of(name, call):
    """Returns the numbers among a call's arguments, less the rate of attention's dropout."""
    values = named_arguments(call, call.args, call.kwargs).items()
    numbers = {key: value for key, value in values if type(value) in (int, float)}
    if name in DROPS:
        numbers.pop("dropout_p", None)
    return tuple(sorted(numbers.items()))


def warn(evaluated, trained):
    """Logs the calls that only one mode makes."""
    only = {"training": trained - evaluated, "evaluation": evaluated - trained}
    texts = [
        f"in {mode} only it calls {brief([of_module(*key) for key in calls])}"
        for mode, calls in only.items()
        if calls
    ]
    if texts:
        log.warning(
            "the module computes otherwise in training than in evaluation, and the network does "
            "in both what the module does in evaluation: %s", "; ".join(texts)
        )  # fmt: skip


def of_module(name, path, numbers):
    return f"{name} of {path}" if path else name
