"""The fit loop: the events of listeners and their order, and resumed runs."""

import os
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, ConfigError, DivergedError
from sparkdl.nn import Adam, Momentum, Output, Sgd
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.saving.checkpoint import Checkpoints, latest, load_checkpoint
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron, softmax_net, whole_net
from tests.training.rounds.test_block_training import data as sequences
from tests.training.rounds.test_block_training import network as recurrent

MASTER = ParameterAveraging(aggregation="driver", batch_size_per_worker=4, averaging_frequency=2)
COUNTS = [23, 0, 16]  # 5 blocks of 8 records: 3 rounds of 2 workers per epoch
DATA = Partitions(COUNTS)
CONF = whole_net(optimizer=Adam(learning_rate=0.01))


class Stop(Exception):
    pass


class Recorder(Listener):
    """Records all events; raises Stop at the event `stop_at`."""

    def __init__(self, stop_at=None, name=""):
        self.heard, self.stop_at, self.name = [], stop_at, name

    def hear(self, *event):
        self.heard.append(event)
        if event == self.stop_at:
            raise Stop(event)

    def on_fit_start(self, plan):
        self.plan = plan
        self.hear("start", plan.epochs)

    def on_round(self, report, state):
        self.hear("round", report.epoch, report.round)

    def on_epoch(self, report, state):
        self.state = state
        self.hear("epoch", report.epoch)

    def on_fit_end(self, history):
        self.history = history
        self.hear("end", len(history.rounds))


def fit(workers, epochs=2, network=None, data=DATA, master=MASTER, **options):
    network = Network(CONF) if network is None else network
    history = network.fit(data, epochs, master, workers, **options)
    return network, history


def events(first, last, rounds=3):
    for epoch in range(first, last):
        yield from (("round", epoch, number) for number in range(rounds))
        yield ("epoch", epoch)


@pytest.fixture(scope="module")
def whole(crews):
    """The state after two uninterrupted epochs."""
    return fit(crews(2))[0].state


@pytest.mark.slow
def test_listeners_hear_everything_in_order(crews):
    recorder = Recorder()
    network, history = fit(crews(2), listeners=[recorder])
    assert recorder.heard == [("start", 2), *events(0, 2), ("end", 6)]
    plan = recorder.plan
    assert (plan.conf, plan.epochs, plan.rounds_in_epoch, plan.workers) == (CONF, 2, 3, 2)
    assert (plan.epoch, plan.round, plan.rounds) == (0, 0, 0)
    assert recorder.history is history and recorder.state is network.state


def test_listeners_hear_each_event_in_the_order_given(crews):
    order = []

    class Named(Listener):
        def __init__(self, name):
            self.name = name

        def on_round(self, report, state):
            order.append(self.name)

    fit(crews(2), epochs=1, listeners=[Named("a"), Named("b")])
    assert order == ["a", "b"] * 3


def test_the_history_adds_up(crews):
    network, history = fit(crews(2))
    assert [r.rounds_in_epoch for r in history.rounds] == [3] * 6
    assert [r.examples for r in history.epochs] == [39, 39]
    assert sum(r.examples for r in history.rounds) == 78
    assert history.rounds[-1].iteration == network.state.iteration
    mean = sum(r.loss * r.examples for r in history.rounds[:3]) / 39
    assert history.epochs[0].loss == pytest.approx(mean)
    assert "where time went" in str(history) and history.to_dict()["epochs"][1]["epoch"] == 1


@pytest.mark.slow
def test_training_lowers_the_loss(crews):
    _, history = fit(crews(2), epochs=12, network=Network(perceptron()))
    assert history.epochs[-1].loss < 0.7 * history.epochs[0].loss


def test_the_loss_of_the_first_round_is_that_of_the_first_weights(crews):
    network = Network(softmax_net(optimizer=Sgd(learning_rate=1e-12)))
    before = network.score(DATA)
    _, history = fit(crews(2), epochs=1, network=network)
    assert history.epochs[0].loss == pytest.approx(before, rel=1e-5)


def test_each_epoch_is_validated_with_its_weights(crews):
    recorder, validation = Recorder(), Partitions([20], seed=9)
    network, history = fit(crews(2), validation=validation, listeners=[recorder])
    first, last = (report.validation for report in history.epochs)
    assert first.examples == last.examples == 20
    assert last.figures() == network.evaluate(validation).figures() != first.figures()
    assert history.epochs[1].score == last.accuracy
    one, _ = fit(crews(2), epochs=1)
    assert one.evaluate(validation).figures() == first.figures()


def test_the_network_may_be_validated_elsewhere(crews):
    asked = []

    def evaluate(state, data):
        asked.append((state.epoch, data))

    fit(crews(2), validation="elsewhere", evaluate=evaluate)
    assert asked == [(1, "elsewhere"), (2, "elsewhere")]


def test_a_second_fit_goes_on(crews, whole):
    recorder = Recorder()
    network, _ = fit(crews(2), epochs=1)
    assert (network.state.epoch, network.state.rounds) == (1, 3)
    fit(crews(2), epochs=1, network=network, listeners=[recorder])
    assert recorder.heard == [("start", 2), *events(1, 2), ("end", 3)]
    assert_equal(network.state, whole)


def test_a_fit_that_fails_keeps_its_rounds_and_tells_the_end(crews):
    network, recorder = Network(CONF), Recorder(stop_at=("round", 0, 1))
    with pytest.raises(Stop):
        fit(crews(2), network=network, listeners=[recorder])
    assert network.state.rounds == 2 and recorder.heard[-1] == ("end", 2)


INTERRUPTED = {  # where a listener stops the fit, options of checkpoints, rounds in the last one
    "in the first round": (("round", 0, 0), {"every_rounds": 1}, 1),
    "in the middle of an epoch": (("round", 1, 1), {"every_rounds": 1}, 5),
    "some rounds after a checkpoint": (("round", 1, 1), {"every_rounds": 2}, 4),
    "in the last round of an epoch": (("round", 0, 2), {"every_rounds": 1}, 3),
    "at the end of an epoch": (("epoch", 0), {}, 3),
    "in the last epoch": (("round", 1, 0), {}, 3),
    "when all is done": (("epoch", 1), {}, 6),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_resumed_fit_ends_with_the_weights_of_the_uninterrupted_one(name, crews, whole, tmp_path):
    stop_at, when, kept = INTERRUPTED[name]
    checkpoints = Checkpoints(path=tmp_path / "c", **when)
    with pytest.raises(Stop):
        fit(crews(2), listeners=[Recorder(stop_at)], checkpoints=checkpoints)
    assert latest(tmp_path / "c").endswith(f"round-{kept:08d}")
    recorder = Recorder()
    options = {"checkpoints": checkpoints, "resume": tmp_path / "c", "listeners": [recorder]}
    network, history = fit(crews(2), **options)
    assert_equal(network.state, whole)
    assert len(history.rounds) == 6 - kept
    assert recorder.heard[0] == ("start", 2) and recorder.plan.rounds == kept
    assert recorder.plan.rounds_before == kept


def test_who_steers_and_counts_is_told_before_the_checkpoint_is_written(crews, tmp_path):
    """Other listeners are told after it, because they may fail."""
    found = {}

    def listener(name, **options):
        def on_epoch(report, state):
            found[name] = os.path.exists(tmp_path / "c")

        made = LambdaListener(on_epoch=on_epoch, **options)
        made.counters = ("name",) if name == "counts" else ()
        made.name = name
        return made

    own = [listener("hears"), listener("counts"), listener("steers", steers=True)]
    fit(crews(2), 1, listeners=own, checkpoints=Checkpoints(path=tmp_path / "c"))
    assert found == {"steers": False, "counts": False, "hears": True}
    assert list(found) == ["steers", "counts", "hears"]


def test_a_fit_may_be_interrupted_twice(crews, whole, tmp_path):
    checkpoints = Checkpoints(path=tmp_path, every_rounds=1)
    options = {"checkpoints": checkpoints}
    with pytest.raises(Stop):
        fit(crews(2), listeners=[Recorder(("round", 0, 1))], **options)
    with pytest.raises(Stop):
        fit(crews(2), listeners=[Recorder(("round", 1, 0))], resume=tmp_path, **options)
    network, _ = fit(crews(2), resume=tmp_path, **options)
    assert_equal(network.state, whole)


def test_a_second_fit_that_was_interrupted_ends_where_it_would_have(crews, whole, tmp_path):
    network, _ = fit(crews(2), epochs=1)
    with pytest.raises(Stop):
        fit(
            crews(2),
            epochs=1,
            network=network,
            checkpoints=Checkpoints(path=tmp_path, every_rounds=1),
            listeners=[Recorder(("round", 1, 0))],
        )
    resumed, history = fit(crews(2), epochs=1, resume=tmp_path)
    assert_equal(resumed.state, whole)
    assert len(history.rounds) == 2


def test_more_epochs_may_be_asked_for_when_resuming(crews, tmp_path):
    fit(crews(2), epochs=1, checkpoints=Checkpoints(path=tmp_path))
    resumed, _ = fit(crews(2), epochs=3, resume=tmp_path)
    assert_equal(resumed.state, fit(crews(2), epochs=3)[0].state)


def test_resuming_what_is_done_changes_nothing(crews, whole, tmp_path):
    fit(crews(2), checkpoints=Checkpoints(path=tmp_path))
    resumed, history = fit(crews(2), resume=tmp_path)
    assert_equal(resumed.state, whole)
    assert str(history) == "no rounds"


def test_resuming_keeps_the_seed_of_the_run(crews, tmp_path):
    master = replace(MASTER, seed=11)
    fit(crews(2), epochs=1, master=master, checkpoints=Checkpoints(path=tmp_path))
    resumed, _ = fit(crews(2), master=master, resume=tmp_path)
    assert resumed.state.seed == 11
    assert_equal(resumed.state, fit(crews(2), master=master)[0].state)


OTHER = {
    "master's option": ({"master": replace(MASTER, averaging_frequency=3)}, "averaging_freq.* 2,"),
    "batch size": ({"master": replace(MASTER, batch_size_per_worker=3)}, "batch_size_per_worker 4"),
    "seed": ({"master": replace(MASTER, seed=1)}, "seed None, this fit has 1"),
    "fewer records": ({"data": Partitions([23, 0, 15])}, "records 39, this fit has 38"),
    "other partitions": (
        {"data": Partitions([1] * 39), "master": replace(MASTER, repartition="never")},
        "repartition uneven, this fit has never",
    ),
    "class weights": ({"class_weight": {0: 2.0}}, r"changes \[\], this fit has \[.ClassWeights"),
    "a part held out": (
        {"validation_split": 0.1},
        r"records 39|changes \[\], this fit has \[.Part",
    ),
}


@pytest.fixture(scope="module")
def left(crews, tmp_path_factory):
    """A folder with a checkpoint after one epoch."""
    path = tmp_path_factory.mktemp("left")
    fit(crews(2), epochs=1, checkpoints=Checkpoints(path=path))
    return path


@pytest.mark.parametrize("name", OTHER)
def test_resuming_with_something_else_is_refused_by_name(name, crews, left):
    options, message = OTHER[name]
    with pytest.raises(CheckpointError, match=f"was written with {message}.*use the same, or load"):
        fit(crews(2), resume=left, **options)


def test_resuming_with_other_workers_is_refused(crews, left):
    with pytest.raises(CheckpointError, match="written with workers 2, this fit has 3"):
        fit(crews(3), resume=left)


def test_resuming_another_network_is_refused(crews, left):
    with pytest.raises(CheckpointError, match="holds another network than the one to be trained"):
        fit(crews(2), network=Network(perceptron()), resume=left)


def test_resuming_from_nothing_is_refused(crews, tmp_path):
    with pytest.raises(CheckpointError, match="there are no checkpoints"):
        fit(crews(2), resume=tmp_path / "nowhere")


def test_resuming_from_a_saved_model_is_refused(crews, tmp_path):
    Network(CONF).save(tmp_path / "model")
    with pytest.raises(CheckpointError, match="is a saved model, not a checkpoint .*load it and"):
        fit(crews(2), resume=tmp_path / "model")


def test_options_that_change_no_weight_may_change(crews, left, whole):
    master = replace(MASTER, prefetch=0, storage_level="DISK_ONLY", workers=2)
    assert_equal(fit(crews(2), master=master, resume=left)[0].state, whole)


def test_a_new_fit_does_not_mix_its_checkpoints_with_others(crews, left):
    with pytest.raises(CheckpointError, match="is ahead of round 0, where this fit starts"):
        fit(crews(2), checkpoints=Checkpoints(path=left))


def test_a_checkpoint_holds_the_state_of_its_round(crews, tmp_path, whole):
    fit(crews(2), checkpoints=Checkpoints(path=tmp_path, every_rounds=2, keep=2))
    assert sorted(os.listdir(tmp_path)) == ["round-00000004", "round-00000006"]
    conf, state, extra = load_checkpoint(tmp_path)
    assert conf == CONF and extra["first_epoch"] == 0 and extra["workers"] == 2
    assert_equal(state, whole)


# Divergence


DIVERGING = softmax_net(
    layers=[Output(units=1, loss="mse")], optimizer=Momentum(learning_rate=1e12)
)


def regression():
    data = Partitions([64])
    data.labels = data.features[:, :1]
    return data


def test_divergence_names_round_and_last_checkpoint(crews, tmp_path):
    recorder = Recorder()
    options = {"listeners": [recorder], "data": regression()}
    options["checkpoints"] = Checkpoints(path=tmp_path / "c", every_rounds=1)
    network = Network(DIVERGING)
    with pytest.raises(DivergedError) as caught:
        fit(crews(2), network=network, **options)
    rounds = len(recorder.history.rounds)
    assert rounds >= 1 and recorder.heard[-1] == ("end", rounds)
    text = str(caught.value)
    assert f"in epoch 0, round {rounds}: training has diverged" in text
    last = str(tmp_path / "c" / f"round-{rounds:08d}")
    assert text.endswith(f"the last good checkpoint is {last}")
    assert np.isfinite(load_checkpoint(last)[1].params).all()
    assert network.state.rounds == 0 and network.history is recorder.history
    assert text.startswith(f"{network.history.end_reason}; the last good checkpoint")


def test_divergence_without_checkpoints_says_so(crews):
    with pytest.raises(DivergedError, match="diverged; .*; there is no checkpoint to go back to"):
        fit(crews(2), network=Network(DIVERGING), data=regression())


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "3", True])
def test_epochs_that_cannot_be_are_refused(epochs, crews):
    with pytest.raises(ConfigError, match="epochs must be an integer >= 1, got "):
        fit(crews(2), epochs=epochs)


def test_where_updates_are_must_be_known(crews):
    """With tbptt it depends on the records; the error names the cure."""
    conf = recurrent(tbptt=(4, 4))
    with pytest.raises(ConfigError, match="with tbptt .* give epochs"):
        fit(crews(2), None, Network(conf), sequences(np.random.default_rng(1), n=8), updates=3)


def test_a_fit_that_has_all_its_updates_trains_nothing(crews):
    network, _ = fit(crews(2), epochs=None, updates=3)
    before = network.state
    _, history = fit(crews(2), epochs=None, network=network, updates=3)
    assert history.rounds == []
    assert_equal(network.state, before)


@pytest.mark.parametrize("name, value", [("last", 0), ("validate", 1.5), ("show", (0,))])
def test_marks_are_checked(name, value):
    with pytest.raises(ConfigError, match=f"Milestones.{name} must be .*integer"):
        Milestones(**{name: value})
