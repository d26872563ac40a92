"""torch's side of the second draw of networks, with as many parameters as ours."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu.torch_untuned import First, Places, dense, stack
from tests.benchmarks.cpu.workloads import SECOND_DRAW


class Shortcut(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.body(x)


def residual_mlp():
    blocks = (
        Shortcut(
            nn.LayerNorm(192), nn.Linear(192, 384), nn.ReLU(), nn.Dropout(0.1), nn.Linear(384, 192)
        )
        for _ in range(3)
    )
    return stack("residual_mlp", 192, nn.Linear(54, 192), *blocks)


def funnel_mlp():
    return stack("funnel_mlp", 512, *dense((784, 1024, 1024, 512), nn.GELU))


def selu_mlp():
    return stack("selu_mlp", 128, *dense((40, *[128] * 6), nn.SELU))


def large_batch_mlp():
    return stack("large_batch_mlp", 64, *dense((30, 64, 64), nn.ReLU))


def convolutions(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1),
        nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = convolutions(3, 16), convolutions(16, 32)
        self.third = convolutions(32, 64)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
        self.back2, self.back1 = convolutions(64, 32), convolutions(32, 16)
        self.out = nn.Linear(16, SECOND_DRAW["u_net"]["classes"])

    def forward(self, x):
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        third = self.third(F.max_pool2d(second, 2))
        back = self.back2(torch.cat([self.up2(third), second], 1))
        back = self.back1(torch.cat([self.up1(back), first], 1))
        return self.out(back.mean((2, 3)))


def u_net():
    return UNet()


def inverted(before, after, stride):
    wide = 4 * before
    layers = [nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()]
    each = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
    layers += [each, nn.BatchNorm2d(wide), nn.SiLU()]
    layers += [nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after)]
    shortcut = stride == 1 and before == after
    return Shortcut(*layers) if shortcut else nn.Sequential(*layers)


def inverted_cnn():
    layers = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU()]
    channels = 16
    for filters, stride in ((24, 2), (24, 1), (40, 2), (40, 1)):
        layers.append(inverted(channels, filters, stride))
        channels = filters
    return stack("inverted_cnn", 40, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Grow(nn.Module):
    def __init__(self, channels):
        super().__init__()
        new = nn.Conv2d(channels, 12, 3, padding=1, bias=False)
        self.body = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), new)

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def dense_cnn():
    layers, channels = [nn.Conv2d(3, 24, 3, padding=1, bias=False)], 24
    for block in range(2):
        layers += [Grow(channels + 12 * i) for i in range(4)]
        channels += 48
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if block == 0 else []
    return stack("dense_cnn", channels, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def plain_cnn():
    layers, channels = [], 1
    for filters in (32, 64, 128):
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels = filters
    return stack("plain_cnn", 64, *layers, nn.Flatten(), *dense((1152, 64), nn.ReLU))


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(SECOND_DRAW["text_cnn"]["vocabulary"], 128)
        self.layers = nn.ModuleList(nn.Conv1d(128, 100, size) for size in (3, 4, 5))
        self.out = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(300, SECOND_DRAW["text_cnn"]["classes"])
        )

    def forward(self, x):
        words = self.words(x).transpose(1, 2)
        return self.out(torch.cat([F.relu(layer(words)).amax(2) for layer in self.layers], 1))


def text_cnn():
    return TextCnn()


class Swap(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


class Last(nn.Module):
    def forward(self, x):
        return x[:, -1]


def cnn_lstm():
    words = nn.Embedding(SECOND_DRAW["cnn_lstm"]["vocabulary"], 64)
    signal = Swap(), nn.Conv1d(64, 64, 5), nn.ReLU(), nn.MaxPool1d(4), Swap()
    return stack("cnn_lstm", 70, words, *signal, First(nn.LSTM(64, 70, batch_first=True)), Last())


def deep_gru():
    return stack("deep_gru", 128, First(nn.GRU(20, 128, 2, batch_first=True)), Last())


def tagger_lstm():
    words = nn.Embedding(SECOND_DRAW["tagger_lstm"]["vocabulary"], 100)
    lstm = First(nn.LSTM(100, 100, bidirectional=True, batch_first=True))
    return stack("tagger_lstm", 200, words, lstm)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


def small_vit():
    patches = nn.Conv2d(3, 128, 4, 4), nn.Flatten(2), Swap(), Places(64, 128)
    options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    blocks = (nn.TransformerEncoderLayer(128, 4, 512, **options) for _ in range(4))
    return stack("small_vit", 128, *patches, *blocks, nn.LayerNorm(128), Mean())


NETWORKS = {name: globals()[name] for name in SECOND_DRAW}
