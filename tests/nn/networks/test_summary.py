"""The summary table of a network."""

from sparkdl.nn import Adam, BatchNorm, NetworkConf, Output
from sparkdl.nn.networks.summary import memory, size
from tests.nn.example_networks import lenet

LENET = """\
layer        type       output shape  parameters
------------------------------------------------
input                   (1, 28, 28)
conv2d_1     Conv2D     (20, 24, 24)         520
maxpool2d_1  MaxPool2D  (20, 12, 12)           0
conv2d_2     Conv2D     (50, 8, 8)        25,050
maxpool2d_2  MaxPool2D  (50, 4, 4)             0
flatten_1    Flatten    (800,)                 0
dense_1      Dense      (500,)           400,500
output_1     Output     (10,)              5,010
------------------------------------------------
total                                    431,080

memory per step of 64 examples: 10.4 MB (parameters 1.7 MB, gradients 1.7 MB, slots 1.7 MB, \
buffers 0 B, activations 5.2 MB)"""


def test_lenet():
    assert lenet().summary() == LENET


def test_memory_worked_out_by_hand():
    layers = [BatchNorm(), Output(units=2)]
    conf = NetworkConf(input_shape=(3,), layers=layers, optimizer=Adam())
    assert memory(conf, 10) == {
        "parameters": 4 * 14,
        "gradients": 4 * 14,
        "slots": 4 * 28,
        "buffers": 4 * 6,
        "activations": 4 * 10 * (3 + 3 + 2),
    }


def test_sizes_in_units():
    assert [size(n) for n in (0, 999, 1000, 1_500_000, 2.5e9, 3e13)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2.5 GB",
        "30000.0 GB",
    ]
