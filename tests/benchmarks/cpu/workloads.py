"""The timed workloads: shapes and bars. All sides import this, so it imports none of them."""

from dataclasses import dataclass

import numpy as np

MOMENTUM = 0.9
RATE = 1e-4  # small, as repeating one batch would make the gradients vanish
ADAM_PARAMETERS = 10_000_000
CHARACTERS = 65
INCEPTIONS = (  # GoogLeNet by stage: 1x1, before 3x3, 3x3, before 5x5, 5x5, after pooling
    [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)],
    [
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ],
    [(256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)],
)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One training step: forward, backward, update.

    Parameters
    ----------
    title : str
    network : str
        Its name in every side's `NETWORKS`.
    batch : int
    shape : tuple of int
        Shape of an example: images channels first, one-hot characters (T, CHARACTERS), tokens (T,).
    classes : int
    steps : int
        Labels per example: 1, or T for a sequence. A label is one of `classes`.
    optimizer : str
        "momentum" or "adam".
    vocabulary : int or None
        Vocabulary size if features are tokens, else None.
    best, as_run : float
        Target speedup over the best mode of any peer, and over torch as run.
    share : float or None
        Target share of the machine's peak.
    """

    title: str
    network: str
    batch: int
    shape: tuple[int, ...]
    classes: int
    steps: int = 1
    optimizer: str = "momentum"
    vocabulary: int | None = None
    best: float
    as_run: float
    share: float | None = None

    def arrays(self):
        """(features (batch, *shape) float32 or int32, labels (batch,) or (batch, steps) int64)"""
        rng = np.random.default_rng(0)
        labels = (self.batch,) if self.steps == 1 else (self.batch, self.steps)
        return self.features(rng), rng.integers(0, self.classes, labels)

    def features(self, rng):
        shape = (self.batch, *self.shape)
        if self.vocabulary is not None:
            return rng.integers(0, self.vocabulary, shape).astype(np.int32)
        if self.network == "char_lstm":
            return np.eye(CHARACTERS, dtype=np.float32)[rng.integers(0, CHARACTERS, shape[:2])]
        return rng.normal(size=shape).astype(np.float32)


FAST = {"best": 1.25, "as_run": 2.0}
IMAGENET = {"shape": (3, 224, 224), "classes": 1000, "best": 1.05, "as_run": 1.3}
CIFAR = {"shape": (3, 32, 32), "classes": 10}
LENET = {"network": "lenet", "batch": 64, "shape": (1, 28, 28), "classes": 10}
MLP = {"network": "mlp", "shape": (784,), "classes": 10}
TEXT = {"classes": CHARACTERS, "optimizer": "adam"}

WORKLOADS = {
    "lenet": Workload(title="LeNet b64", **LENET, **FAST, share=0.70),
    "cifar10_quick": Workload(
        title="CIFAR-10 quick b100", network="cifar10_quick", batch=100, **CIFAR, **FAST
    ),
    "cifar_net": Workload(
        title="CIFAR 64-128-256 b64", network="cifar_net", batch=64, **CIFAR, best=1.2, as_run=1.5
    ),
    "mlp_128": Workload(title="MLP b128", batch=128, **MLP, best=1.1, as_run=1.3),
    "mlp_32": Workload(title="MLP b32", batch=32, **MLP, best=1.3, as_run=1.5),
    "char_lstm": Workload(
        title="char LSTM 2x256 T50 b50",
        network="char_lstm",
        batch=50,
        shape=(50, CHARACTERS),
        steps=50,
        **TEXT,
        best=1.2,
        as_run=1.2,
    ),
    "resnet50": Workload(title="ResNet-50 b8", network="resnet50", batch=8, **IMAGENET, share=0.75),
    "googlenet": Workload(title="GoogLeNet b16", network="googlenet", batch=16, **IMAGENET),
    "alexnet": Workload(
        title="AlexNet b32", network="alexnet", batch=32, **IMAGENET | {"shape": (3, 227, 227)}
    ),
    "transformer": Workload(
        title="transformer 4x256 T128 b16",
        network="transformer",
        vocabulary=CHARACTERS,
        batch=16,
        shape=(128,),
        steps=128,
        **TEXT,
        best=1.0,
        as_run=1.0,
    ),
    "adam": Workload(
        title="Adam, 10 M parameters",
        network="adam",
        batch=1,
        shape=(999,),
        classes=10_000,
        optimizer="adam",
        best=1.2,
        as_run=4.0,
    ),
}

# Networks not used for tuning: kinds, sizes and batches that people train.
UNTUNED = {
    "table_mlp": {"batch": 256, "shape": (77,), "classes": 2, "optimizer": "adam"},
    "small_mlp": {"batch": 32, "shape": (20,), "classes": 3, "optimizer": "adam"},
    "wide_mlp": {"batch": 128, "shape": (100,), "classes": 10},
    "norm_mlp": {"batch": 64, "shape": (300,), "classes": 20, "optimizer": "adam"},
    "norm_cnn": {"batch": 128, "shape": (3, 32, 32), "classes": 10},
    "small_resnet": {"batch": 64, "shape": (3, 32, 32), "classes": 10},
    "depthwise_cnn": {"batch": 32, "shape": (3, 64, 64), "classes": 100},
    "signal_cnn": {"batch": 64, "shape": (256, 6), "classes": 5, "optimizer": "adam"},
    "dilated_cnn": {"batch": 32, "shape": (200, 16), "classes": 4, "optimizer": "adam"},
    "text_gru": {"batch": 32, "shape": (100,), "classes": 2, "vocabulary": 5_000},
    "sensor_lstm": {"batch": 64, "shape": (40, 32), "classes": 6, "optimizer": "adam"},
    "text_attention": {"batch": 32, "shape": (64,), "classes": 4, "vocabulary": 5_000},
}
SECOND_DRAW = {
    "residual_mlp": {"batch": 512, "shape": (54,), "classes": 7, "optimizer": "adam"},
    "funnel_mlp": {"batch": 512, "shape": (784,), "classes": 10, "optimizer": "adam"},
    "selu_mlp": {"batch": 64, "shape": (40,), "classes": 2},
    "large_batch_mlp": {"batch": 2048, "shape": (30,), "classes": 2, "optimizer": "adam"},
    "u_net": {"batch": 16, "shape": (3, 64, 64), "classes": 5, "optimizer": "adam"},
    "inverted_cnn": {"batch": 32, "shape": (3, 96, 96), "classes": 20},
    "dense_cnn": {"batch": 64, "shape": (3, 32, 32), "classes": 10},
    "plain_cnn": {"batch": 128, "shape": (1, 28, 28), "classes": 10, "optimizer": "adam"},
    "text_cnn": {"batch": 64, "shape": (100,), "classes": 2, "vocabulary": 10_000},
    "cnn_lstm": {"batch": 64, "shape": (200,), "classes": 2, "vocabulary": 10_000},
    "deep_gru": {"batch": 128, "shape": (50, 20), "classes": 3, "optimizer": "adam"},
    "tagger_lstm": {"batch": 32, "shape": (40,), "classes": 25, "steps": 40, "vocabulary": 8_000},
    "small_vit": {"batch": 64, "shape": (3, 32, 32), "classes": 10, "optimizer": "adam"},
}
WORKLOADS |= {
    name: Workload(title=f"{name}, b{row['batch']}", network=name, **row, best=1.1, as_run=1.1)
    for name, row in (UNTUNED | SECOND_DRAW).items()
}
