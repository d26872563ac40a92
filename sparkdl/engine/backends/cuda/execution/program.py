"""A program on a device: inputs through slots, one launch, outputs fetched on demand."""

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from time import perf_counter

import numpy as np

from sparkdl.engine.backends.cuda.execution.cuda_graphs import Graphs
from sparkdl.engine.backends.cuda.execution.decoding import ImageFeed
from sparkdl.engine.backends.cuda.execution.delayed_numbers import Landing
from sparkdl.engine.backends.cuda.execution.feeds import Feeds, Target
from sparkdl.engine.backends.cuda.rewrites.cudnn_images import (
    copy_bound_images,
    narrow_inputs,
    pad_channels,
)
from sparkdl.engine.backends.cuda.rewrites.strided_images import gather_strides
from sparkdl.engine.program import Program


class DeviceProgram(Program):
    """A Program on device arrays.

    Bindings are host arrays. Those within a vector of the backend remain on the device between
    runs; others are uploaded before each run and downloaded after it.
    """

    def __init__(self, graph, backend, bindings=None, strict=False):
        self.device, self.bindings = backend.device, bindings or {}
        self.device.driver.use()
        graph_inputs = graph.inputs
        arrays, self.mirrors = backend.mirrors.bind(self.bindings)
        if self.device.libraries.graphs is not None:
            graph = pad_channels(gather_strides(graph))
            graph = copy_bound_images(narrow_inputs(graph, self.bindings), self.bindings)
        super().__init__(graph, backend, arrays, strict)
        targets = {n: Target(a, graph_inputs[n].spec) for n, a in self._feeds.items()}
        self._feeds = {n: target.array for n, target in targets.items()}
        self.inputs = {n: graph_inputs[n].spec for n in targets}
        self.backend.session.settle()
        written = [m for n, m in self.mirrors.items() if n in graph.outputs]
        self.written = list(dict.fromkeys(written))
        self.slots = Feeds(self.backend.session, targets)
        self.graphs, self._joined = Graphs(self.device, self._calls), {}
        self.outputs, self.landings, self.numbers = LazyOutputs(self), {}, {}
        self.arrivals, self.parts = {}, {}

    def _run(self, feeds, after):
        cuts = self._cuts(after) if after else ()
        with self.device.lock:
            events = self._put(feeds, cuts)
            arrivals = self._bring(cuts, events) if cuts else ()
        if cuts:
            self._tell(after, dict(zip(cuts, arrivals, strict=True)))
        return self._collect_outputs()

    def queue(self, feeds, behind):
        """Works as `run`, for results used on the device: waits for no vector of the backend.

        Parameters
        ----------
        behind : {index of a step: function (mark)}
            Called when everything is queued, with the mark that follows that step.
        """
        cuts = self._cuts(behind)
        with self.device.lock:
            events = self._put(feeds, cuts)
        for index, event in zip(cuts, events, strict=True):
            if index in behind:
                behind[index](event)
        return self._collect_outputs()

    def run_then(self, feeds, other, its):
        if not (self.stays and other.stays):  # the second needs the first's results on the host
            return super().run_then(feeds, other, its)
        with self.device.lock:
            self.device.driver.use()
            self._feed(feeds)
            other._feed(its)
            self.join(other).run()
            for mirror in self.written + other.written:
                mirror.mark_written()
        return self.outputs

    def join(self, other):
        """Returns the Graphs of this program's calls followed by another's."""
        if other not in self._joined:
            self._joined[other] = Graphs(self.device, self._calls + other._calls)
        return self._joined[other]

    @property
    def stays(self):
        """Whether all its bindings are in vectors of the backend."""
        return all(mirror.watched for mirror in self.mirrors.values())

    def _collect_outputs(self):
        """Returns the outputs; waits for those in unwatched arrays of the caller."""
        for mirror in self.written:
            if not mirror.watched:
                mirror.download()
        return self.outputs

    def _cuts(self, steps):
        return tuple(sorted({*steps, len(self._calls) - 1}))

    def _put(self, feeds, cuts):
        """Queues all calls; returns the events at the cuts."""
        self.device.driver.use()
        self._feed(feeds)
        events = self.graphs.run(cuts)
        for mirror in self.written:
            mirror.mark_written()
        return events

    def _bring(self, cuts, events):
        """Copies to the host what is final at each cut, while kernels continue."""
        driver, copies = self.device.driver, self.device.copies
        if cuts not in self.arrivals:
            self.arrivals[cuts] = [driver.event() for _ in cuts]
            self.parts[cuts] = self._parts(cuts)
        for event, parts, arrival in zip(
            events, self.parts[cuts], self.arrivals[cuts], strict=True
        ):
            driver.wait(copies, event)
            for host, device in parts:
                driver.download(host, device, copies)
            driver.record(arrival, copies)
        return self.arrivals[cuts]

    def _parts(self, cuts):
        """Returns, for each cut, the bound outputs that become final there."""
        parts = [[] for _ in cuts]
        for name in self.bindings.keys() & self.targets.keys():
            place = bisect_left(cuts, self.final(name))
            parts[place].append(self.mirrors[name].part(self.targets[name]))
        return parts

    def _tell(self, after, arrivals):
        """Calls each function of `after` once what is final there is on the host."""
        for mirror in self.written:
            mirror.arriving = True
        try:
            for index, arrival in arrivals.items():
                self.device.driver.synchronize(arrival)
                if index in after:
                    after[index]()
        finally:
            for mirror in self.written:
                mirror.arriving, mirror.device_newer = False, False

    def number(self, name):
        """Returns an output of shape () as a number that waits when it is needed.

        See DelayedSum.
        """
        if name not in self.numbers:
            self.numbers[name] = Landing(self.device, self.targets[name])
        return self.numbers[name].number()

    def _check_feed(self, name, value):
        if ImageFeed.of(value) is None:
            return super()._check_feed(name, value)
        self._fits(name, value)
        return value

    def _feed(self, feeds):
        self.slots.fill(self._check_feeds(feeds))
        for mirror in dict.fromkeys(self.mirrors.values()):
            mirror.upload()

    def _time_steps(self, feeds):
        with self.device.lock:
            self.device.driver.use()
            self._feed(feeds)
            self.device.wait()
            marks = [perf_counter()]
            for call in self._calls:
                call()
                self.device.wait()
                marks.append(perf_counter())
        return [end - begin for begin, end in pairwise(marks)]

    def fetch(self, name):
        """Returns an output of the last run as a new host array."""
        target, device = self.targets[name], self.device
        if name not in self.landings:
            self.landings[name] = device.driver.allocate_pinned(max(target.nbytes, 1))[
                : target.nbytes
            ]
        host = self.landings[name]
        if target.nbytes:
            with device.lock:
                device.driver.use()
                device.driver.download(host, target.flat_bytes(), device.stream)
                device.wait()
        return np.array(target.like(host))


class LazyOutputs(Mapping):
    """{name: array} of a program's last run; a bound output is the caller's array."""

    def __init__(self, program):
        self.program = program

    def __getitem__(self, name):
        if name in self.program.bindings:
            self.program.mirrors[name].download()
            return self.program.bindings[name]
        return self.program.fetch(name)

    def __iter__(self):
        return iter(self.program.targets)

    def __len__(self):
        return len(self.program.targets)
