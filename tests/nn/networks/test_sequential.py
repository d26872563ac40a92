"""NetworkConf: what it derives from its layers, what it rejects, and round trips."""

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    Activation,
    Adam,
    ClipNorm,
    Conv2D,
    Dense,
    Flatten,
    GlobalPool,
    Layer,
    MaxPool2D,
    NetworkConf,
    Output,
    ScoredLayer,
    Sgd,
    StepSchedule,
    WarmUpSchedule,
)
from tests.nn.example_networks import lenet, mixed
from tests.nn.examples import ACTIVATIONS
from tests.nn.layer_cases import LAYERS
from tests.nn.support import label
from tests.support.tables import for_all


def small(*layers, input_shape=(4,), **options):
    return NetworkConf(input_shape=input_shape, layers=[*layers, Output(units=2)], **options)


NETWORKS = {
    "lenet": lenet(),
    "mixed": mixed(clipping=ClipNorm(limit=1), initializer={"type": "normal", "std": 0.1}),
    "schedules": small(
        optimizer=Adam(learning_rate=WarmUpSchedule(steps=3, then=StepSchedule(initial=1, step=5)))
    ),
    "names": small(Dense(units=3, name="fc/1"), Dense(units=3), input_shape=(1, 2, 2)),
    "pairs": small(
        Conv2D(filters=2, kernel_size=[2, 1], padding=[[0, 1], [2, 0]]), input_shape=[1, 4, 4]
    ),
    "activations": small(*(Activation(function) for function in ACTIVATIONS)),
}


@pytest.mark.parametrize("conf", NETWORKS.values(), ids=NETWORKS)
def test_comes_back_equal(conf):
    assert NetworkConf.from_dict(conf.to_dict()) == conf
    assert NetworkConf.from_json(conf.to_json()) == conf
    assert NetworkConf.from_yaml(conf.to_yaml()) == conf
    assert pickle.loads(pickle.dumps(conf)) == conf
    assert hash(NetworkConf.from_json(conf.to_json())) == hash(conf)
    assert replace(conf, seed=conf.seed) == conf


@pytest.mark.slow
def test_every_layer_comes_back_inside_a_network():
    def check(row):
        layer, in_shape = row
        if layer.multi_input:  # tests/nn/networks/test_graph.py covers those
            with pytest.raises(ConfigError, match="use a GraphConf"):
                NetworkConf(input_shape=in_shape[0], layers=[layer, Output(units=3)])
            return
        layers = [layer] if isinstance(layer, ScoredLayer) else [layer, Output(units=3)]
        conf = NetworkConf(input_shape=in_shape, layers=layers)
        assert NetworkConf.from_yaml(conf.to_yaml()) == conf
        assert conf.stack[0].out_shape == layer.out_shape(in_shape)

    for_all((row for row in LAYERS if row[1]), check)


def test_options_that_differ_make_networks_that_differ():
    assert lenet() != lenet(seed=2)
    assert lenet() != lenet(optimizer=Sgd())
    assert small(Dense(units=3)) != small(Dense(units=3, name="fc"))


def test_lenet_is_the_published_one():
    conf = lenet()
    assert conf.parameter_count == 431_080
    assert [place.out_shape for place in conf.stack] == [
        (20, 24, 24),
        (20, 12, 12),
        (50, 8, 8),
        (50, 4, 4),
        (800,),
        (500,),
        (10,),
    ]


def test_flatten_is_put_where_images_meet_rows():
    conf = lenet()
    assert [layer.name for layer in conf.layers] == [
        "conv2d_1",
        "maxpool2d_1",
        "conv2d_2",
        "maxpool2d_2",
        "flatten_1",
        "dense_1",
        "output_1",
    ]
    explicit = [*conf.layers[:4], Flatten(), *conf.layers[5:]]
    assert replace(conf, layers=explicit) == conf
    assert [type(x) for x in small(GlobalPool(), input_shape=(3, 2, 2)).layers] == [
        GlobalPool,
        Output,
    ]


def test_yaml_is_what_a_person_would_write():
    assert lenet().to_yaml() == (
        "input_shape: [1, 28, 28]\n"
        "layers:\n"
        "- {type: Conv2D, filters: 20, kernel_size: 5}\n"
        "- {type: MaxPool2D, size: 2}\n"
        "- {type: Conv2D, filters: 50, kernel_size: 5}\n"
        "- {type: MaxPool2D, size: 2}\n"
        "- {type: Flatten}\n"
        "- {type: Dense, units: 500, activation: relu}\n"
        "- {type: Output, units: 10}\n"
        "optimizer: {type: Nesterov}\n"
        "l2: 0.0005\n"
        "seed: 1\n"
    )


def test_yaml_as_people_write_it():
    conf = NetworkConf.from_yaml("""
        input_shape: [4]
        optimizer: {type: Adam, learning_rate: 1e-3}
        activation: relu
        layers:
          - type: Dense
            units: 8
          - {type: Output, units: 2, loss: mse, bias: no}
    """)
    layers = [Dense(units=8), Output(units=2, loss="mse", bias=False)]
    assert conf == NetworkConf(
        input_shape=(4,), layers=layers, optimizer=Adam(learning_rate=0.001), activation="relu"
    )


def test_layers_take_the_network_s_choice_where_they_make_none():
    conf = small(Dense(units=3, l1=0.0), activation="tanh", initializer="he", l1=0.1, l2=0.2)
    dense, output = (place.layer for place in conf.stack)
    assert (dense.activation.type_name, dense.initializer.type_name) == ("tanh", "he")
    assert (dense.l1, dense.l2, output.l1, output.l2) == (0.0, 0.2, 0.1, 0.2)
    assert conf.layers[0].activation is None


def test_layouts_name_every_array():
    conf = mixed()
    assert conf.params_layout.entries[:4] == (
        ("conv2d_1/W", (4, 2, 3, 3)),
        ("batchnorm_1/gamma", (4,)),
        ("batchnorm_1/beta", (4,)),
        ("conv2d_2/W", (6, 4, 2, 2)),
    )
    assert dict(conf.buffers_layout.entries) == {
        "batchnorm_1/mean": (4,),
        "batchnorm_1/variance": (4,),
    }
    assert conf.slots_layout.entries == (("velocity", (conf.parameter_count,)),)


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        lenet().seed = 2


OPTIONS = [
    ({"input_shape": ()}, "NetworkConf.input_shape must be (features,), (steps, features), (chan"),
    ({"input_shape": (0,)}, "NetworkConf.input_shape must be (features,), (steps, features), (c"),
    ({"input_shape": (3, 2, 4, 28, 28)}, "got (3, 2, 4, 28, 28)"),
    ({"input_shape": 784}, "got 784"),
    ({"input_shape": (True,)}, "got (True,)"),
    ({"layers": ()}, "NetworkConf.layers must end with an Output, got []"),
    ({"layers": [Dense(units=1)]}, "NetworkConf.layers must end with an Output, got ['Dense']"),
    (
        {"layers": [Output(units=1, loss="mse"), Output(units=1, loss="mse")]},
        "NetworkConf.layers must have one Output, the last layer, got ['Output', 'Output']",
    ),
    (
        {"layers": Output(units=1, loss="mse")},
        "NetworkConf.layers must be a sequence of members of Layer, got Output(",
    ),
    ({"layers": [Output]}, "NetworkConf.layers[0] must be one of "),
    ({"layers": [{"type": "Output", "unit": 1}]}, "Output has no field 'unit'; did you mean 'un"),
    (
        {"layers": [Dense(units=1, name="dense_2"), Dense(units=1), Output(units=1, loss="mse")]},
        "layer names must be unique, got 'dense_2' twice",
    ),
    ({"optimizer": 0.1}, "NetworkConf.optimizer must be one of AMSGrad, AdaBelief"),
    ({"optimizer": None}, "NetworkConf.optimizer must be one of AMSGrad, AdaBelief"),
    ({"l1": -1}, "NetworkConf.l1 must be a number >= 0, got -1"),
    ({"l2": float("nan")}, "NetworkConf.l2 must be a number >= 0, got nan"),
    ({"l2": True}, "NetworkConf.l2 must be a number >= 0, got True"),
    ({"seed": -1}, "NetworkConf.seed must be an integer in [0, 2^63), got -1"),
    ({"seed": 2**63}, "NetworkConf.seed must be an integer in [0, 2^63), got 9223372036854775808"),
    ({"seed": 1.0}, "NetworkConf.seed must be an integer in [0, 2^63), got 1.0"),
    ({"tf32": 1}, "NetworkConf.tf32 must be True or False, got 1"),
    (
        {"dtype": "float64"},
        "dtype must be 'float32', 'bfloat16' or 'float16', got 'float64'",
    ),
    ({"clipping": "ClipNorm"}, "ClipNorm needs the field 'limit'"),
    ({"activation": "rely"}, "got 'rely'; did you mean 'relu'?"),
]

SHAPES = [
    (
        [Conv2D(filters=4, kernel_size=5)],
        (28, 28, 1),
        "does not fit into images of (28, 1); channels come first: (1, 28, 28)",
    ),
    (
        [Conv2D(filters=4, kernel_size=3), Conv2D(filters=4, kernel_size=5)],
        (1, 6, 6),
        "conv2d_2 cannot follow conv2d_1 (4, 4, 4): a window of (5, 5) does not fit into images "
        "of (4, 4)",
    ),
    (
        [Dense(units=3), MaxPool2D(size=2, name="pool")],
        (1, 6, 6),
        "pool cannot follow dense_1 (3,): MaxPool2D takes images (channels, height, width), "
        "got (3,)",
    ),
    (
        [Conv2D(filters=4, kernel_size=3, groups=2)],
        (3, 6, 6),
        "conv2d_1 cannot follow the input (3, 6, 6): Conv2D in 2 groups needs channels that fall "
        "into them, got (3, 6, 6)",
    ),
]


@pytest.mark.parametrize("options, message", OPTIONS, ids=label)
def test_refuses_options(options, message):
    good = {"input_shape": (4,), "layers": [Output(units=1, loss="mse")]}
    with pytest.raises(ConfigError) as caught:
        NetworkConf(**good | options)
    assert message in str(caught.value)


@pytest.mark.parametrize("layers, input_shape, message", SHAPES, ids=str)
def test_refuses_shapes_that_do_not_fit(layers, input_shape, message):
    with pytest.raises(ShapeError) as caught:
        small(*layers, input_shape=input_shape)
    assert message in str(caught.value)


TEXTS = [
    ('{"layers": []}', "NetworkConf needs the field 'input_shape'"),
    (
        '{"input_shapes": [1]}',
        "NetworkConf has no field 'input_shapes'; did you mean 'input_shape'?",
    ),
    ("[]", "the JSON text must hold a mapping, got list"),
    ("{", "not valid JSON"),
]


@pytest.mark.parametrize("document, message", TEXTS)
def test_refuses_texts(document, message):
    with pytest.raises(ConfigError) as caught:
        NetworkConf.from_json(document)
    assert message in str(caught.value)


def test_layers_are_the_family_of_layers():
    assert all(isinstance(layer, Layer) for layer in mixed().layers)
