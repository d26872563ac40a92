"""A compiled graph: memory is assigned, and each node is lowered to a call bound to its arrays."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from time import perf_counter

import numpy as np

from sparkdl.engine.constant_folding import constant_tensors, fold_norms
from sparkdl.engine.operands import bounds
from sparkdl.engine.planner import align, check, plan, with_copies
from sparkdl.errors import OperandError, ShapeError, UnsupportedError

FEW = 8  # numbers, too few for an inner loop


@dataclass(frozen=True)
class ProgramStep:
    """One call of a program and its metadata.

    `bytes` is the size of its outputs, `traffic` the bytes that it reads and writes, `flops` what
    Op.flops returns; a copy has no `node`.
    """

    call: object
    writes: list
    op: str
    scope: str
    shapes: str
    kernel: str
    bytes: int
    note: str = ""
    traffic: int = 0
    node: object = None
    reads: tuple = ()

    @property
    def flops(self):
        """Floating-point operations, counted on demand as running a program needs none of them."""
        return 0 if self.node is None else self.node.flops


class Program:
    """A flat list of prebound calls.

    Parameters
    ----------
    graph : Graph
    backend : Backend
    bindings : {name of an input or output: ndarray} for those in the caller's memory; an output may
        be bound to an input's array, which is then updated in place
    strict : raise an error for nodes without a kernel of the backend
    constant_bindings : compute values that depend on bound inputs alone only in the first run, and
        after each `refresh`; normalizations are folded into the products before them

    Raises
    ------
    ShapeError for a binding that does not fit, UnsupportedError in strict mode, OperandError for a
    kernel that would misread memory.
    """

    def __init__(self, graph, backend, bindings=None, strict=False, constant_bindings=False):
        bindings, backend = bindings or {}, backend.fresh()
        if constant_bindings:
            graph = fold_norms(graph, constant_tensors(graph, bindings))
        for rewrite in backend.rewrites:
            graph = rewrite(graph)
        check(graph, bindings)
        graph = with_copies(graph, bindings)
        constants = constant_tensors(graph, bindings) if constant_bindings else frozenset()
        self.graph, self.backend, self.plan = graph, backend, plan(graph, bindings, constants)
        self.arena = backend.empty(self.plan.arena_bytes)
        self.arrays = {t: bindings[n] for n, t in graph.inputs.items() if n in bindings}
        self._place()
        self.steps, self._early = [], []
        backend.hold([array for tensor, array in self.arrays.items() if tensor in constants])
        nodes = list(filter(self._works, graph.nodes))
        early = [node for node in nodes if node.outputs[0] in constants]
        rest = [node for node in nodes if node.outputs[0] not in constants]
        backend.choose_threads(early, rest)
        for node in nodes:
            self._add(self._lower(node, strict), early=node.outputs[0] in constants)
        self.steps += [self._copy(tensor, to) for tensor, to in self.plan.copies]
        self._calls = backend.in_sequence([step.call for step in self.steps])
        self._fresh, self._version = False, None
        self._finals = {}
        self._feeds = {n: self.arrays[t] for n, t in graph.inputs.items() if n not in bindings}
        self.inputs = {n: t.spec for n, t in graph.inputs.items() if n not in bindings}
        self.targets = {n: bindings.get(n, self.arrays[t]) for n, t in graph.outputs.items()}
        self.outputs = self.targets

    def run(self, feeds=None, after=None):
        """Runs the program. The arrays returned belong to it: the next run overwrites them.

        Parameters
        ----------
        feeds : {name: array} for every unbound input; cast to the input's dtype
        after : {index of a step: function called once that step has run}; see `final`

        Raises
        ------
        ShapeError if an input is missing, unknown or of another shape.
        """
        with np.errstate(all="ignore"):  # an overflow shows in the loss, which the caller checks
            return self._run(feeds or {}, after)

    def refresh(self, version=None):
        """Marks values of constant bindings as stale; see `constant_bindings`.

        Does nothing if `version` is given and equals that of the last call.
        """
        self._fresh = self._fresh and version is not None and version == self._version
        self._version = version

    def _run(self, feeds, after):
        self._work_ahead()
        self._feed(feeds)
        self._call_all(self._calls, after)
        return self.outputs

    def _call_all(self, calls, after=None):
        try:
            if after is None:
                for call in calls:
                    call()
            else:
                for index, call in enumerate(calls):
                    call()
                    if index in after:
                        after[index]()
        except BaseException:
            self.backend.leave_sequence()
            raise

    def _work_ahead(self):
        if not self._fresh:
            for call in self._early:
                call()
        self._fresh = True

    def run_then(self, feeds, other, its):
        """Runs this program, then another one with its feeds `its`, in a single launch on a device.

        Returns
        -------
        The outputs of this program.
        """
        outputs = self.run(feeds)
        other.run(its)
        return outputs

    def number(self, name):
        """Returns an output of shape () of the last run as a float; may wait for a device."""
        return float(self.outputs[name])

    def profile(self, feeds=None, repeats=10):
        """Returns the seconds of each step: medians over `repeats` runs, after a warm-up."""
        with np.errstate(all="ignore"):
            self._run(feeds or {}, None)
            runs = [self._time_steps(feeds or {}) for _ in range(repeats)]
        return [median(seconds) for seconds in zip(*runs, strict=True)]

    def _time_steps(self, feeds):
        self._feed(feeds)
        marks = [perf_counter()]
        after = dict.fromkeys(range(len(self._calls)), lambda: marks.append(perf_counter()))
        self._call_all(self._calls, after)
        return [end - begin for begin, end in pairwise(marks)]

    def final(self, name):
        """Returns the index of the last step that reads or writes an output.

        Functions called `after` that step may overwrite the output.
        """
        if name not in self._finals:  # called in each training step
            self._finals[name] = self._final(self.targets[name])
        return self._finals[name]

    def _final(self, target):
        return int(self.touches(target).max(initial=0))

    def touches(self, array):
        """Returns the indices of the steps that read or write an array's memory, in order."""
        start, stop = bounds(array)
        steps, starts, stops = self._memory_spans
        return np.unique(steps[(starts < stop) & (stops > start)])

    @cached_property
    def _memory_spans(self):
        """(step, start, stop) of all memory read or written by steps, as three vectors."""
        spans = [(i, *bounds(a)) for i, s in enumerate(self.steps) for a in (*s.writes, *s.reads)]
        return np.array(spans, np.int64).reshape(-1, 3).T

    def describe(self):
        """Returns a table of the calls with shapes, kernels and why there is no faster kernel."""
        rows = [(s.scope, s.op, s.shapes, s.kernel, f"{s.bytes:,}", s.note) for s in self.steps]
        rows = [("scope", "operation", "shapes", "kernel", "bytes", "note"), *rows]
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
        name, arena = self.backend.name, f"{self.plan.arena_bytes:,}"
        total = f"{len(self.steps)} calls on {name}; arena {arena} bytes"
        total += f"; {len(self._early)} calls where weights are new" * bool(self._early)
        return "\n".join(filter(None, [total, self.backend.note, *lines]))

    def _feed(self, feeds, names=None):
        for name, value in self._check_feeds(feeds, names).items():
            copy_into(self._feeds[name], value)

    def _check_feeds(self, feeds, names=None):
        names = self._feeds.keys() if names is None else names
        if feeds.keys() != names:
            raise ShapeError(f"the program takes {sorted(names)}, got {sorted(feeds)}")
        return {name: self._check_feed(name, value) for name, value in feeds.items()}

    def _check_feed(self, name, value):
        value = np.asarray(value)
        self._fits(name, value)
        # an output of the last run may share memory with the inputs of this one
        return value.copy() if np.may_share_memory(value, self.arena) else value

    def _fits(self, name, value):
        buffer = self._feeds[name]
        if value.shape != buffer.shape:
            raise ShapeError(f"input {name!r} needs {buffer.shape}, got {value.shape}")
        if value.dtype.kind not in "iub" and buffer.dtype.kind in "iub":
            raise ShapeError(f"input {name!r} needs {buffer.dtype}, got {value.dtype}")

    def _place(self):
        """Assigns each tensor an array: the caller's, part of the arena, or a view of another."""
        self.arrays.update(self.plan.direct)
        for tensor, offset in self.plan.offsets.items():
            part = self.arena[offset : offset + tensor.spec.nbytes]
            self.arrays[tensor] = self.backend.array(part.view(tensor.dtype), tensor.shape)
        read = [t for node in self.graph.nodes for t in node.inputs]
        for tensor in [*read, *self.graph.outputs.values()]:
            if tensor.value is not None:
                self.arrays[tensor] = self.backend.constant(tensor.value)
        for node in self.graph.nodes:
            if node.outputs[0] in self.plan.roots:
                self.arrays[node.outputs[0]] = node.op.reference(self.arrays[node.inputs[0]])

    def _add(self, kernel, early):
        """Adds a step, and its calls that not every run makes: all of them if it is early."""
        step, ahead = kernel
        self._early += [*ahead, step.call] if early else ahead
        self.steps += [] if early else [step]

    def _works(self, node):
        return node.outputs[0] not in self.plan.roots

    def _lower(self, node, strict):
        """Returns a node's step, and the calls to repeat when the backend's held data change."""
        inputs = [self.arrays[t] for t in node.inputs]
        outputs = [self.arrays[t] for t in node.outputs]
        name = node.op.label
        try:
            kernel = self.backend.lower(node, inputs, outputs)
        except OperandError as error:
            where = " ".join(filter(None, (node.scope, name)))
            raise OperandError(f"{where}: {error}") from None
        if strict and kernel.note:
            raise UnsupportedError(
                f"{self.backend.name} has no kernel for {node.op}: {kernel.note}"
            )
        shapes = " ".join(str(t.shape) for t in node.inputs)
        shapes += " -> " + " ".join(str(t.shape) for t in node.outputs)
        size = sum(align(t.spec.nbytes) for t in node.outputs)
        row = (name, node.scope, shapes, kernel.name, size, kernel.note)
        traffic = sum(array.nbytes for array in (*inputs, *outputs))
        return ProgramStep(kernel.call, outputs, *row, traffic, node, inputs), kernel.ahead

    def _copy(self, tensor, to):
        source = self.arrays[tensor]
        kernel = self.backend.copy(source, to)
        row = ("copy", "", str(tensor.shape), kernel.name, tensor.spec.nbytes)
        return ProgramStep(kernel.call, [to], *row, traffic=2 * tensor.spec.nbytes, reads=[source])


def copy_into(target, source):
    """Copies like np.copyto with any cast, one slice at a time if the innermost axis is short.

    Otherwise numpy's inner loop would run over the three colors of one pixel: 4 to 6 times slower.
    """
    axis = min(range(target.ndim), key=lambda i: target.strides[i], default=0)
    apart = target.ndim > 2 and target.strides != source.strides
    if not (apart and 1 < target.shape[axis] <= FEW):
        np.copyto(target, source, casting="unsafe")
        return
    at = (slice(None),) * axis
    for i in range(target.shape[axis]):
        np.copyto(target[(*at, i)], source[(*at, i)], casting="unsafe")
