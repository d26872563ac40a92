"""Networks read from live PyTorch modules."""

import operator
import re
from dataclasses import dataclass, replace

import numpy as np

from sparkdl.errors import ConfigError, SparkdlError, UnsupportedError, brief
from sparkdl.interop.torch.aten.attention import find_attentions
from sparkdl.interop.torch.aten.exported_graph import export_module
from sparkdl.interop.torch.aten.learned_numbers import (
    ELEMENTWISE,
    OPERANDS,
    REPEATS,
    call_without_batch,
    is_for_each,
    learned,
)
from sparkdl.interop.torch.aten.node import (
    AtenNode,
    NetworkParts,
    Place,
    module_paths,
    named_arguments,
)
from sparkdl.interop.torch.aten.rules import RULES
from sparkdl.interop.torch.aten.sequence_rules import LastStates
from sparkdl.interop.torch.aten.trained_arrays import is_trained, one_row
from sparkdl.interop.torch.aten.training_calls import export_training
from sparkdl.interop.torch.aten.whole_numbers import check_whole
from sparkdl.interop.torch.module_arrays import load_torch
from sparkdl.interop.translated_network import need, state_with
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import LossLayer
from sparkdl.nn.networks.new_output import without_applied
from sparkdl.training.network import Network

FARTHEST = 1e-3  # tolerance of outputs, relative to their largest absolute value
UNSEEN = (AttributeError, KeyError, IndexError, RuntimeError, TypeError, ValueError)
CHECKS = re.compile(r"_assert.*|_guards_fn")  # calls without a result


@dataclass(frozen=True, kw_only=True)
class ModuleNet:
    """A network made from a module.

    Parameters
    ----------
    network : Network
    outputs : tuple of str
        The layers of the module's outputs, in its order.
    """

    network: Network
    outputs: tuple[str, ...]

    def run(self, *inputs):
        """Returns the outputs, arrays (n, ...), for arrays (n, ...)."""
        names = list(self.network.conf.input_shapes)
        given = inputs[0] if len(names) == 1 else dict(zip(names, inputs, strict=True))
        found = self.network.features(given, list(dict.fromkeys(self.outputs)))
        return tuple(found[name] for name in self.outputs)


def read_module(module, example_inputs, *, loss=None, **options):
    """Returns the ModuleNet of a torch.nn.Module, by torch.export. Executors need no PyTorch.

    Parameters and the statistics of BatchNorm are copied; dropout is active in training. Parameters
    that require a gradient are trained; others, and buffers, are frozen. A parameter that several
    calls read in the same way stays shared; layers that use it in different ways get copies, which
    a warning names. The two biases of a recurrent layer become one, their sum, which moves half as
    far; a warning says so.

    Parameters
    ----------
    module : torch.nn.Module
        A module in float32, on the CPU. Layers are named by the paths of its modules.
    example_inputs : tuple of tensors
        Inputs (n, ...) with n of at least 2: real ones, since the network's outputs for them are
        compared with the module's.
    loss : loss, name or mapping, optional
        Loss of the only output, in an output layer named "output". If it applies softmax or sigmoid
        itself, and the module ends in that, it replaces that one, so predictions stay the module's.
        None: no output layer, so the network cannot be trained.
    options : of GraphConf (optimizer, l2, seed ...)

    Raises
    ------
    UnsupportedError
        Lists all calls without an equivalent layer, each with its reason.
    """
    torch = load_torch()
    if not isinstance(module, torch.nn.Module):
        raise ConfigError(f"read_module.module must be a torch.nn.Module, got {brief(module)}")
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    sizes = {len(one) for one in inputs if torch.is_tensor(one) and one.ndim}
    if len(sizes) != 1 or min(sizes) < 2:
        raise ConfigError(f"read_module.example_inputs must be tensors (n >= 2, ...), got {sizes}")
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            expected = module(*inputs)
            more = tuple(repeat_first(torch, one) for one in inputs)
            expected_of_more = outputs_of_others(module, more)
        exported = export_evaluation(torch, module, inputs)
        training = export_training(torch, module, inputs)
    finally:
        for part, trains in modes:
            part.training = trains
    training.compare(exported.graph, module)
    dtype = options.get("dtype", "float32")
    translation = ModuleTranslation(exported, module, inputs, torch, training, dtype)
    translation.run()
    net = translation.net(loss, options)
    check_outputs(net, inputs, expected)
    if expected_of_more is not None:
        check_outputs(net, more, expected_of_more, " for a batch of another size")
    return net


class ModuleTranslation:
    """The values of an exported graph so far: Places, constant tensors and plain values."""

    def __init__(self, exported, module, inputs, torch, training, dtype="float32"):
        self.graph, self.torch, self.size = exported.graph, torch, len(inputs[0])
        self.dtype, self.training = dtype, training
        self.attentions = find_attentions(exported.graph, module, training)
        self.values, self.refused = {}, []
        tensors = {**exported.state_dict, **exported.constants}
        signature, shapes = exported.graph_signature, iter(inputs)
        targets = {spec.arg.name: spec.target for spec in signature.input_specs}
        build = GraphBuilder()
        for node in self.graph.nodes:
            if node.op == "placeholder" and node.name in signature.user_inputs:
                shape = tuple(next(shapes).shape[1:])
                build.inputs[node.name] = shape
                self.values[node] = Place(node.name, shape)
            elif node.op == "placeholder":
                self.values[node] = tensors[targets[node.name]]
        self.parts = NetworkParts(build, module.named_parameters(), dtype)

    def run(self):
        for node in self.graph.nodes:
            if node.op == "call_function" and self.is_needed(node):
                self.try_call(node)
            elif node.op == "output":
                self.outputs = node.args[0]

    def is_needed(self, node):
        """Returns whether a call's result is used, or the call modifies its inputs."""
        name = self.operation(node)
        if node in self.attentions and node not in self.attentions[node].results:
            return False
        return (node.users or name.endswith("_")) and not CHECKS.fullmatch(name)

    @staticmethod
    def operation(node):
        schema = getattr(node.target, "_schema", None)
        return schema.name.split("::")[-1] if schema else node.target.__name__

    def try_call(self, node):
        try:
            self.values[node] = self.call(node)
        except (SparkdlError, *UNSEEN) as error:
            self.refused.append(f"{node.name} ({self.operation(node)}): {error}")

    def call(self, node):
        """Returns the value of a call."""
        attention = self.attentions.get(node)
        sources = node.all_input_nodes if attention is None else attention.sources
        lost = [one.name for one in sources if one not in self.values]
        if lost:
            raise UnsupportedError(f"reading {lost}, which were refused, is not supported")
        if attention is not None:
            made = attention.add_to(self.parts, self.values)
            self.check_shape(node, made)
            return made
        args, kwargs = self.known(node.args), self.known(node.kwargs)
        if node.target is operator.getitem:
            return self.part_of(*args)
        known = [self.values[one] for one in node.all_input_nodes]
        name = self.operation(node)
        changes_input = name.endswith("_") and not name.startswith("_")
        name = name.rstrip("_") if changes_input else name
        if any(isinstance(one, Place | tuple) for one in known):
            made = self.add_layers(node, name, args, kwargs)
        elif self.is_learned(node, name, known):
            made = self.compute_with_parameters(node, name)
        else:
            return self.fold(node, args, kwargs)
        if name not in REPEATS:
            self.check_shape(node, made)
        if changes_input:
            self.values[node.args[0]] = made
        return made

    @staticmethod
    def part_of(values, index):
        """Returns one of the results of a call with several."""
        cells = index == 2 and len(values) == 2 and isinstance(values[1], LastStates)
        need(not cells, "reading the last cells of an LSTM")
        return values[index]

    def add_layers(self, node, name, args, kwargs):
        """Returns the result of an operation's rule on Places."""
        places = [one for one in map(self.values.get, node.all_input_nodes) if is_place(one)]
        batched = not places or any(place.batched for place in places)
        if not batched and name not in ELEMENTWISE:
            made = tuple(node.meta["val"].shape)
            return call_without_batch(self.parts, name, places[0], made, self.size)
        if name in REPEATS and self.only_broadcasts(node, OPERANDS):
            return self.repeated(node, args[0])
        if name not in RULES:
            raise UnsupportedError(f"the operation {name} is not supported")
        before = len(self.parts.build.vertices)
        made = RULES[name](self.aten_node(node, args, kwargs, batched))
        self.check_whole(node, name, self.parts.build.vertices[before:])
        return made if batched else replace(made, batched=False)

    def check_whole(self, node, name, added):
        """Refuses a call on whole numbers that floats do not compute as torch does."""
        sources = [one for one in node.all_input_nodes if is_place(self.values[one])]
        kinds = [str(getattr(one.meta["val"], "dtype", "")) for one in (node, *sources)]
        moves = all(vertex.layer.keeps_numbers for vertex in added)
        check_whole(name, set(kinds[1:]), kinds[0], self.dtype, moves)

    def repeated(self, node, value):
        """Returns a repeated value for broadcasting readers; a constant is expanded."""
        if isinstance(value, Place):
            return value
        if is_trained(value):
            return learned(self.parts, self.module_of(node), value)
        return value.expand(node.meta["val"].shape)

    def is_learned(self, node, name, sources):
        """Returns whether a call computes with trained parameters, so that they become layers.

        That includes a call that repeats a parameter for each example.
        """
        [*trained] = filter(is_trained, sources)
        if name in ELEMENTWISE:
            return bool(trained)
        made = tuple(node.meta["val"].shape)
        return bool(trained) and is_for_each(name, tuple(trained[0].shape), made, self.size)

    def compute_with_parameters(self, node, name):
        """Returns the result of a call on parameters, which become layers."""
        sources = [one for one in node.all_input_nodes if is_trained(self.values[one])]
        tensors = {source: self.values[source] for source in sources}
        module = self.module_of(node)
        self.values |= {one: learned(self.parts, module, t) for one, t in tensors.items()}
        try:
            return self.add_layers(node, name, self.known(node.args), self.known(node.kwargs))
        finally:
            self.values |= tensors  # other calls may read them as tensors

    def fold(self, node, args, kwargs):
        """Returns the result of a call that reads only constants."""
        made, name = node.target(*args, **kwargs), self.operation(node)
        known = [self.values[one] for one in node.all_input_nodes]
        is_padding = args[2:3] == (int(known[1].min()),) if name == "embedding" else True
        if not is_padding and self.only_broadcasts(node, {"add"}):
            made = one_row(*known, made)
        self.parts.trained.note_folded(name, known, made)
        return made

    def only_broadcasts(self, node, names):
        """Returns whether only these operations read a call's result."""
        users = [user for user in node.users if user.op == "call_function"]
        known = all(self.operation(user).rstrip("_") in names for user in users)
        return known and len(users) == len(node.users)

    def known(self, value):
        """Returns arguments with nodes replaced by their values."""
        return self.torch.fx.node.map_arg(value, lambda node: self.values[node])

    @staticmethod
    def module_of(node):
        """Returns the path of the module that makes a call."""
        paths = module_paths(node)
        return paths[-1] if paths else ""

    def aten_node(self, node, args, kwargs, batched=True):
        named = named_arguments(node, args, kwargs)
        named |= self.training.options_of(node)
        if "input" not in named and isinstance(named.get("self"), Place):
            named["input"] = named["self"]
        value = node.meta["val"]
        shape = tuple(value.shape[batched:]) if self.torch.is_tensor(value) else None
        given = named_arguments(node, node.args, node.kwargs)
        made = {"result": node} | {k: v for k, v in given.items() if hasattr(v, "meta")}
        values = {name: one.meta.get("val") for name, one in made.items()}
        kinds = {name: str(one.dtype) for name, one in values.items() if hasattr(one, "dtype")}
        return AtenNode(named, shape, self.module_of(node), self.parts, self.size, kinds)

    def check_shape(self, node, made):
        """Raises UnsupportedError if a result's shape differs from torch's."""
        values, made = node.meta["val"], made if isinstance(made, tuple) else (made,)
        values = values if isinstance(values, list | tuple) else (values,)
        for value, place in zip(values, made, strict=False):
            if isinstance(place, LastStates):
                continue
            expected = tuple(value.shape)
            batch = (self.size,) if place.batched else ()
            if expected != (*batch, *place.shape) and (expected or place.shape != (1,)):
                raise UnsupportedError(
                    f"a result {expected} as a batch of {place.shape} is not supported"
                )

    def net(self, loss, options):
        """Returns the ModuleNet; UnsupportedError if any call was refused."""
        places = [self.values.get(one) for one in self.outputs]
        if not self.refused and any(isinstance(one, LastStates) for one in places):
            self.refused.append(
                "an output that is the last states of all layers; take those of one"
            )
        elif not self.refused and not all(isinstance(one, Place) for one in places):
            self.refused.append("an output that is constant")
        elif not self.refused and not all(one.batched for one in places):
            self.refused.append("an output that is the same for all examples")
        if self.refused:
            lines = "\n  ".join(self.refused)
            raise UnsupportedError(f"the module has calls without a layer:\n  {lines}")
        names = tuple(place.name for place in places)
        if loss is not None:
            names = self.add_loss(LossLayer(loss=loss), names)
        self.parts.trained.warn()
        network = Network(self.parts.build.conf(**options))
        network.state = state_with(network, self.parts.weights.items())
        return ModuleNet(network=network, outputs=names)

    def add_loss(self, layer, names):
        """Adds an output layer after the only output; returns the outputs' layers."""
        if len(names) != 1:
            raise ConfigError(f"read_module.loss must be None for {len(names)} outputs")
        build, before = self.parts.build, [*self.parts.build.vertices]
        read = without_applied(build.vertices, build.conf(), names[0], layer)
        taken_over = build.vertices != before
        output = build.add(layer, read, name="output")
        return (output,) if taken_over else names


def is_place(value):
    return isinstance(value, Place)


def export_evaluation(torch, module, inputs):
    """Returns the ExportedProgram of a module; UnsupportedError if torch.export refuses it."""
    try:
        return export_module(torch, module, inputs)
    except Exception as error:  # of any class
        raise UnsupportedError(
            f"{type(module).__name__} cannot be exported by torch.export: {brief(error)}"
        ) from error


def repeat_first(torch, batch):
    """Returns a batch with its first row once more."""
    return torch.cat([batch, batch[:1]]) if torch.is_tensor(batch) and batch.ndim else batch


def outputs_of_others(module, inputs):
    """Returns a module's outputs for a batch of another size; None if it takes no such batch."""
    try:
        return module(*inputs)
    except Exception:  # of the user's code
        return None


def check_outputs(net, inputs, expected, condition=""):
    """Raises UnsupportedError if the network's outputs differ from the module's."""
    theirs = expected if isinstance(expected, list | tuple) else (expected,)
    ours = net.run(*(one.numpy().astype(np.float32) for one in inputs))
    for name, given, tensor in zip(net.outputs, ours, theirs, strict=True):
        wanted = tensor.detach().numpy()
        if given.shape != wanted.shape:
            reason = f"has the shape {given.shape} instead of {wanted.shape}"
        else:
            apart = np.abs(given - wanted).max() / max(np.abs(wanted).max(), 1e-6)
            reason = None if apart <= FARTHEST else f"differs by {apart:.1e}"
        if reason:
            raise UnsupportedError(
                f"the module's output {name} cannot be reproduced{condition}: sparkdl's {reason}"
            )
