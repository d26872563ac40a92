"""Modules train with torch's own schedulers as in one process of torch."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.torch import TorchModel
from sparkdl.interop.torch.module_schedule import ModuleSchedule
from sparkdl.nn import conf_from_json
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.report.curves import rates
from sparkdl.training.report.hyperparameters import flat
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.interop.torch.modules import Partitions, model, whole_lenet
from tests.interop.torch.optimizers import TWINS, adamw, by_groups, momentum, train
from tests.interop.torch.test_torch_replica import Stop, first_module, fit, vector_of
from tests.training.master_table import JOINT, MASTERS, WHOLE, assert_close, by_kind, joint_batches
from tests.training.models import assert_equal, params_of_two_processes
from tests.training.problems import UNEVEN

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
kinds = torch.optim.lr_scheduler


def in_turn(optimizer):
    warm = kinds.LinearLR(optimizer, 0.25, total_iters=3)
    return kinds.SequentialLR(optimizer, [warm, kinds.CosineAnnealingLR(optimizer, 9)], [3])


SCHEDULERS = {
    "StepLR": lambda o: kinds.StepLR(o, 2, gamma=0.5),
    "MultiStepLR": lambda o: kinds.MultiStepLR(o, [2, 5]),
    "ExponentialLR": lambda o: kinds.ExponentialLR(o, 0.8),
    "CosineAnnealingLR": lambda o: kinds.CosineAnnealingLR(o, 6, eta_min=0.001),
    "CosineAnnealingWarmRestarts": lambda o: kinds.CosineAnnealingWarmRestarts(o, 3),
    "PolynomialLR": lambda o: kinds.PolynomialLR(o, 8),
    "LambdaLR, from zero": lambda o: kinds.LambdaLR(o, lambda t: min(t / 4, 1.0)),
    "LambdaLR, by group": lambda o: kinds.LambdaLR(
        o, [lambda t, g=g: 1 / (1 + g + t) for g in range(len(o.param_groups))]
    ),
    "CyclicLR": lambda o: kinds.CyclicLR(o, 0.01, 0.1, step_size_up=2),
    "OneCycleLR": lambda o: kinds.OneCycleLR(o, 0.1, total_steps=20),
    "SequentialLR": in_turn,
    "ChainedScheduler": lambda o: kinds.ChainedScheduler(
        [kinds.ConstantLR(o, 0.5, 3), kinds.ExponentialLR(o, 0.9)]
    ),
}


def onecycle(optimizer):
    return kinds.OneCycleLR(optimizer, 0.05, total_steps=100)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_each_has_groups_move_as_in_torch_and_in_another_process_too(name):
    conf = model("lenet", torch_optimizer=by_groups, torch_scheduler=SCHEDULERS[name])
    data = Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    module = first_module(conf)
    optimizer = by_groups(module)
    used = train(module, optimizer, [batch] * 9, SCHEDULERS[name](optimizer))
    params = params_of_two_processes(conf, batch, 9)
    assert_close(params, vector_of(module, conf), 1e-5)
    assert len(set(used)) > 1
    assert used == [conf.optimizer.rate_at(t, 5) for t in range(9)]  # the rates that are shown


TRAINED = [  # the others refuse torch's optimizers
    name
    for name in JOINT
    if name in WHOLE and not isinstance(MASTERS[name].master, ParameterServer)
]


@pytest.mark.parametrize("name", by_kind(TRAINED))
def test_updates_are_those_of_torch_on_the_joint_batch(name, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions("lenet", UNEVEN)
    master = replace(row.master, **row.joint)
    make = TWINS[type(row.optimizer).__name__]
    conf = model("lenet", torch_optimizer=make, torch_scheduler=in_turn)
    network = fit(conf, master, workers, data, epochs=2)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    module = first_module(conf)
    optimizer = make(module)
    scheduler = in_turn(optimizer)
    for epoch in range(2):
        train(module, optimizer, joint_batches(master, blocks, workers, conf, epoch), scheduler)
    assert_close(network.state.params, vector_of(module, conf), 1e-4)


def onecycle_of_epochs(optimizer):
    return kinds.OneCycleLR(optimizer, 0.05, total_steps=4)


@pytest.mark.parametrize("name", ["all-reduce", "averaging by the driver"])
def test_a_scheduler_of_epochs_is_stepped_between_them(name, crews):
    """Rates and momenta equal those of a plain torch loop, also in a resumed fit."""
    row, workers, data = MASTERS[name], crews(2), Partitions("lenet", UNEVEN)
    master = replace(row.master, **row.joint)
    scheduler = {"torch_scheduler": onecycle_of_epochs, "torch_scheduler_per": "epoch"}
    conf = model("lenet", torch_optimizer=momentum, **scheduler)
    network = fit(conf, master, workers, data, epochs=3)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    module = first_module(conf)
    optimizer = momentum(module)
    scheduler = onecycle_of_epochs(optimizer)
    used = []
    for epoch in range(3):
        batches = [*joint_batches(master, blocks, workers, conf, epoch)]
        used.append(train(module, optimizer, batches)[-1])
        scheduler.step()
    assert len(batches) > 1
    assert_close(network.state.params, vector_of(module, conf), 1e-4)
    assert used == [conf.rate_at(100, epoch) for epoch in range(3)]
    assert used == [conf.optimizer.rate_at(100, epoch) for epoch in range(3)]  # what is shown
    again = conf_from_json(conf.to_json())
    assert [again.rate_at(100, epoch) for epoch in range(3)] == used


def test_a_resumed_fit_ends_with_the_bits_of_the_uninterrupted_one(crews, tmp_path):
    data, master = Partitions("lenet", UNEVEN), MASTERS["all-reduce"].master
    conf = model("lenet", whole_lenet, torch_optimizer=adamw, torch_scheduler=onecycle)
    whole = fit(conf, master, crews(2), data, epochs=3)
    with pytest.raises(InterruptedError):
        kept = Checkpoints(path=tmp_path, every_rounds=1)
        fit(conf, master, crews(2), data, epochs=3, checkpoints=kept, listeners=[Stop()])
    assert_equal(fit(conf, master, crews(2), data, epochs=3, resume=tmp_path).state, whole.state)


@pytest.mark.parametrize("aggregation", ["driver", "peers"])
def test_slots_that_begin_anew_do_not_begin_the_schedule_anew(aggregation, crews):
    """SGD without momentum has no slots, so averaging them or not gives the same weights."""
    conf = model("lenet", torch_optimizer=TWINS["Sgd"], torch_scheduler=in_turn)
    data, options = Partitions("lenet", [40, 40]), {"aggregation": aggregation, "workers": 2}
    params = []
    for average in (True, False):
        master = ParameterAveraging(
            averaging_frequency=2,
            batch_size_per_worker=8,
            average_optimizer_state=average,
            **options,
        )
        params.append(fit(conf, master, crews(2), data, epochs=3).state.params)
    np.testing.assert_array_equal(*params)
    assert np.abs(params[0] - vector_of(first_module(conf), conf)).max() > 1e-3


def test_momentum_follows_the_fits_updates_where_the_slots_are_younger():
    conf = model("lenet", torch_optimizer=momentum, torch_scheduler=onecycle)
    replica = Network(conf).replica
    [batch] = Partitions("lenet", [40]).read(Partitions("lenet", [40]).splits()[0])
    replica.iteration = 10
    replica.step(batch, conf.rate_at(10, 0), 1)
    [group] = replica._optimizer._optimizer.param_groups
    optimizer = momentum(first_module(conf))
    scheduler = onecycle(optimizer)
    for _ in range(10):
        optimizer.step()
        scheduler.step()
    assert [group[key] for key in ("lr", "momentum")] == [
        optimizer.param_groups[0][key] for key in ("lr", "momentum")
    ]


def test_a_listener_lowers_groups_beside_one_at_rest():
    def frozen_first(optimizer):
        return kinds.LambdaLR(optimizer, [lambda t: 0.0 if t < 5 else 1.0, lambda t: 1.0])

    conf = model("lenet", torch_optimizer=by_groups, torch_scheduler=frozen_first)
    [batch] = Partitions("lenet", [40]).read(Partitions("lenet", [40]).splits()[0])
    assert conf.rate_at(0, 0).tolist() == [0.0, 0.01]
    replica = Network(conf).replica
    replica.step(batch, 0.5 * conf.rate_at(0, 0), 1)
    groups = replica._optimizer._optimizer.param_groups
    assert [group["lr"] for group in groups] == [0.0, 0.005]


def test_reports_list_the_functions_and_rates(tmp_path):
    conf = model("lenet", torch_optimizer=adamw, torch_scheduler=onecycle)
    listed = flat(conf.optimizer.to_dict(), "optimizer.")
    assert listed["optimizer.learning_rate.scheduler"] == f"{__name__}:onecycle"
    network = Network(conf)
    network.fit((np.zeros((20, 1, 8, 8), np.float32), np.zeros(20, np.int64)), epochs=2)
    iterations = [report.iteration - 1 for report in network.history.rounds]
    run = SimpleNamespace(conf=conf, state=network.state)
    assert rates(run, network.history.rounds) == [conf.rate_at(t, 0) for t in iterations]
    run.conf = conf_from_json(conf.to_json().replace(":onecycle", ":elsewhere"))
    assert rates(run, network.history.rounds) == [None] * len(iterations)
    assert conf.rate_at(-1, 0) == conf.rate_at(0, 0)


def test_another_schedule_of_the_same_name_is_refused():
    def make(total):
        def schedule(optimizer):
            return kinds.OneCycleLR(optimizer, 0.05, total_steps=total)

        return model("lenet", torch_optimizer=adamw, torch_scheduler=schedule)

    text = make(500).to_json()
    assert conf_from_json(text) == make(500)
    make(501)
    with pytest.raises(ConfigError, match="torch_scheduler must be the one that the model was"):
        conf_from_json(text)


def test_a_listener_lowers_the_rates_further(crews):
    conf = model("lenet", torch_optimizer=momentum, torch_scheduler=onecycle)
    lower = ReduceLROnPlateau("loss", factor=0.5, patience=1, mode="max")
    network = fit(
        conf, MASTERS["all-reduce"].master, crews(2), Partitions("lenet", UNEVEN), epochs=3,
        listeners=[lower],
    )  # fmt: skip
    assert network.state.rate_factor < 1
    data = Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    one, half = Network(conf).replica, Network(conf).replica
    start = one.params.copy()
    one.step(batch, conf.rate_at(0, 0), 1)
    half.step(batch, conf.rate_at(0, 0) / 2, 1)
    assert_close(2 * (half.params - start), one.params - start, 1e-3)


def test_documents_and_models_name_the_function(tmp_path):
    conf = model("lenet", torch_optimizer=adamw, torch_scheduler=onecycle)
    again = conf_from_json(conf.to_json())
    assert again == conf and again.torch_scheduler.reference == f"{__name__}:onecycle"
    assert isinstance(again.optimizer.learning_rate, ModuleSchedule)
    assert replace(conf, seed=5).rate_at(3, 0) == conf.rate_at(3, 0)
    Network(conf).save(tmp_path / "model")
    assert Network.load(tmp_path / "model").conf == conf
    unknown = conf.to_json().replace(":onecycle", ":elsewhere")
    network = Network(conf_from_json(unknown))
    assert network.predict(np.zeros((2, 1, 8, 8), np.float32)).shape == (2, 3)
    with pytest.raises(ConfigError, match="torch_scheduler must be a function that this process"):
        network.fit((np.zeros((4, 1, 8, 8), np.float32), np.zeros(4, np.int64)), epochs=1)


SHORT = {
    "OneCycleLR": partial(kinds.OneCycleLR, max_lr=0.1, total_steps=3),
    "LambdaLR of a table": lambda o: kinds.LambdaLR(o, lambda t: (1.0, 0.5, 0.2)[t]),
    "LambdaLR that divides": lambda o: kinds.LambdaLR(o, lambda t: 1 / (3 - t)),
}


@pytest.mark.parametrize("name", SHORT)
def test_one_that_ends_before_the_fit_says_so(name):
    conf = model("lenet", torch_optimizer=adamw, torch_scheduler=SHORT[name])
    kind = name.partition(" ")[0]
    with pytest.raises(ConfigError, match=f"the whole fit, got {kind}, which ended after"):
        Network(conf).fit((np.zeros((40, 1, 8, 8), np.float32), np.zeros(40, np.int64)), epochs=9)


REFUSED = {
    "by losses": (kinds.ReduceLROnPlateau, "takes no arguments, got .*ReduceLROnPlateau"),
    "nothing": (lambda optimizer: None, "must return a torch.optim.lr_scheduler.LRScheduler"),
    "no function": (3, "must be a function of the optimizer that builds a torch.optim.lr_sch"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name):
    make, message = REFUSED[name]
    with pytest.raises(ConfigError, match=f"TorchModel.torch_scheduler.*{message}"):
        model("lenet", torch_optimizer=adamw, torch_scheduler=make)


def test_it_needs_torchs_optimizer():
    with pytest.raises(ConfigError, match="torch_scheduler must be None without torch_optimizer"):
        TorchModel(make=whole_lenet, input_shape=(1, 8, 8), torch_scheduler=onecycle)
