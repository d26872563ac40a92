"""The networks in torch, with as many parameters as ours."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu import torch_second_draw, torch_untuned
from tests.benchmarks.cpu.workloads import CHARACTERS, INCEPTIONS


def conv(channels, filters, kernel, **options):
    return nn.Conv2d(channels, filters, kernel, **options)


def pool(kind, size, stride, **options):
    return kind(size, stride, ceil_mode=True, **options)


def lenet():
    images = [conv(1, 20, 5), nn.MaxPool2d(2), conv(20, 50, 5), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*images, nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def cifar10_quick():
    """Caffe's examples/cifar10/cifar10_quick.prototxt."""
    first = [conv(3, 32, 5, padding=2), pool(nn.MaxPool2d, 3, 2), nn.ReLU()]
    second = [conv(32, 32, 5, padding=2), nn.ReLU(), pool(nn.AvgPool2d, 3, 2)]
    third = [conv(32, 64, 5, padding=2), nn.ReLU(), pool(nn.AvgPool2d, 3, 2)]
    top = [nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10)]
    return nn.Sequential(*first, *second, *third, *top)


def cifar_net():
    layers = []
    for channels, filters in ((3, 64), (64, 128), (128, 256)):
        layers += [conv(channels, filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4096, 10))


def mlp():
    hidden = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(1024, 10))


class CharLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(CHARACTERS, 256, 2, batch_first=True)
        self.out = nn.Linear(256, CHARACTERS)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        steps = [normed(channels, width, 1), nn.ReLU(), normed(width, width, 3, stride), nn.ReLU()]
        self.body = nn.Sequential(*steps, normed(width, 4 * width, 1))
        same = stride == 1 and channels == 4 * width
        self.shortcut = nn.Identity() if same else normed(channels, 4 * width, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def normed(channels, filters, kernel, stride=1):
    options = {"stride": stride, "padding": kernel // 2, "bias": False}
    return nn.Sequential(conv(channels, filters, kernel, **options), nn.BatchNorm2d(filters))


def resnet50():
    layers, channels = [normed(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(count):
            layers.append(Bottleneck(channels, width, 2 if i == 0 and width > 64 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Inception(nn.Module):
    def __init__(self, channels, one, reduce3, three, reduce5, five, pooled):
        super().__init__()
        relu = nn.ReLU()
        self.one = nn.Sequential(conv(channels, one, 1), relu)
        self.three = nn.Sequential(
            conv(channels, reduce3, 1), relu, conv(reduce3, three, 3, padding=1), relu
        )
        self.five = nn.Sequential(
            conv(channels, reduce5, 1), relu, conv(reduce5, five, 5, padding=2), relu
        )
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(channels, pooled, 1), relu)

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1)


def googlenet():
    """Caffe's bvlc_googlenet without its two auxiliary classifiers."""
    norm = nn.LocalResponseNorm(5)
    layers = [conv(3, 64, 7, stride=2, padding=3), nn.ReLU(), pool(nn.MaxPool2d, 3, 2), norm]
    layers += [conv(64, 64, 1), nn.ReLU(), conv(64, 192, 3, padding=1), nn.ReLU(), norm]
    channels = 192
    for stage in INCEPTIONS:
        layers.append(pool(nn.MaxPool2d, 3, 2))
        for one, reduce3, three, reduce5, five, pooled in stage:
            layers.append(Inception(channels, one, reduce3, three, reduce5, five, pooled))
            channels = one + three + five + pooled
    top = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers, *top)


def alexnet():
    """Caffe's bvlc_alexnet: two groups, local response normalization across channels."""
    norm, relu, pooled = nn.LocalResponseNorm(5), nn.ReLU(), nn.MaxPool2d(3, 2)
    layers = [conv(3, 96, 11, stride=4), relu, norm, pooled]
    layers += [conv(96, 256, 5, padding=2, groups=2), relu, norm, pooled]
    layers += [conv(256, 384, 3, padding=1), relu, conv(384, 384, 3, padding=1, groups=2), relu]
    layers += [conv(384, 256, 3, padding=1, groups=2), relu, pooled, nn.Flatten()]
    for features in (9216, 4096):
        layers += [nn.Linear(features, 4096), relu, nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


class Block(nn.Module):
    """Pre-norm attention and feed-forward sublayers with residual connections."""

    def __init__(self, width=256, heads=4):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, width = x.shape
        parts = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width=256, steps=128, layers=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(CHARACTERS, width), nn.Embedding(steps, width)
        self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, CHARACTERS)

    def forward(self, x):
        y = self.tokens(x) + self.places.weight
        return self.out(self.norm(self.blocks(y)))


NETWORKS = {
    "lenet": lenet,
    "cifar10_quick": cifar10_quick,
    "cifar_net": cifar_net,
    "mlp": mlp,
    "char_lstm": CharLstm,
    "resnet50": resnet50,
    "googlenet": googlenet,
    "alexnet": alexnet,
    "transformer": Transformer,
}
NETWORKS |= torch_untuned.NETWORKS | torch_second_draw.NETWORKS
