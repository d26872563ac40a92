"""Workloads timed on a GPU, and their bars. Both sides import this, so it imports neither."""

from dataclasses import dataclass

import numpy as np

MOMENTUM, RATE = 0.9, 1e-4
ADAM_PARAMETERS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One training step: forward, backward, update.

    Parameters
    ----------
    title : str
    network : str
        Its name in both sides' `NETWORKS`.
    batch : int
    shape : tuple of int
        Shape of an example: images channels first, features (T, n), or tokens (T,).
    classes : int
    each : int
        `unit`s per example: 1, or the number of tokens of a text.
    unit : str
        The unit that the second bar counts per second.
    dtype : str
        "float32" or "bfloat16".
    optimizer : str
        "momentum" or "adam".
    best : float or None
        Target speedup over torch's best mode, or over mode `against` if set.
    least : float or None
        Minimum units per second.
    share : float or None
        Target share of the device's bandwidth.
    stored : int
        Rows and columns of images read from an LMDB, cropped and mirrored; 0 if data are already on
        the device.
    """

    title: str
    network: str
    batch: int
    shape: tuple[int, ...]
    classes: int
    each: int = 1
    unit: str = "images"
    dtype: str = "bfloat16"
    optimizer: str = "momentum"
    best: float | None = None
    against: str = "best"
    least: float | None = None
    share: float | None = None
    stored: int = 0

    @property
    def labels_shape(self):
        sequences = self.each > 1
        return (self.batch, self.each) if sequences else (self.batch,)

    def arrays(self):
        """Returns (features (batch, *shape) float32 or int32, labels int64)."""
        rng = np.random.default_rng(0)
        labels = rng.integers(0, self.classes, self.labels_shape)
        if self.unit == "tokens" and len(self.shape) == 1:
            return rng.integers(0, self.classes, (self.batch, *self.shape)).astype(np.int32), labels
        return rng.standard_normal((self.batch, *self.shape), np.float32), labels


IMAGENET = {"shape": (3, 224, 224), "classes": 1000}

WORKLOADS = {
    "resnet50": Workload(
        title="ResNet-50 b256 bf16",
        network="resnet50",
        batch=256,
        **IMAGENET,
        best=1.2,
        least=4_000,
    ),
    "alexnet": Workload(
        title="AlexNet b512 bf16",
        network="alexnet",
        batch=512,
        shape=(3, 227, 227),
        classes=1000,
        best=1.3,
        least=40_000,
    ),
    "googlenet": Workload(
        title="GoogLeNet b256 bf16",
        network="googlenet",
        batch=256,
        **IMAGENET,
        best=1.3,
        least=12_000,
    ),
    "lmdb": Workload(
        title="AlexNet b512 bf16 from an LMDB",
        network="alexnet",
        batch=512,
        shape=(3, 227, 227),
        classes=1000,
        stored=256,
    ),
    "lenet": Workload(
        title="LeNet b64 float32",
        network="lenet",
        batch=64,
        shape=(1, 28, 28),
        classes=10,
        dtype="float32",
        best=5.0,
        against="eager",
    ),
    "lstm": Workload(
        title="LSTM 2x1024 T128 b256",
        network="lstm",
        batch=256,
        shape=(128, 1024),
        classes=1024,
        each=128,
        unit="tokens",
        optimizer="adam",
        best=1.0,
    ),
    "gpt2": Workload(
        title="GPT-2 (124 M and an output of its own) S1024 bf16",
        network="gpt2",
        batch=16,
        shape=(1024,),
        classes=50_257,
        each=1024,
        unit="tokens",
        optimizer="adam",
        best=1.0,
        least=350_000,
    ),
    "adam": Workload(
        title="Adam, 100 M parameters",
        network="adam",
        batch=1,
        shape=(9_999,),
        classes=10_000,
        unit="updates",
        dtype="float32",
        optimizer="adam",
        best=1.0,
        share=0.8,
    ),
}
