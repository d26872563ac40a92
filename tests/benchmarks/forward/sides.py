"""Processes that predict, and the comparison of their figures."""

import sys

from tests.benchmarks.cpu.processes import AS_RUN, OURS, Process, variables
from tests.benchmarks.peers.environment import python_of

LONGEST = 200  # calls per turn
MODES = {
    AS_RUN: ("torch", "torch_worker", "eager"),
    "torch channels_last": ("torch", "torch_worker", "channels_last"),
    "torch.compile": ("torch", "torch_worker", "compile"),
    "onnxruntime": ("onnxruntime", "onnx_worker"),
}


def command(name, workload):
    """Returns the command of sparkdl, or of a peer's mode."""
    package = "tests.benchmarks.forward"
    if name == OURS:
        return [sys.executable, "-m", f"{package}.our_worker", workload]
    environment, module, *mode = MODES[name]
    return [python_of(environment), "-m", f"{package}.{module}", workload, *mode]


class Predictions:
    """Measures the seconds per prediction in one process."""

    def __init__(self, name, workload, threads):
        self.process = Process(command(name, workload), variables(threads))
        self.facts, self.close = self.process.facts, self.process.close
        self.pids = [self.process.process.pid]

    def measure(self, burst):
        """Returns the fastest of the calls that fit into `burst` seconds."""
        first = min(self.process.ask(2))
        return min([first, *self.process.ask(max(2, min(LONGEST, round(burst / first))))])


def fastest(found):
    """Returns our fastest figure, the best peer, and its ratio to ours."""
    least = {name: min(figures) for name, figures in found.items()}
    result = {"medians": least, "ours": least.get(OURS), "against_as_run": None}
    peers = {name: value for name, value in least.items() if name != OURS}
    if peers and OURS in least:
        best = min(peers, key=peers.get)
        result |= {"best": best, "against_best": least[best] / least[OURS]}
        if AS_RUN in least:
            result["against_as_run"] = least[AS_RUN] / least[OURS]
    return result
