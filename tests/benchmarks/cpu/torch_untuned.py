"""torch's side of the networks that were not used for tuning, with as many parameters as ours."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu.workloads import UNTUNED, WORKLOADS

CHANNELS_FIRST = {"signal_cnn", "dilated_cnn"}  # ours are steps first


def stack(name, width, *layers):
    return nn.Sequential(*layers, nn.Linear(width, WORKLOADS[name].classes))


def dense(sizes, activation):
    for before, after in pairwise(sizes):
        yield from (nn.Linear(before, after), activation())


def table_mlp():
    return stack("table_mlp", 128, *dense((77, 256, 256, 128), nn.ReLU))


def small_mlp():
    return stack("small_mlp", 32, *dense((20, 64, 32), nn.Tanh))


def wide_mlp():
    return stack("wide_mlp", 2048, *dense((100, 2048, 2048), nn.ReLU))


def norm_mlp():
    layers = []
    for before, after in ((300, 512), (512, 256), (256, 128)):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Dropout(0.3)]
    return stack("norm_mlp", 128, *layers)


def normed(before, after, kernel=3, **options):
    options = {"padding": kernel // 2, "bias": False} | options
    return [nn.Conv2d(before, after, kernel, **options), nn.BatchNorm2d(after), nn.ReLU()]


def norm_cnn():
    layers, channels = [], 3
    for filters in (32, 64, 128):
        layers += [*normed(channels, filters), *normed(filters, filters), nn.MaxPool2d(2)]
        channels = filters
    return stack("norm_cnn", 128, *layers, nn.Flatten(), *dense((2048, 128), nn.ReLU), nn.Dropout())


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(*normed(before, after, stride=stride), *normed(after, after)[:-1])
        path = normed(before, after, 1, stride=stride)[:-1] if stride > 1 else []
        self.shortcut = nn.Sequential(*path)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def small_resnet():
    blocks = Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)
    top = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return stack("small_resnet", 64, *normed(3, 16), *blocks, *top)


def depthwise_cnn():
    layers, channels = normed(3, 32, stride=2), 32
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2)):
        layers += normed(channels, channels, stride=stride, groups=channels)
        layers += normed(channels, filters, 1)
        channels = filters
    return stack("depthwise_cnn", 256, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def signal_cnn():
    layers, channels = [], 6
    for filters in (32, 64, 128):
        layers += [nn.Conv1d(channels, filters, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)]
        channels = filters
    return stack("signal_cnn", 128, *layers, nn.AdaptiveAvgPool1d(1), nn.Flatten())


def dilated_cnn():
    layers, channels = [], 16
    for n in (1, 2, 4, 8):
        layers += [nn.Conv1d(channels, 64, 3, dilation=n, padding=n), nn.ReLU()]
        channels = 64
    return stack("dilated_cnn", 64, *layers, nn.AdaptiveMaxPool1d(1), nn.Flatten())


class Steps(nn.Module):
    """Applies layers to each step, reduces over the steps, and projects to the classes."""

    def __init__(self, name, width, *layers, over=torch.mean):
        super().__init__()
        self.layers, self.over = nn.Sequential(*layers), over
        self.out = nn.Linear(width, UNTUNED[name]["classes"])

    def forward(self, x):
        return self.out(self.over(self.layers(x), 1))


class First(nn.Module):
    """Returns a recurrent layer's output sequence without its state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def text_gru():
    words = nn.Embedding(UNTUNED["text_gru"]["vocabulary"], 64)
    gru = First(nn.GRU(64, 64, bidirectional=True, batch_first=True))
    return Steps("text_gru", 128, words, gru, over=torch.amax)


def sensor_lstm():
    return Steps(
        "sensor_lstm", 192, First(nn.LSTM(32, 96, 2, bidirectional=True, batch_first=True))
    )


class Places(nn.Module):
    def __init__(self, steps, width):
        super().__init__()
        self.places = nn.Embedding(steps, width)

    def forward(self, x):
        return x + self.places.weight


def text_attention():
    row = UNTUNED["text_attention"]
    words, places = nn.Embedding(row["vocabulary"], 128), Places(row["shape"][0], 128)
    options = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
    blocks = (nn.TransformerEncoderLayer(128, 4, 256, **options) for _ in range(2))
    return Steps("text_attention", 128, words, places, *blocks)


NETWORKS = {name: globals()[name] for name in UNTUNED}
