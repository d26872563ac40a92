"""Functions that tests run with a session, classic or Spark Connect."""

import logging
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

import numpy as np
import psutil
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions

from sparkdl import masters, predict_column
from sparkdl.errors import PeerError, SparkdlError
from sparkdl.listeners import (
    EarlyStopping,
    LambdaListener,
    TerminateOnMaxLoss,
    TerminateOnTarget,
    TerminateOnTime,
)
from sparkdl.ml import SparkNetworkClassifier
from sparkdl.nn import Sgd
from sparkdl.spark import SparkNetwork
from sparkdl.spark.connect.slots import DIVIDING, local_cores
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.transforms import Scale
from sparkdl.tune import Search
from tests.interop.mlflow.server import QUIET
from tests.ml.frames import WIDTH, by_id, classes_conf, values_conf
from tests.spark.slow import executor_of
from tests.support.waiting import until
from tests.training.evaluation.own_metrics import METRICS, ErrorRate, f2

SMALL = {"batchSize": 10, "numWorkers": 2}
PEERS = masters.ParameterAveraging(workers=2, batch_size_per_worker=10, aggregation="peers")


def rows(spark, path):
    return spark.read.parquet(path)


def bits(network):
    return network.state.params.tobytes()


def classify(spark, path):
    """Returns the weights, metrics and predictions of a classifier that uses most Params."""
    options = {"weightCol": "w", "validationIndicatorCol": "apart", "classWeights": [1, 2, 1.0]}
    options |= {"preprocessing": Scale(factor=2.0), "seed": 7, "patience": 2}
    data = rows(spark, path)
    model = SparkNetworkClassifier(network=classes_conf(), maxIter=3, **options, **SMALL).fit(data)
    [predicted, probability] = by_id(model.transform(data), "prediction", "probability")
    epochs = [(epoch.loss, epoch.validation) for epoch in model.history.epochs]
    figures = [(loss, on.loss, on.accuracy) for loss, on in epochs]
    return bits(model.network), predicted, probability, figures, model.evaluate(data).accuracy


def cross_validate(spark, path):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    stage = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    grid = ParamGridBuilder().addGrid(stage.maxIter, [1, 3]).build()
    validator = CrossValidator(
        estimator=stage,
        estimatorParamMaps=grid,
        evaluator=MulticlassClassificationEvaluator(metricName="accuracy"),
        numFolds=2,
        seed=3,
    )
    model = validator.fit(rows(spark, path))
    return model.avgMetrics, bits(model.bestModel.network)


def train(spark, path, master, **options):
    """Returns the weights and losses of a SparkNetwork."""
    net = SparkNetwork(spark, classes_conf(), master)
    history = net.fit(rows(spark, path), 2, **options)
    return bits(net.network), [one.loss for one in history.rounds]


def share(spark, path):
    master = masters.GradientSharing(workers=2, batch_size_per_worker=7)
    return train(spark, path, master, validation_split=0.25)


def merge(spark, path):
    """Trains on a DataFrame whose partitions Spark merges after a shuffle."""
    data = rows(spark, path).dropDuplicates(["id"])
    net = SparkNetwork(spark, classes_conf(), PEERS)
    losses = [each.loss for each in net.fit(data, 2).rounds]
    return bits(net.network), losses


def scatter(spark, path):
    master = masters.AllReduceSGD(workers=2, batch_size_per_worker=4, repartition="always")
    return train(spark, path, master)


def columns(spark, path):
    """Returns the weights, figures and predictions of a fit on columns of numbers."""
    numbers = vector_to_array("features")
    names = [f"x{i}" for i in range(WIDTH)]
    data = rows(spark, path).select(
        "id", "label", *(numbers[i].alias(n) for i, n in enumerate(names))
    )
    net = SparkNetwork(spark, classes_conf(), PEERS)
    history = net.fit(data, 2, data, features=names)
    predicted = by_id(net.predict(data, features=names), "prediction")
    return (
        bits(net.network),
        [each.validation.loss for each in history.epochs],
        predicted[0].tolist(),
    )


def resume(spark, path):
    """Returns the weights of a 3-epoch fit that ran out of time after one round and resumed."""
    net = SparkNetwork(spark, classes_conf(), PEERS)
    history = net.fit(rows(spark, path), 3, listeners=[TerminateOnTime(1e-9)])
    net.fit(rows(spark, path), resume=True)
    return history.end_reason, bits(net.network)


def stop_by_losses(spark, path):
    """Returns why fits end at a target and above a limit of the loss, and epochs of the first."""
    ends = []
    for listener in TerminateOnTarget(1e9, "loss"), TerminateOnMaxLoss(1e-9):
        net = SparkNetwork(spark, classes_conf(), PEERS)
        history = net.fit(rows(spark, path), 3, listeners=[listener])
        ends.append((history.end_reason, len(history.epochs)))
    return [reason for reason, _ in ends], ends[0][1]


def resume_from_a_checkpoint(spark, path, folder):
    """Returns the weights after 3 epochs, the last by another network resumed from a checkpoint."""
    first = SparkNetwork(spark, classes_conf(), PEERS)
    first.fit(rows(spark, path), 2, checkpoints=Checkpoints(path=folder, keep=1))
    second = SparkNetwork(spark, classes_conf(), PEERS)
    second.fit(rows(spark, path), 3, resume=folder)
    return second.network.state.epoch, bits(second.network)


def resume_with_its_workers(spark, path, folder):
    """Returns the workers and weights of a fit of one worker that another master resumes."""
    one, unsaid = replace(PEERS, workers=1), replace(PEERS, workers=None)
    first = SparkNetwork(spark, classes_conf(), one)
    first.fit(rows(spark, path), 1, checkpoints=Checkpoints(path=folder, keep=1))
    second = SparkNetwork(spark, classes_conf(), unsaid)
    second.fit(rows(spark, path), 2, resume=folder)
    whole = SparkNetwork(spark, classes_conf(), one)
    whole.fit(rows(spark, path), 2)
    return second.history.workers, bits(second.network) == bits(whole.network)


def resume_in_vain(spark, path, folder):
    """Returns the state after resumed fits that fail, and after one that diverges."""
    data = rows(spark, path)
    growing = replace(values_conf(), optimizer=Sgd(learning_rate=1e3))
    for name, conf, updates in ("small", classes_conf(), None), ("growing", growing, 2):
        kept = Checkpoints(path=f"{folder}/{name}", every_rounds=1, keep=1)
        SparkNetwork(spark, conf, PEERS).fit(data, updates=updates, checkpoints=kept)
    one, saved = replace(PEERS, workers=1), f"{folder}/saved"
    SparkNetwork(spark, classes_conf(), PEERS).save(saved)
    small, growing_one = f"{folder}/small", f"{folder}/growing"
    return {
        "workers": left_by(spark, classes_conf(), one, data, small),
        "records": left_by(spark, classes_conf(), PEERS, data.where("id > 5"), small),
        "saved": left_by(spark, classes_conf(), PEERS, data, saved),
        "worker": left_by(spark, classes_conf(), PEERS, data, small, transform=broken),
        "diverged": left_by(spark, growing, PEERS, data, growing_one),
    }


def left_by(spark, conf, master, data, checkpoint, **options):
    """Returns the error, whether the weights are unchanged, the weights, and two flags."""
    net = SparkNetwork(spark, conf, master)
    before = bits(net.network)
    try:
        net.fit(data, 30, resume=checkpoint, **options)
    except SparkdlError as error:
        text, left = str(error).partition(" was written with ")[2], net.network
        is_kept, others = bits(left) == before, (left.history is None, left.unfinished is None)
        return type(error).__name__, text, is_kept, bits(left), others


def cores(spark, path):
    """Returns the server's settings for splitting ranges, and the cores inferred from them."""
    return [spark.conf.get(name, None) for name in DIVIDING], local_cores(spark, "*")


def interrupt(spark, path, folder):
    """Returns the weights of a fit that Ctrl-C interrupts in its second epoch and that resumes."""
    net, data = SparkNetwork(spark, classes_conf(), PEERS), rows(spark, path)
    waiting = Thread(target=interrupt_after_a_checkpoint, args=(folder,))
    waiting.start()
    interrupted = False
    try:
        net.fit(data, 300, transform=pause, checkpoints=Checkpoints(path=folder, keep=1))
    except KeyboardInterrupt:
        interrupted = True
    waiting.join()
    net.fit(data, 3)
    return interrupted, bits(net.network)


def interrupt_after_a_checkpoint(folder):
    until(lambda: any(Path(folder).glob("round-*")))
    os.kill(os.getpid(), signal.SIGINT)


def pause(batch):
    time.sleep(0.01)
    return batch


def lose_an_executor(spark, path, folder):
    """Returns the warnings and weights of a fit whose first minibatch kills its executor."""
    net, noted = SparkNetwork(spark, classes_conf(), PEERS), Noted()
    logging.getLogger("sparkdl").addHandler(noted)
    try:
        net.fit(rows(spark, path), 3, transform=Deadly(folder))
    finally:
        logging.getLogger("sparkdl").removeHandler(noted)
    return noted.texts, bits(net.network)


class Noted(logging.Handler):
    """Collects log messages of level WARNING and above."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@dataclass(frozen=True)
class Deadly:
    """A transform that kills its executor the first time any process calls it."""

    folder: str

    def __call__(self, batch):
        with suppress(FileExistsError):
            Path(self.folder, "killed").mkdir()
            executor_of(psutil.Process()).kill()
            time.sleep(60)  # Spark's daemon ends this process
        return batch


@dataclass(frozen=True)
class Gone:
    """A transform that reports the loss of another worker the first time it is called."""

    folder: str

    def __call__(self, batch):
        with suppress(FileExistsError):
            Path(self.folder, "gone").mkdir()
            raise PeerError(1, "left", "gone")
        return batch


def lose_a_worker(spark, path, folder):
    """Returns the max_restarts in the History, and the weights, of a fit that restarted."""
    net = SparkNetwork(spark, classes_conf(), replace(PEERS, max_restarts=1))
    history = net.fit(rows(spark, path), 3, transform=Gone(folder))
    return history.master["max_restarts"], bits(net.network)


@dataclass(frozen=True)
class GoneLater(Gone):
    """The same in the second epoch, once a checkpoint of the first exists."""

    calls = []  # of this process, which computes at most 6 minibatches of the first epoch

    def __call__(self, batch):
        self.calls.append(None)
        if len(self.calls) <= 6:
            return batch
        until(lambda: any(Path(self.folder).glob("kept/round-*")))
        return super().__call__(batch)


def lose_a_worker_after_a_checkpoint(spark, path, folder):
    """Returns the first epoch in the History of a fit that lost a worker, and the weights."""
    net = SparkNetwork(spark, classes_conf(), replace(PEERS, max_restarts=1))
    kept = Checkpoints(path=f"{folder}/kept")
    history = net.fit(rows(spark, path), 3, transform=GoneLater(folder), checkpoints=kept)
    return history.rounds[0].epoch, bits(net.network)


def lose_for_good(spark, path, folder):
    """Returns the error of a fit that loses a worker but may not restart."""
    net = SparkNetwork(spark, classes_conf(), replace(PEERS, max_restarts=0))
    try:
        net.fit(rows(spark, path), 3, transform=Gone(folder))
    except SparkdlError as error:
        return type(error), str(error)


class Impatient(Exception):
    """A user-defined error."""

    def __init__(self, epoch, what):
        super().__init__(f"{what} after epoch {epoch}")
        self.epoch = epoch


class Strict(EarlyStopping):
    """A listener that fails after the first epoch."""

    def __init__(self):
        super().__init__("loss", patience=9)

    def on_epoch(self, report, state):
        raise Impatient(state.epoch, "tired")


def fail_in_a_listener(spark, path):
    """Returns the error of a user's listener as the fit raises it, and the state that it leaves."""
    net = SparkNetwork(spark, classes_conf(), PEERS)
    try:
        net.fit(rows(spark, path), 3, listeners=[Strict()])
    except Exception as error:
        own = {name: value for name, value in vars(error).items() if name != "__notes__"}
        return type(error), str(error), own, net.history.end_reason, bits(net.network)


def whole(spark, path):
    net = SparkNetwork(spark, classes_conf(), PEERS)
    net.fit(rows(spark, path), 3)
    return bits(net.network)


def features(spark, path):
    net = SparkNetwork(spark, classes_conf(), PEERS)
    layer = net.conf.stack[0].name
    [given] = by_id(net.features(rows(spark, path), layer), layer)
    evaluation = net.evaluate(rows(spark, path))
    return evaluation.loss, given, list(evaluation.wrong)


def measure(spark, path):
    """Returns the figures of a fit and of an evaluation with metrics of a user's own."""
    net, data = SparkNetwork(spark, classes_conf(), PEERS), rows(spark, path)
    factor = 2.0
    metrics = {"errors": ErrorRate, "f2": lambda y, p: factor * f2(y, p)}
    stopping = EarlyStopping("validation f2", mode="max", patience=9)
    options = {"validation": data, "metrics": metrics, "listeners": [stopping]}
    history = net.fit(data, 2, **options)
    figures = [report.validation.figures() for report in history.epochs]
    return figures, stopping.best, net.evaluate(data, metrics=METRICS).figures()


def column(spark, path):
    net = SparkNetwork(spark, classes_conf(), PEERS)
    name = net.conf.output.name
    return by_id(predict_column(rows(spark, path), net), name)[0]


def refuse(spark, path, what):
    """Requests something that is unsupported or invalid."""
    net, data = SparkNetwork(spark, classes_conf(), PEERS), rows(spark, path)
    x, y = np.zeros((4, 4), np.float32), np.zeros(4)
    if what == "driver":
        driver = masters.ParameterAveraging(aggregation="driver")
        SparkNetwork(spark, classes_conf(), driver).fit(data)
    elif what == "listener":
        net.fit(data, listeners=[LambdaListener(on_epoch=print)])
    elif what == "source":
        from sparkdl.readers import Arrays

        net.fit(Arrays(x, y))
    elif what == "stream":
        net.fit(spark.readStream.schema(data.schema).parquet(path))
    elif what == "workers":
        SparkNetwork(spark, classes_conf(), masters.AllReduceSGD(workers=9)).fit(data)
    elif what == "table_folder":
        master = masters.AllReduceSGD(tables="sharded", table_folder="/nowhere")
        SparkNetwork(spark, classes_conf(), master).fit(data)
    elif what == "devices":
        net.devices  # noqa: B018
    elif what == "resources":
        SparkNetwork(spark, classes_conf(), PEERS, resources="2 cores")
    elif what == "saving":
        SparkNetworkClassifier(network=classes_conf()).save("/nowhere")
    elif what == "overwriting":
        SparkNetworkClassifier(network=classes_conf()).write().overwrite().save("/nowhere")
    elif what == "search":
        Search(spark, lambda trial: classes_conf())
    elif what == "epochs":
        net.fit(data, 0)
    elif what == "updates":
        net.fit(data, updates=0)
    elif what == "validate_every":
        net.fit(data, validation=data, validate_every=0)
    elif what == "resume":
        net.fit(data, resume=True)


UNFIT = {  # data to evaluate on
    "no tests": lambda data: data.filter("id < 0"),
    "tests of no weight": lambda data: data.withColumn("w", functions.lit(0.0)),
    "bad tests": lambda data: data.withColumn("label", functions.col("id")),
}


def fail(spark, path, what):
    """Runs a fit that fails for the given reason."""
    data = rows(spark, path)
    if what == "schema":
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, features="two")
    elif what == "missing":
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, label="nothing")
    elif what == "record":
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, label="id")
    elif what == "diverged":
        conf = replace(values_conf(), optimizer=Sgd(learning_rate=1e30))
        SparkNetwork(spark, conf, PEERS).fit(data, 3)
    elif what == "worker":
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, transform=broken)
    elif what in UNFIT:
        tests = data.withColumn("w", functions.lit(1.0)), UNFIT[what](data)
        network = Network(classes_conf())
        try:
            SparkNetwork(spark, network, PEERS).fit(tests[0], 2, tests[1], weights="w")
        finally:
            assert network.history is None  # nothing was trained
    elif what == "drawn":
        data = data.filter("id = 0").select("features", "label")
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, validation_split=1e-9)
    elif what == "monitor":
        stopping = EarlyStopping(monitor="accuracyy")
        SparkNetwork(spark, classes_conf(), PEERS).fit(data, listeners=[stopping])


def broken(batch):
    raise KeyError("of the user's own")


def log_to_mlflow(spark, path, folder):
    """Returns the losses of a fit by update, and those that MLflow's own client reads."""
    os.environ |= QUIET
    import mlflow

    import sparkdl.mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.create_experiment("fits", artifact_location=f"file://{folder}/artifacts")
    mlflow.set_experiment("fits")
    sparkdl.mlflow.autolog(report=False, model=False)
    try:
        net = SparkNetwork(spark, classes_conf(), PEERS)
        history = net.fit(rows(spark, path), 3)
    finally:
        sparkdl.mlflow.autolog(disable=True)
    [run] = mlflow.search_runs(output_format="list")
    logged = mlflow.MlflowClient().get_metric_history(run.info.run_id, "training/loss")
    losses = {one.iteration: one.loss for one in history.rounds}
    return run.info.status, losses, {one.step: one.value for one in logged}
