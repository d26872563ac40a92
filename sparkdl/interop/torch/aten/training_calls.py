"""What a module calls in training that it does not call in evaluation, the mode that is read."""

import logging
from collections import Counter, defaultdict

from sparkdl.errors import brief
from sparkdl.interop.torch.aten.attention import submodule
from sparkdl.interop.torch.aten.exported_graph import export_module
from sparkdl.interop.torch.aten.node import module_paths, named_arguments

log = logging.getLogger(__name__)
OPTIONS = {  # arguments that the network takes from training
    "batch_norm": ("training",),
    "dropout": ("p", "train"),
    "feature_dropout": ("p", "train"),
    "gru": ("train",),
    "lstm": ("train",),
    "rnn_tanh": ("train",),
    "scaled_dot_product_attention": ("dropout_p",),
}
MODES = ("train", "training")
COUNT = "torch.int64"  # of the batches that a BatchNorm has seen
OWN = "MultiheadAttention"  # a layer of ours, with its dropout


class TrainingMode:
    """What a module does in training.

    Parameters
    ----------
    graph : torch.fx.Graph, or None
        None if it cannot be exported in training mode.
    fixed : set of str
        Paths of the modules that stay in evaluation, by a `train` of the module's own.
    """

    def __init__(self, graph, fixed):
        self.graph, self.fixed, self.options = graph, fixed, {}

    def compare(self, evaluated, module):
        """Pairs the calls of the graph in evaluation with those in training.

        Warns of all calls that only one of both graphs has, since the network makes those of
        evaluation.
        """
        if self.graph is None:
            return
        graphs = [calls_of(graph, module) for graph in (evaluated, self.graph)]
        paired = dict(pairs(*graphs, lambda key: key))
        paired |= pairs(*without(graphs, paired), lambda key: key[0] in OPTIONS and key[:2])
        self.options = {
            call: {
                name: value
                for name, value in named_arguments(other, other.args, other.kwargs).items()
                if name in OPTIONS.get(graphs[0][call][0], ())
            }
            for call, other in paired.items()
        }
        warn(*(Counter(calls.values()) for calls in without(graphs, paired)))

    def trains(self, path):
        """Returns whether the module at a path, which ends in "@1" at its second use, trains."""
        return path.partition("@")[0] not in self.fixed

    def options_of(self, call):
        """Returns {argument: value in training} of a call of the graph in evaluation."""
        paths = module_paths(call)
        return dict.fromkeys(MODES, not paths or self.trains(paths[-1])) | self.options.get(
            call, {}
        )


def export_training(torch, module, inputs):
    """Returns the TrainingMode of a module, which is left in training mode.

    It has no graph, and a warning says so, if torch.export refuses that.
    """
    module.train()
    fixed = {path for path, part in module.named_modules() if not part.training}
    try:
        return TrainingMode(export_module(torch, module, inputs).graph, fixed)
    except Exception as error:  # of the user's code
        log.warning(
            "%s cannot be exported in training mode, so attention has no dropout, and a "
            "branch on `self.training` goes unnoticed: %s", type(module).__name__, brief(error)
        )  # fmt: skip
        return TrainingMode(None, fixed)


def pairs(evaluated, trained, kind_of):
    """Yields (call in evaluation, call in training) of those of equal kinds, in order.

    A kind that one of both has more often is left out, and so is one that is false.
    """
    groups = [defaultdict(list), defaultdict(list)]
    for group, calls in zip(groups, (evaluated, trained), strict=True):
        for call, key in calls.items():
            group[kind_of(key)].append(call)
    for kind in filter(None, groups[0].keys() & groups[1].keys()):
        both = [group[kind] for group in groups]
        if len(both[0]) == len(both[1]):
            yield from zip(*both, strict=True)


def without(graphs, paired):
    """Returns both {call: key} without the calls that are paired."""
    taken = ({*paired}, {*paired.values()})
    return [
        {call: key for call, key in calls.items() if call not in gone}
        for calls, gone in zip(graphs, taken, strict=True)
    ]


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
