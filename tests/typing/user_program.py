"""A program of a user who checks types; lint reads it, and test_user_program.py runs it.

SOUND must be right to the type checker and at run time, MISTAKES wrong to both: a `type: ignore`
that is not needed is an error of its own.
"""

from pathlib import Path

import numpy as np

import sparkdl
from sparkdl import (
    LMDB,
    Activation,
    Adam,
    AllReduceSGD,
    Arrays,
    Batch,
    Checkpoints,
    Conv2D,
    Dense,
    Dropout,
    Embedding,
    GraphBuilder,
    GraphConf,
    GravesLSTM,
    Layer,
    LocalWorkers,
    MaxPool2D,
    Momentum,
    NetworkConf,
    Output,
    ParameterAveraging,
    RnnOutput,
)
from sparkdl.activations import LeakyRelu
from sparkdl.clipping import ClipNorm
from sparkdl.codecs import Threshold
from sparkdl.constraints import MaxNorm
from sparkdl.initializers import Normal
from sparkdl.losses import Huber
from sparkdl.ml import SparkNetworkClassifier, SparkNetworkEstimator
from sparkdl.schedules import StepSchedule, WarmUpSchedule
from sparkdl.transforms import Compose, Crop, Mirror, Scale

HIDDEN: list[Layer] = [
    Conv2D(filters=8, kernel_size=(3, 3), padding="same", activation="relu"),
    MaxPool2D(size=2, stride=[2, 2], padding=[[0, 1], [0, 1]]),
    Dense(units=16, activation=LeakyRelu(alpha=0.1), initializer={"type": "normal", "std": 0.1}),
    Dropout(rate=0.5),
    Activation("tanh"),
]

SOUND = [
    lambda: SparkNetworkClassifier(
        network=NetworkConf(input_shape=(4,), layers=[Output(units=2)]),
        master=AllReduceSGD(),
        preprocessing=Scale(factor=0.5),
        maxIter=3,
        thresholds=[0.3, 0.7],
    ).setBatchSize(16),
    lambda: SparkNetworkEstimator(featuresCol=["left", "right"], predictionCol="value"),
    lambda: NetworkConf(input_shape=(1, 28, 28), layers=[*HIDDEN, Output(units=10)]),
    lambda: NetworkConf(
        input_shape=[4],
        layers=[Dense(units=3), Output(units=2, loss=Huber())],
        optimizer=Momentum(learning_rate=StepSchedule(initial=0.1, step=100)),
        clipping=ClipNorm(limit=1.0),
        constraints=[MaxNorm(limit=2.0), "non_negative"],
        initializer="he",
        activation="relu",
        l2=1,
    ),
    lambda: NetworkConf(
        input_shape=(20, 5), layers=[GravesLSTM(units=8), RnnOutput(units=5)], tbptt=(10, 10)
    ),
    lambda: Adam(learning_rate=WarmUpSchedule(steps=5, then=0.1)),
    lambda: Embedding(vocabulary_size=10, units=4, bias_optimizer=Adam(), initializer=Normal()),
    lambda: GraphConf(
        inputs={"features": (4,)},
        vertices=[sparkdl.Vertex(name="out", layer=Output(units=2), inputs=["features"])],
    ),
    lambda: AllReduceSGD(batch_size_per_worker=32, codec=Threshold()),
    lambda: ParameterAveraging(workers=2, aggregation="peers", codec="TopK"),
    lambda: Checkpoints(path=Path("checkpoints"), every_rounds=10),
    lambda: LMDB("images", scale=1 / 256, transforms=[Crop(size=227), Mirror()]),
    lambda: Compose(Crop(size=(4, 4)), Scale(factor=0.5, mean=np.zeros(3))),
    lambda: Arrays(np.zeros((2, 4)), np.zeros(2)),
]

MISTAKES = [
    lambda: Dense(unit=3),  # type: ignore[call-arg]
    lambda: Dense(64),  # type: ignore[call-arg, arg-type]
    lambda: Dense(),  # type: ignore[call-arg]
    lambda: Dense(units="3"),  # type: ignore[arg-type]
    lambda: Dense(units=3, activation=1),  # type: ignore[arg-type]
    lambda: Dense(units=3, initializer=LeakyRelu()),  # type: ignore[arg-type]
    lambda: Conv2D(filters=3, kernel=3),  # type: ignore[call-arg]
    lambda: MaxPool2D(size="2"),  # type: ignore[arg-type]
    lambda: Adam(lr=0.1),  # type: ignore[call-arg]
    lambda: Adam(learning_rate="fast"),  # type: ignore[arg-type]
    lambda: NetworkConf(input_shape=(4,), layers=[Adam()]),  # type: ignore[list-item]
    lambda: NetworkConf(input_shape=4, layers=[Output(units=2)]),  # type: ignore[arg-type]
    lambda: AllReduceSGD(codec=Adam()),  # type: ignore[arg-type]
    lambda: Checkpoints(),  # type: ignore[call-arg]
    lambda: LMDB(),  # type: ignore[call-arg]
    lambda: LMDB("images", scale="1/256"),  # type: ignore[arg-type]
]


def graph() -> GraphConf:
    """Builds a graph; each name comes back as a text."""
    build = GraphBuilder(features=(4,))
    up: str = build.add(Dense(units=4, activation="relu"), "features")
    build.add(Output(units=3), up)
    return build.conf(l2=1e-4)


def train(batch: Batch, workers: LocalWorkers) -> tuple[float, np.ndarray]:
    """Trains and evaluates a network."""
    network = sparkdl.Network(graph())
    history = network.fit(batch, epochs=2, workers=workers)
    losses: list[float] = [report.loss for report in history.epochs]
    return losses[-1] + network.score(batch), network.predict(batch.features)


def read_options() -> tuple[int, float, str]:
    """Reads options back: what is kept has the type that it is kept in."""
    layer = Dense(units=3, l2=0.1)
    return layer.units, layer.rate_factor, ParameterAveraging().device
