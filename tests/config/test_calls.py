"""Options unknown to fit, evaluate and predict are rejected, with advice on what to use instead."""

import inspect
import re

import pytest

import sparkdl
import sparkdl.ml
import sparkdl.tune
from sparkdl import AllReduceSGD, Arrays, Network, ParameterAveraging, SparkNetwork
from sparkdl.config.calls import refuse_unknown_options
from sparkdl.config.foreign_calls import ELSEWHERE, SAME
from sparkdl.config.names import key
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import CaffeSolver
from sparkdl.training.network import require_workers

CALLS = {
    "Network": (Network, ["fit", "pretrain", "predict", "evaluate", "score"]),
    "SparkNetwork": (SparkNetwork, ["fit", "predict", "features", "evaluate", "score"]),
    "CaffeSolver": (CaffeSolver, ["fit"]),
}
METHODS = [f"{owner}.{call}" for owner, (_, calls) in CALLS.items() for call in calls]

# Options familiar from Keras, scikit-learn, Lightning, DL4J, Caffe and pyspark.ml.
FOREIGN = {
    "SparkNetwork.fit": {
        "accelerator": "ParameterAveraging(device='cuda')",
        "averaging_frequency": "ParameterAveraging(averaging_frequency=5)",
        "batch_size": "ParameterAveraging(batch_size_per_worker=64)",
        "callbacks": "listeners=[...], each of a subclass of sparkdl.Listener",
        "checkpoint_dir": "did you mean 'checkpoints'?",
        "checkpoint_path": "did you mean 'checkpoints'?",
        "ckpt_path": "did you mean 'resume'?",
        "criterion": "Output(units=10, loss='mse')",
        "dataset": "did you mean 'data'?",
        "device": "ParameterAveraging(device='cuda')",
        "epoch": "did you mean 'epochs'?",
        "feature_cols": "did you mean 'features'?",
        "featuresCol": "did you mean 'features'?",
        "initial_epoch": "epochs go on from those before",
        "labelCol": "did you mean 'label'?",
        "labels": "an RDD of (features, label) pairs or a DataFrame",
        "learning_rate": "NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "loss": "Output(units=10, loss='mse')",
        "lr": "NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "master": "SparkNetwork(sc, conf, tm)",
        "max_epochs": "did you mean 'epochs'?",
        "max_iter": "did you mean 'updates'?",
        "nb_epoch": "did you mean 'epochs'?",
        "num_epochs": "did you mean 'epochs'?",
        "num_workers": "ParameterAveraging(workers=4)",
        "optimizer": "NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "sample_weight": "weights='weight'",
        "seed": "ParameterAveraging(seed=1)",
        "shuffle": "records are shuffled",
        "steps_per_epoch": "updates= stops a fit",
        "test_interval": "did you mean 'validate_every'?",
        "tm": "SparkNetwork(sc, conf, tm)",
        "validation_batch_size": "does not depend on it",
        "validation_data": "did you mean 'validation'?",
        "validation_freq": "did you mean 'validate_every'?",
        "validation_steps": "all records of `validation` count",
        "verbose": "listeners=[ProgressBar()]",
        "weightCol": "did you mean 'weights'?",
        "gradient_accumulation_steps": "AllReduceSGD(accumulate=4)",
        "minPartitions": "workers= of the training master",
        "num_proc": "ParameterAveraging(workers=4)",
        "num_processes": "ParameterAveraging(workers=4)",
        "patience": "listeners=[EarlyStopping(patience=5)]",
        "resources": "SparkNetwork(sc, conf, tm, resources=profile)",
        "use_gpu": "ParameterAveraging(device='cuda')",
        "workers": "ParameterAveraging(workers=4)",
        "x": "did you mean 'data'?",
        "y": "an RDD of (features, label) pairs or a DataFrame",
    },
    "Network.fit": {
        "batch_size": "ParameterAveraging(batch_size_per_worker=64)",
        "callbacks": "listeners=[...]",
        "features": "data=(features, labels)",
        "sample_weight": "Arrays({'features': x, 'weights': w}, labels)",
        "tm": "did you mean 'master'?",
        "transform": "Arrays(features, labels, transform=...)",
        "weights": "Arrays({'features': x, 'weights': w}, labels)",
        "y": "data=(features, labels)",
    },
    "SparkNetwork.evaluate": {
        "batch_size": "does not depend on it",
        "callbacks": "listeners are told of a fit alone",
        "return_dict": "evaluate(...).figures() is a dict",
        "sample_weight": "weights='weight'",
        "steps": "all records count",
        "verbose": "print the Evaluation",
        "y": "an RDD of (features, label) pairs",
    },
    "Network.evaluate": {"y": "data=(features, labels)", "x": "did you mean 'data'?"},
    "SparkNetwork.predict": {
        "batch_size": "does not depend on it",
        "callbacks": "listeners are told of a fit alone",
        "predictionCol": "did you mean 'prediction'?",
        "probabilityCol": "did you mean 'probability'?",
        "outputCol": "did you mean 'prediction'?",
        "steps": "all records are predicted",
        "verbose": "Spark shows the progress of its jobs",
        "x": "did you mean 'data'?",
    },
    "Network.predict": {"x": "did you mean 'features'?"},
    "CaffeSolver.fit": {"callbacks": "listeners=[...]", "max_iter": "did you mean 'updates'?"},
}
CONSTRUCTORS = {
    "Network": {
        "epochs": "it is fit's: net.fit((x, y), epochs=5)",
        "master": "net.fit((x, y), master=ParameterAveraging(workers=4))",
        "metrics": "it is fit's: net.fit((x, y), metrics=[...], validation=...)",
        "model": "did you mean 'conf'?",
    },
    "Search": {
        "max_evals": "search.fit(data, trials=20)",
        "metric": "did you mean 'monitor'?",
        "n_jobs": "did you mean 'parallelism'?",
        "sampler": "optuna.create_study(sampler=...)",
        "space": "did you mean 'define'?",
    },
    "SparkNetwork": {
        "custom_objects": "an imported subclass of Layer is known by its name",
        "frequency": "ParameterAveraging(averaging_frequency=5)",
        "master": "did you mean 'tm'?",
        "mode": "ParameterServer(mode='async')",
        "model": "did you mean 'conf'?",
        "num_workers": "ParameterAveraging(workers=4)",
        "parameter_server_mode": "parameter servers use their own sockets",
        "port": "ParameterServer(ports='40000-40100')",
    },
    "SparkNetworkClassifier": {
        "device": "master=ParameterAveraging(device='cuda')",
        "early_stopping_rounds": "did you mean 'patience'?",
        "epochs": "did you mean 'maxIter'?",
        "features_col": "did you mean 'featuresCol'?",
        "label_col": "did you mean 'labelCol'?",
        "layers": "NetworkConf(layers=[Dense(units=16), Output(units=2)])",
        "learningRate": "a grid over it is one over networks",
        "n_estimators": "did you mean 'maxIter'?",
        "num_workers": "did you mean 'numWorkers'?",
        "regParam": "NetworkConf(l2=0.0005)",
        "stepSize": "NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "tm": "did you mean 'master'?",
        "verbose": "listeners=[ProgressBar()]",
        "weight_col": "did you mean 'weightCol'?",
    },
    "SparkNetworkEstimator": {
        "conf": "did you mean 'network'?",
        "epochs": "did you mean 'maxIter'?",
    },
    "SparkNetworkRegressor": {"label_col": "did you mean 'labelCol'?"},
    "EarlyStopping": {
        "check_finite": "a loss that is not finite ends every fit",
        "divergence_threshold": "TerminateOnMaxLoss(10.0)",
        "pateince": "did you mean 'patience'?",
        "stopping_threshold": "TerminateOnTarget(0.05)",
        "target": "TerminateOnTarget(0.05)",
        "verbose": "leave it out: history.end_reason says why a fit ended",
    },
    "LambdaListener": {
        "on_batch_end": "did you mean 'on_round'? (a round is several minibatches)",
        "on_epoc": "did you mean 'on_epoch'?",
        "on_epoch_end": "did you mean 'on_epoch'?",
        "on_train_begin": "did you mean 'on_fit_start'?",
        "on_train_end": "did you mean 'on_fit_end'?",
    },
    "ModelCheckpoint": {
        "filepath": "it is called path here",
        "save_freq": "Checkpoints has every_",
    },
    "ReduceLROnPlateau": {"verbose": "the log says each new rate"},
}
MADE = [(owner, name) for owner, names in CONSTRUCTORS.items() for name in names]
ROWS = [(method, name) for method, names in FOREIGN.items() for name in names]


def public(name):
    """Returns the public class of this name."""
    places = sparkdl, sparkdl.ml, sparkdl.tune
    return next(getattr(place, name) for place in places if name in place.__all__)


def called(method, **options):
    """Returns the error message of a call with these options."""
    owner, _, call = method.partition(".")
    kind, _ = CALLS[owner]
    with pytest.raises(ConfigError) as caught:
        getattr(kind, call)(object.__new__(kind), **options)
    return str(caught.value)


@pytest.mark.parametrize("method, name", ROWS, ids=[f"{m}-{n}" for m, n in ROWS])
def test_an_option_from_elsewhere_is_refused_with_the_cure(method, name):
    message = called(method, **{name: 1})
    assert message.startswith(f"{method} has no option '{name}'; ")
    assert FOREIGN[method][name] in message and len(message) < 250


@pytest.mark.parametrize("owner, name", MADE, ids=[f"{o}-{n}" for o, n in MADE])
def test_an_option_that_a_constructor_has_not_is_refused_with_the_cure(owner, name):
    with pytest.raises(ConfigError) as caught:
        public(owner)(**{name: print})
    assert str(caught.value).startswith(f"{owner} has no option '{name}'; ")
    assert CONSTRUCTORS[owner][name] in str(caught.value)


def test_every_entry_of_the_tables_is_one_that_a_method_can_tell():
    methods = {call for _, calls in CALLS.values() for call in calls} | {*METHODS}
    methods |= {f"{owner}.__init__" for owner in CONSTRUCTORS}
    assert {*ELSEWHERE} <= methods
    words = [word for table in ELSEWHERE.values() for word in table]
    assert [word for word in [*SAME, *words] if word != key(word)] == []
    known = {one.name for method in METHODS for one in parameters(method)}
    made = [inspect.signature(public(owner)) for owner in CONSTRUCTORS]
    known |= {name for one in made for name in one.parameters}
    known |= {*inspect.signature(sparkdl.tune.Search.fit).parameters}
    assert {name for names in SAME.values() for name in names.split()} <= known


def test_what_a_cure_writes_down_is_there():
    text = " ".join(cure for table in ELSEWHERE.values() for cure in table.values())
    for name in {*re.findall(r"\b([A-Z]\w+)\(", text)} - {"SoftmaxCrossEntropy"}:
        places = sparkdl, sparkdl.clipping
        assert any(hasattr(place, name) for place in places), name
    assert ParameterAveraging(averaging_frequency=5, workers=4, seed=1, prefetch=4).workers == 4
    assert sparkdl.losses.SoftmaxCrossEntropy(class_weights=[1, 3])
    assert Arrays({"features": [[1.0]], "weights": [1.0]}, [0]).columns["weights"] == [1.0]


def parameters(method):
    owner, _, call = method.partition(".")
    return list(inspect.signature(getattr(CALLS[owner][0], call)).parameters.values())[1:]


@pytest.mark.parametrize("method", METHODS)
def test_every_option_is_explicit_and_explained(method):
    owner, _, call = method.partition(".")
    found, text = parameters(method), inspect.getdoc(getattr(CALLS[owner][0], call))
    assert not [one for one in found if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    if len(found) > 1 and call != "score":
        assert not [
            one.name for one in found if not re.search(rf"^[\w, ]*\b{one.name}\b", text, re.M)
        ]


@pytest.mark.parametrize("method", METHODS)
def test_every_option_has_a_type(method):
    assert not [one.name for one in parameters(method) if one.annotation is one.empty]


def test_an_option_that_is_like_no_other_is_refused_without_advice():
    assert called("Network.evaluate", zzzz=1) == "Network.evaluate has no option 'zzzz'"
    assert len(called("Network.evaluate", **{"z" * 9999: 1})) < 200


def test_a_method_is_called_as_it_was():
    class Own:
        @refuse_unknown_options
        def add(self, one, *, other=2):
            """Adds."""
            return one + other

    assert Own().add(1) == 3 and Own().add(one=1, other=1) == 2
    assert Own.add.__doc__ == "Adds." and "other=2" in str(inspect.signature(Own.add))
    with pytest.raises(ConfigError, match=r"Own.add has no option 'othr'; did you mean 'other'\?"):
        Own().add(1, othr=2)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Own().add()


def test_what_is_no_master_and_what_are_no_workers_is_refused():
    require_workers(AllReduceSGD(), None)
    with pytest.raises(ConfigError, match="master must be a TrainingMaster, got 'AllReduceSGD'"):
        require_workers("AllReduceSGD", None)
    with pytest.raises(
        ConfigError, match=r"workers must be Workers such as LocalWorkers\(4\), got 4"
    ):
        require_workers(AllReduceSGD(), 4)
