"""Histories of made-up fits."""

import numpy as np

from sparkdl.nn import Dense, Momentum, NetworkConf, Output
from sparkdl.nn.execution.layer_costs import LayerCost
from sparkdl.nn.schedules.step import StepSchedule
from sparkdl.training.evaluation import Classification
from sparkdl.training.evaluation.wrong_records import picture
from sparkdl.training.network import Network
from sparkdl.training.report.weights import histogram
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import (
    ArrayFigures,
    Inspection,
    LayerReport,
    WrongExample,
)
from sparkdl.training.reporting.reports import Restart, WorkerFigures
from tests.training.reports import report

CONF = NetworkConf(
    input_shape=(4,),
    layers=[Dense(units=5), Output(units=3)],
    optimizer=Momentum(learning_rate=StepSchedule(initial=0.5, gamma=0.1, step=10)),
)
PICTURE = picture(np.arange(64.0).reshape(1, 8, 8))
FIGURES = WorkerFigures(50, 0.2, 1.4, 0.3)


def evaluation(seed=0, labels=("ant", "<bee>", "cow")):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(3), 40)
    made = Classification(3, labels=labels).add(scores, rng.integers(0, 3, 40))
    made.wrong += [
        WrongExample(number=7, loss=3.5, truth="ant", prediction="<bee> (0.9)", image=PICTURE),
        WrongExample(number=2**40 + 3, loss=2.5, truth="cow", prediction="ant (0.8)", text="0.1"),
    ]
    return made


def history(epochs=2, rounds=3, restart=True):
    """A fit whose rounds take 2 s each, after 4 s; it restarts after its first epoch."""
    made = History(phases={"starting": 3.0, "reading": 1.0})
    update = 0
    for epoch in range(epochs):
        for n in range(rounds):
            update += 5
            made.phases["compute"] = made.phases.get("compute", 0.0) + 2.0
            loss = 1 / update
            place = {"epoch": epoch, "round": n, "rounds_in_epoch": rounds, "iteration": update}
            seconds = {"reading": 0.0, "compute": 1.6, "averaging": 0.3, "overhead": 0.1}
            workers = (FIGURES, FIGURES)
            made.add_round(report(loss=loss, by_worker=workers, seconds=seconds, **place))
        made.phases["evaluation"] = made.phases.get("evaluation", 0.0) + 1.0
        made.end_epoch(evaluation(epoch))
        if restart and epoch == 0:
            made.go_back(Restart(epoch=1, round=0, lost=0, workers=2, reason="worker 1 </script>"))
    return made


def network():
    return Network(CONF)


def inspection(reports=3):
    """Reports of an Inspector after every 10 updates, each with one more dead unit."""
    made = Inspection(examples=40, batch_size=32)
    for n in range(1, reports + 1):
        arrays = {name: ArrayFigures(0.5, 0.1 * n, 10.0**-n) for name in CONF.params_layout.slices}
        place = {"iteration": 10 * n, "epoch": n - 1}
        made.add(LayerReport(**place, arrays=arrays, dead={"dense_1": (n, 5)}))
    made.costs = [
        LayerCost("dense_1", 0.003, 0.004, 2_000_000, 4096, "brg:avx512_core"),
        LayerCost("output_1", 0.001, 0.001, 0, 512, "compiled loop"),
        LayerCost("update", 0.001, 0.0, 0, 128, "compiled loop"),
    ]
    views = CONF.params_layout.views(network().state.params)
    made.gradients = [histogram(name, array) for name, array in views.items()]
    made.updates = [histogram(name, -array) for name, array in views.items()]
    made.wrong = list(evaluation().wrong)
    return made
