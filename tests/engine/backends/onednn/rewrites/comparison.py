"""Compares a graph on oneDNN with the reference."""

import numpy as np

from sparkdl.engine import Graph, compile


def results(inputs, function, rng):
    """Returns the reference's results, oneDNN's results, and the labels of oneDNN's steps.

    Parameters
    ----------
    inputs : {name: Tensor}
    function : takes them, returns a Tensor
    """
    graph = Graph(inputs, {"y": function(inputs)})
    feeds = {n: rng.normal(size=t.shape).astype(np.float32) for n, t in inputs.items()}
    program = compile(graph, "onednn")
    wanted = compile(graph, "reference").run(feeds)["y"]
    return wanted, program.run(feeds)["y"], [step.op for step in program.steps]
