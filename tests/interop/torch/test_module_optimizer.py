"""Modules train with torch's own optimizers; masters give the same weights as one process."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.torch import TorchModel
from sparkdl.interop.torch.module_device import tensors_of
from sparkdl.interop.torch.module_optimizer import ModuleOptimizer
from sparkdl.nn import Adam, ClipNorm, ClipValue, Sgd, conf_from_json
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.interop.torch.modules import Partitions, model, transformer, whole_lenet
from tests.interop.torch.optimizers import TWINS, adamw, by_groups, momentum, sgd, train
from tests.interop.torch.test_torch_replica import (
    Kill,
    Stop,
    first_module,
    fit,
    vector_of,
)
from tests.training.master_table import JOINT, MASTERS, WHOLE, assert_close, by_kind, joint_batches
from tests.training.models import assert_equal, params_of_two_processes
from tests.training.problems import UNEVEN

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")

OPTIMIZERS = {
    "Adadelta": lambda m: torch.optim.Adadelta(m.parameters(), lr=0.5),
    "Adafactor": lambda m: torch.optim.Adafactor(m.parameters(), lr=0.01),
    "Adagrad": lambda m: torch.optim.Adagrad(m.parameters(), lr=0.05),
    "Adam, amsgrad": lambda m: torch.optim.Adam(m.parameters(), lr=0.01, amsgrad=True),
    "AdamW": lambda m: torch.optim.AdamW(m.parameters(), lr=0.01, weight_decay=0.1),
    "Adamax": lambda m: torch.optim.Adamax(m.parameters(), lr=0.01),
    "ASGD": lambda m: torch.optim.ASGD(m.parameters(), lr=0.05),
    "NAdam": lambda m: torch.optim.NAdam(m.parameters(), lr=0.01),
    "RAdam": lambda m: torch.optim.RAdam(m.parameters(), lr=0.01),
    "RMSprop": lambda m: torch.optim.RMSprop(m.parameters(), lr=0.01, momentum=0.9, centered=True),
    "Rprop": lambda m: torch.optim.Rprop(m.parameters(), lr=0.01),
    "SGD": lambda m: torch.optim.SGD(m.parameters(), lr=0.05),
    "SGD, Nesterov": lambda m: torch.optim.SGD(m.parameters(), 0.05, momentum=0.9, nesterov=True),
    "by groups": by_groups,
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_moves_a_module_as_torch_does_and_goes_on_from_its_state(name):
    conf, data = model("lenet", torch_optimizer=OPTIMIZERS[name]), Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    module = first_module(conf)
    train(module, OPTIMIZERS[name](module), [batch] * 7)
    params = params_of_two_processes(conf, batch, 7)
    assert_close(params, vector_of(module, conf), 1e-5)
    assert np.abs(params - vector_of(first_module(conf), conf)).max() > 1e-3


def test_a_smaller_rate_is_one_of_all_groups():
    conf, data = model("lenet", torch_optimizer=OPTIMIZERS["by groups"]), Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    module = first_module(conf)
    optimizer = OPTIMIZERS["by groups"](module)
    for group in optimizer.param_groups:
        group["lr"] /= 4
    train(module, optimizer, [batch] * 3)
    replica = Network(conf).replica
    for t in range(1, 4):
        replica.step(batch, conf.rate_at(0, 0) / 4, t)
    assert conf.rate_at(0, 0) == 0.05
    assert_close(replica.params, vector_of(module, conf), 1e-5)


CLIPPINGS = {  # a limit that these gradients exceed, and torch's function
    "of the norm": (ClipNorm(limit=0.05), lambda p: torch.nn.utils.clip_grad_norm_(p, 0.05)),
    "of values": (ClipValue(limit=0.002), lambda p: torch.nn.utils.clip_grad_value_(p, 0.002)),
    "of a large norm": (ClipNorm(limit=1e6), lambda p: torch.nn.utils.clip_grad_norm_(p, 1e6)),
}


@pytest.mark.parametrize("name", CLIPPINGS)
def test_clipping_comes_before_the_optimizer_as_in_torch(name):
    clipping, clip = CLIPPINGS[name]
    conf = model("lenet", torch_optimizer=by_groups, clipping=clipping)
    data = Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    module = first_module(conf)
    train(module, by_groups(module), [batch] * 7, clip=clip)
    params = params_of_two_processes(conf, batch, 7)
    assert_close(params, vector_of(module, conf), 1e-5)
    plain = params_of_two_processes(replace(conf, clipping=None), batch, 7)
    assert (np.abs(params - plain).max() < 1e-3) == ("large" in name)
    assert conf_from_json(conf.to_json()).clipping == clipping
    assert len(Network(conf).replica.programs(4)) == 2


@pytest.mark.slow
def test_workers_clip_the_gradient_of_the_joint_batch(crews):
    row, workers, data = MASTERS["all-reduce"], crews(2), Partitions("lenet", UNEVEN)
    master, (clipping, clip) = replace(row.master, **row.joint), CLIPPINGS["of the norm"]
    conf = model("lenet", torch_optimizer=momentum, clipping=clipping)
    network = fit(conf, master, workers, data, epochs=1)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    module = first_module(conf)
    train(module, momentum(module), joint_batches(master, blocks, workers, conf, 0), clip=clip)
    assert_close(network.state.params, vector_of(module, conf), 1e-5)


@pytest.mark.parametrize("name", by_kind([name for name in JOINT if name in WHOLE]))
def test_updates_are_those_of_torch_on_the_joint_batch(name, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions("lenet", UNEVEN)
    master = replace(row.master, **row.joint)
    make = TWINS[type(row.optimizer).__name__]
    conf = model("lenet", torch_optimizer=make)
    if isinstance(master, ParameterServer):
        with pytest.raises(ConfigError, match="leave TorchModel.torch_optimizer out"):
            fit(conf, master, workers, data)
        return
    network = fit(conf, master, workers, data, epochs=2)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    module = first_module(conf)
    optimizer = make(module)
    for epoch in range(2):
        train(module, optimizer, joint_batches(master, blocks, workers, conf, epoch))
    assert_close(network.state.params, vector_of(module, conf), 1e-4)


@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce", "elastic"])
def test_a_resumed_fit_ends_with_the_bits_of_the_uninterrupted_one(name, crews, tmp_path):
    data, master = Partitions("lenet", UNEVEN), MASTERS[name].master
    conf = model("lenet", whole_lenet, torch_optimizer=adamw)
    whole = fit(conf, master, crews(2), data, epochs=3)
    assert whole.state.slots.any()
    with pytest.raises(InterruptedError):
        kept = Checkpoints(path=tmp_path, every_rounds=1)
        fit(conf, master, crews(2), data, epochs=3, checkpoints=kept, listeners=[Stop()])
    assert_equal(fit(conf, master, crews(2), data, epochs=3, resume=tmp_path).state, whole.state)


def test_a_killed_worker_costs_time_and_no_bits(crews):
    data, conf = Partitions("lenet", [60, 60]), model("lenet", torch_optimizer=adamw)
    master = AllReduceSGD(updates_per_round=2, batch_size_per_worker=4, timeout=30.0)
    calm = fit(conf, master, crews(2), data, epochs=3)
    workers = crews(2)
    healed = fit(conf, master, workers, data, epochs=3, listeners=[Kill(workers)])
    assert_equal(healed.state, calm.state)


def test_a_document_names_the_function_and_the_state():
    conf = model("lenet", torch_optimizer=adamw)
    again = conf_from_json(conf.to_json())
    assert again == conf and again.slots_layout == conf.slots_layout
    assert again.torch_optimizer.reference == f"{adamw.__module__}:adamw"
    names = {name.rpartition(":")[2] for name, _ in conf.slots_layout.entries}
    assert names == {"step", "exp_avg", "exp_avg_sq"}


def test_a_saved_model_trains_on_with_the_state(tmp_path):
    conf, data = model("lenet", torch_optimizer=adamw), Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    network = Network(conf)
    network.fit((batch.features, batch.labels), epochs=2)
    network.save(tmp_path / "model")
    again = Network.load(tmp_path / "model")
    np.testing.assert_array_equal(again.state.slots, network.state.slots)
    for one in (network, again):
        one.fit((batch.features, batch.labels), epochs=1)
    np.testing.assert_array_equal(again.state.params, network.state.params)


def test_functions_of_one_name_are_told_apart():
    import torch.nn as nn

    conf = TorchModel(
        make=lambda: nn.Linear(4, 3),
        input_shape=(4,),
        torch_optimizer=lambda module: torch.optim.SGD(module.parameters(), lr=0.1),
    )
    assert conf.make.reference == conf.torch_optimizer.reference
    again = conf_from_json(conf.to_json())
    assert again == conf and again.replica_class(again).params.size == 15


@pytest.mark.parametrize("name", ["AdamW", "ASGD", "NAdam", "Rprop"])
def test_a_worker_whose_first_update_is_a_later_one_begins_with_the_optimizers_state(name):
    conf, data = model("lenet", torch_optimizer=OPTIMIZERS[name]), Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    one, late = (Network(conf).replica for _ in range(2))
    for t in (1, 2):
        one.step(batch, conf.rate_at(0, 0), t)
        late.step(batch, conf.rate_at(0, 0), t + 5)
    np.testing.assert_array_equal(one.params, late.params)


def test_another_optimizer_makes_another_layout():
    conf = model("lenet", torch_optimizer=lambda m: torch.optim.AdamW(m.parameters(), lr=0.02))
    assert replace(conf, seed=5).slots_layout.entries == conf.slots_layout.entries
    with pytest.raises(ConfigError, match="optimizer must be left out with torch_optimizer"):
        replace(conf, torch_optimizer=sgd)  # with another learning rate
    same = replace(conf, torch_optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.02))
    assert same.slots_layout.size == 0 < conf.slots_layout.size
    for other in (Adam(learning_rate=0.02), Sgd(learning_rate=0.5)):
        with pytest.raises(ConfigError, match="optimizer must be left out with torch_optimizer"):
            replace(conf, optimizer=other)


def test_predictions_need_no_optimizer():
    replica = Network(model("lenet", torch_optimizer=adamw)).replica
    replica.forward(np.zeros((2, 1, 8, 8), np.float32))
    assert replica._optimizer is None and len(replica.programs(4)) == 1


PLACES = {  # optimizer: state that torch keeps on the CPU if parameters are on a GPU
    "AdamW": (lambda m: torch.optim.AdamW(m.parameters()), {"step"}),
    "AdamW, fused": (lambda m: torch.optim.AdamW(m.parameters(), fused=True), set()),
    "ASGD": (lambda m: torch.optim.ASGD(m.parameters()), {"step"}),  # but not eta and mu
}


@pytest.mark.parametrize("name", PLACES)
def test_state_lies_where_torch_looks_for_it(name):
    make, expected = PLACES[name]
    conf = model(torch_optimizer=make)
    views = tensors_of(conf.slots_layout, torch.zeros(conf.slots_layout.size))
    module = first_module(conf)
    own = ModuleOptimizer(conf.torch_optimizer, module, views, on_gpu=True)
    for t in range(3):
        for parameter in module.parameters():
            parameter.grad = torch.ones_like(parameter)
        own.step(1.0, t, first=t == 0)
    state = own._optimizer.state[module[0].weight]
    apart = {
        k for k, x in state.items() if x.data_ptr() != views[f"module/0.weight:{k}"].data_ptr()
    }
    assert apart == expected
    assert views["module/0.weight:step"] == 3


def closure(module):
    return torch.optim.LBFGS(module.parameters())


def sparse(module):
    return torch.optim.SparseAdam(module.parameters())


def capturable(module):
    return torch.optim.Adam(module.parameters(), capturable=True)


def too_few(module):
    return torch.optim.SGD(list(module.parameters())[:1], lr=0.1)


class Counting(torch.optim.SGD):
    """Counts its steps in its groups, as optimizers without schedules do."""

    def step(self):
        super().step()
        for group in self.param_groups:
            group["k"] = group.get("k", 0) + 1


REFUSED = {
    "a count in groups": (
        {"torch_optimizer": lambda module: Counting(module.parameters(), lr=0.1)},
        "whose state is in its tensors, got Counting, which changes 'k' of a group at each step",
    ),
    "a closure": (
        {"torch_optimizer": closure},
        "whose step\\(\\) takes no arguments and gradients as they are, got LBFGS",
    ),
    "sparse": ({"torch_optimizer": sparse}, "gradients as they are, got SparseAdam"),
    "a GPU": ({"torch_optimizer": capturable}, "gradients as they are, got Adam: .*capturable"),
    "too few": (
        {"torch_optimizer": too_few},
        "must update all trained parameters, got no update of 0.bias",
    ),
    "nothing": ({"torch_optimizer": lambda module: None}, "must return a torch.optim.Optimizer"),
    "no function": ({"torch_optimizer": 3}, "torch_optimizer must be a function of the module"),
    "an optimizer": (
        {"torch_optimizer": torch.optim.SGD([torch.zeros(1)])},
        r"must be a function of .* or None, got SGD.*; write lambda module: torch.optim.AdamW\(mod",
    ),
    "a class": (
        {"torch_optimizer": torch.optim.AdamW},
        r"must be a function of the module, got a class, .*AdamW; write lambda module: torch",
    ),
    "a class with options": (
        {"torch_optimizer": partial(torch.optim.AdamW, lr=0.1)},
        r"must be a function of the module, got a class, .*; write lambda module: torch.optim",
    ),
    "an optimizer as sparkdl's": (
        {"torch_optimizer": None, "optimizer": torch.optim.AdamW([torch.zeros(1)])},
        r"optimizer must be .*, got AdamW.*; write torch_optimizer=lambda module: torch.optim",
    ),
    "a class as sparkdl's": (
        {"torch_optimizer": None, "optimizer": torch.optim.AdamW},
        "optimizer must be .*AdamW.*; write torch_optimizer=lambda module: torch.optim.AdamW",
    ),
    "two": ({"optimizer": Adam(learning_rate=0.1)}, "optimizer must be left out with"),
    "a penalty": ({"l2": 0.1}, "l2 must be 0 with torch_optimizer, got 0.1; set it in the"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name):
    options, message = REFUSED[name]
    with pytest.raises(ConfigError, match=f"TorchModel.*{message}"):
        model("lenet", **{"torch_optimizer": adamw} | options)


def test_parameters_that_are_frozen_or_not_reached(crews):
    conf = model("transformer", torch_optimizer=adamw)
    network = fit(
        conf, AllReduceSGD(batch_size_per_worker=8), crews(2), Partitions("transformer", [40, 40])
    )
    frozen = conf.buffers_layout.views(network.state.buffers)["module/frozen"]
    assert (frozen == 0.5).all() and transformer().unused.shape == (3,)
    slots = conf.slots_layout.views(network.state.slots)
    assert not slots["module/unused:exp_avg"].any() and slots["module/places:exp_avg"].any()


def test_a_framework_s_optimizer_keeps_no_average():
    network = Network(model("lenet", torch_optimizer=adamw))
    message = "TorchModel.optimizer must be one of sparkdl with an ema_decay for an average"
    with pytest.raises(ConfigError, match=message):
        network.with_averaged_weights()
