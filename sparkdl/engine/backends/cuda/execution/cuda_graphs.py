"""A program's calls as one launch: run one by one the first time, captured the second."""

from itertools import pairwise


class Graphs:
    """The calls of a program, and the graphs captured from them.

    To report when certain calls are done, the calls are cut there: one graph per part, each
    followed by an event.
    """

    def __init__(self, device, calls):
        self.device, self.calls = device, calls
        self.warm, self.graphs, self.events = False, {}, {}

    def run(self, cuts=()):
        """Queues all calls on the stream.

        Parameters
        ----------
        cuts : ascending indices of calls

        Returns
        -------
        An event per cut, reached once that call and all before it have run.
        """
        bounds = [0, *(i + 1 for i in cuts), len(self.calls)]
        parts = [self.calls[a:b] for a, b in pairwise(bounds)]
        events = self.events.setdefault(cuts, [self.device.driver.event() for _ in cuts])
        if self.warm and cuts not in self.graphs:
            self.graphs[cuts] = [self.capture(part) for part in parts if part]
        graphs = iter(self.graphs.get(cuts, ()))
        for i, part in enumerate(parts):
            if part:
                self.launch(part, next(graphs, None))
            if i < len(events):
                self.device.driver.record(events[i], self.device.stream)
        self.warm = True
        return events

    def launch(self, part, graph):
        if graph is not None:
            self.device.driver.replay(graph, self.device.stream)
            return
        for call in part:
            call()

    def capture(self, calls):
        self.device.driver.begin(self.device.stream)
        try:
            for call in calls:
                call()
        finally:
            graph = self.device.driver.end(self.device.stream)
        return graph
