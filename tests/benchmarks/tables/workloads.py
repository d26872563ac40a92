"""The timed networks of ids, and their records. All sides import this, so it imports none."""

from dataclasses import dataclass, replace

import numpy as np

FIELDS = tuple(f"c{i}" for i in range(1, 27))
ROWS, NUMBERS, RATE = 100_000, 13, 0.01
STEEPNESS = 1.1  # exponent of Zipf's law
BATCHES = 12  # number of distinct batches, cycled


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One training step: rows, forward, backward, update.

    Parameters
    ----------
    title : str
    network : str
        "dlrm" or "wide_deep".
    dimension : int
        Dimension of the embedding vectors.
    bottom, hidden : tuple of int
        Hidden layers of DLRM's bottom perceptron, and of the final one.
    batch : int
    optimizer : str
        "sgd" or "adagrad".
    """

    title: str
    network: str
    dimension: int = 16
    bottom: tuple[int, ...] = ()
    hidden: tuple[int, ...]
    batch: int = 0
    optimizer: str = ""

    def records(self):
        """Yields BATCHES of (ids (batch, fields) int64, numbers float32, labels (batch, 1))."""
        rng = np.random.default_rng(0)
        for _ in range(BATCHES):
            ids = rng.zipf(STEEPNESS, (self.batch, len(FIELDS))) % ROWS
            numbers = rng.normal(size=(self.batch, NUMBERS)).astype(np.float32)
            yield ids.astype(np.int64), numbers, rng.integers(0, 2, (self.batch, 1))


SHAPES = {
    "dlrm": Workload(title="DLRM", network="dlrm", bottom=(512, 256, 64), hidden=(512, 256)),
    "wide_deep": Workload(title="Wide & Deep", network="wide_deep", hidden=(256, 128, 64)),
    "wide_deep_paper": Workload(
        title="Wide & Deep of the paper", network="wide_deep", dimension=32, hidden=(1024, 512, 256)
    ),
}
WORKLOADS = {
    f"{name}_{optimizer}_{batch}": replace(shape, batch=batch, optimizer=optimizer)
    for name, shape in SHAPES.items()
    for optimizer in ("sgd", "adagrad")
    for batch in (128, 2048)
}
