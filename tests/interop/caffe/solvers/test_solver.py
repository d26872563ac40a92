"""Solver files have the same meaning as in Caffe."""

import math

import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import SolverParameter
from sparkdl.interop.caffe.solvers.job import read_job
from sparkdl.interop.caffe.solvers.solver import read_solver, solver_of
from sparkdl.nn import AdaDelta, AdaGrad, AdamHat, ClipNorm, Momentum, Nesterov, RmsProp, Sgd

START = "net: 'net.prototxt' base_lr: 0.01 "
FIXED = START + "lr_policy: 'fixed' "


def solver(text):
    return solver_of(parse_text(text, SolverParameter))


# text: the rate by Caffe's comment on lr_policy
RATES = {
    "lr_policy: 'fixed'": lambda i: 0.01,
    "lr_policy: 'step' gamma: 0.1 stepsize: 3": lambda i: 0.01 * 0.1 ** (i // 3),
    "lr_policy: 'exp' gamma: 0.9": lambda i: 0.01 * 0.9**i,
    "lr_policy: 'inv' gamma: 0.0001 power: 0.75": lambda i: 0.01 * (1 + 0.0001 * i) ** -0.75,
    "lr_policy: 'multistep' gamma: 0.5 stepvalue: 2 stepvalue: 5": lambda i: (
        0.01 * 0.5 ** ((i >= 2) + (i >= 5))
    ),
    "lr_policy: 'poly' power: 2 max_iter: 10": lambda i: 0.01 * max(0, 1 - i / 10) ** 2,
    "lr_policy: 'sigmoid' gamma: -0.5 stepsize: 4": lambda i: 0.01 / (1 + math.exp(0.5 * (i - 4))),
}


@pytest.mark.parametrize("text", RATES)
def test_rates(text):
    optimizer = solver(START + text).optimizer
    for i in (0, 1, 2, 3, 5, 9, 10, 12):
        assert optimizer.rate_at(i, 0) == pytest.approx(RATES[text](i), rel=1e-9)


OPTIMIZERS = {
    "": Sgd(learning_rate=0.01),
    "momentum: 0.9": Momentum(learning_rate=0.01, momentum=0.9),
    "type: 'Nesterov' momentum: 0.95": Nesterov(learning_rate=0.01, momentum=0.95),
    "type: 'AdaGrad'": AdaGrad(learning_rate=0.01, epsilon=1e-8),
    "type: 'AdaGrad' delta: 0.001": AdaGrad(learning_rate=0.01, epsilon=1e-3),
    "type: 'RMSProp'": RmsProp(learning_rate=0.01, decay=0.99, epsilon=1e-8),
    "type: 'RMSProp' rms_decay: 0.98 delta: 1e-5": RmsProp(
        learning_rate=0.01, decay=0.98, epsilon=1e-5
    ),
    "type: 'AdaDelta' momentum: 0.95 delta: 1e-6": AdaDelta(
        learning_rate=0.01, decay=0.95, epsilon=1e-6
    ),
    "type: 'Adam' momentum: 0.9 momentum2: 0.995": AdamHat(
        learning_rate=0.01, beta1=0.9, beta2=0.995, epsilon=1e-8
    ),
    "solver_type: NESTEROV momentum: 0.9": Nesterov(learning_rate=0.01, momentum=0.9),
    "solver_type: ADAM momentum: 0.9": AdamHat(
        learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-8
    ),
}


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_optimizers(text):
    assert solver(FIXED + text).optimizer == OPTIMIZERS[text]


def test_weight_decay_and_clipping():
    assert solver(FIXED).training == {
        "optimizer": Sgd(learning_rate=0.01),
        "l1": 0.0,
        "l2": 0.0,
    } | {"clipping": None}
    found = solver(FIXED + "weight_decay: 0.0005 clip_gradients: 10 random_seed: 7").training
    assert (found["l1"], found["l2"], found["seed"]) == (0.0, 0.0005, 7)
    assert found["clipping"] == ClipNorm(limit=10.0)
    found = solver(FIXED + "weight_decay: 0.004 regularization_type: 'L1'").training
    assert (found["l1"], found["l2"]) == (0.004, 0.0)


def test_limits_and_periods():
    text = "test_iter: 100 test_interval: 500 max_iter: 10000 iter_size: 4 display: 100 "
    text += "average_loss: 40 snapshot: 5000 snapshot_prefix: 'lenet' snapshot_format: HDF5 "
    text += "test_initialization: false snapshot_after_train: false weights: 'a' weights: 'b'"
    found = solver(FIXED + text)
    assert (found.test_iter, found.test_interval, found.max_iter) == ((100,), 500, 10000)
    assert (found.iter_size, found.display, found.average_loss) == (4, 100, 40)
    assert (found.snapshot, found.snapshot_prefix, found.snapshot_format) == (5000, "lenet", "HDF5")
    assert not found.test_initialization and not found.snapshot_after_train
    assert found.weights == ("a", "b") and found.seed is None


def test_files_of_weights_stand_between_commas():
    found = solver(FIXED + "weights: 'a, hdfs:///b' weights: 'c'").weights
    assert found == ("a", "hdfs:///b", "c")


def test_fields_that_change_nothing_are_found():
    text = "debug_info: true test_compute_loss: true snapshot_diff: false"
    assert solver(FIXED + text).without_effect == ("debug_info", "test_compute_loss")


def test_defaults():
    found = solver(FIXED)
    assert found.without_effect == ()
    assert (found.iter_size, found.test_interval, found.snapshot, found.display) == (1, 0, 0, 0)
    assert found.test_initialization and found.snapshot_after_train and found.tests == ()
    assert found.snapshot_format == "BINARYPROTO" and found.average_loss == 1
    assert found.device == "auto"


@pytest.mark.parametrize("mode, device", [("CPU", "cpu"), ("GPU", "auto")])
def test_where_it_computes(mode, device):
    assert solver(FIXED + f"solver_mode: {mode}").device == device


NETS = {
    "one for both": (
        FIXED + "test_iter: 5",
        ("net.prototxt", 0, 0, ()),
        [("net.prototxt", 1, 0, ())],
    ),
    "tested in two stages": (
        FIXED + "test_iter: 5 test_iter: 7 test_state { stage: 'a' } test_state { level: 2 }",
        ("net.prototxt", 0, 0, ()),
        [("net.prototxt", 1, 0, ("a",)), ("net.prototxt", 1, 2, ())],
    ),
    "one for each": (
        "train_net: 'a' test_net: 'b' test_iter: 5 base_lr: 1 lr_policy: 'fixed' "
        "train_state { stage: 's' }",
        ("a", 0, 0, ("s",)),
        [("b", 1, 0, ())],
    ),
    "a test net of its own and the net": (
        FIXED + "test_net: 'b' test_iter: 5 test_iter: 6",
        ("net.prototxt", 0, 0, ()),
        [("b", 1, 0, ()), ("net.prototxt", 1, 0, ())],
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_nets_and_their_states(name):
    text, train, tests = NETS[name]
    found = solver(text)
    assert described(found.train) == train
    assert [described(net) for net in found.tests] == tests


def described(net):
    return net.path, net.state.phase, net.state.level, tuple(net.state.stage)


INSIDE = """
base_lr: 1 lr_policy: 'fixed' test_iter: 1 test_iter: 2 # train_net_param { layer {
test_net: 'no'
train_net_param {
  layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }
  layer { name: 'l' type: '%s' bottom: 'x' top: 'y' }
}

test_net_param {
  layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }
  layer { name: 'l' type: '%s' bottom: 'x' top: 'y' }
}
"""


def test_errors_of_a_net_inside_the_solver_name_the_file(tmp_path):
    path = tmp_path / "solver.prototxt"
    path.write_text(INSIDE % ("ReLU", "RELU"))
    with pytest.raises(ConfigError, match="solver.prototxt, line 11, layer 'l': the type must"):
        read_job(path)
    path.write_text(INSIDE % ("RELU", "ReLU"))
    with pytest.raises(ConfigError, match="solver.prototxt, line 6, layer 'l': the type must be"):
        read_job(path)


def test_a_net_inside_the_solver():
    text = "net_param { name: 'n' layer { name: 'l' type: 'ReLU' } } base_lr: 1 lr_policy: 'fixed'"
    found = solver(text)
    assert found.train.path is None and found.train.message.layer[0].name == "l"


WRONG = {
    "no net": ("base_lr: 1 lr_policy: 'fixed'", "must have one of net, net_param"),
    "two nets": (FIXED + "train_net: 'a'", r"got \['net', 'train_net'\]"),
    "no rate": ("net: 'a' lr_policy: 'fixed'", "must have base_lr"),
    "an unknown policy": (START + "lr_policy: 'stp'", "lr_policy must be one of fixed, step"),
    "no policy": (START, "lr_policy must be one of .*, got ''"),
    "a policy without its numbers": (START + "lr_policy: 'step' gamma: 1", "needs stepsize"),
    "an unknown type": (FIXED + "type: 'Sgd'", "type must be one of SGD, Nesterov"),
    "two types": (FIXED + "type: 'SGD' solver_type: ADAM", "`type` or `solver_type`, got both"),
    "momentum without use": (FIXED + "type: 'AdaGrad' momentum: 0.9", "must not be given"),
    "momentum out of range": (FIXED + "momentum: 1.5", "Momentum.momentum must be a number in"),
    "an unknown decay": (FIXED + "regularization_type: 'L3'", "must be 'L1' or 'L2', got 'L3'"),
    "a mean of no losses": (FIXED + "average_loss: 0", "average_loss must be at least 1, got 0"),
    "no batch": (FIXED + "iter_size: 0 clip_gradients: 1", "iter_size must be at least 1, got 0"),
    "a negative period": (FIXED + "snapshot: -1", "snapshot must be at least 0, got -1"),
    "states for other nets": (
        FIXED + "test_iter: 1 test_state { } test_state { }",
        "test_state must be given for 1 nets",
    ),
    "a test without a number": (
        "train_net: 'a' test_net: 'b' base_lr: 1 lr_policy: 'fixed'",
        "test_iter must have a number for each of 1 nets, got 0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name):
    text, says = WRONG[name]
    with pytest.raises(ConfigError, match=says):
        solver(text)


def test_reads_a_file(tmp_path):
    path = tmp_path / "solver.prototxt"
    path.write_text(FIXED)
    assert read_solver(path).train.path == "net.prototxt"
    path.write_text(FIXED + "\ntype: 'Sgd'")
    with pytest.raises(ConfigError, match="solver.prototxt, line 2: type must be"):
        read_solver(path)
    path.write_text(FIXED + "moment: 0.9")
    with pytest.raises(ConfigError, match="line 1: SolverParameter has no field 'moment'; did you"):
        read_solver(path)
    with pytest.raises(DataError, match="none: there is no such file"):
        read_solver(tmp_path / "none")
