"""torch modules, and the same networks of ours."""

import numpy as np

from sparkdl.nn import GraphBuilder, NetworkConf, layers, zoo


def perceptron():
    from torch import nn

    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


PERCEPTRON = NetworkConf(
    input_shape=(4,), layers=[layers.Dense(units=5, activation="tanh"), layers.Output(units=3)]
)


def lenet():
    from torch import nn

    first = nn.Conv2d(1, 6, 5, padding=2), nn.BatchNorm2d(6), nn.PReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*first, nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 3))


LENET = NetworkConf(
    input_shape=(1, 12, 12),
    layers=[
        layers.Conv2D(filters=6, kernel_size=5, padding=2),
        layers.BatchNorm(),
        layers.PRelu(),
        layers.MaxPool2D(size=2),
        layers.Conv2D(filters=8, kernel_size=3, activation="relu"),
        layers.Flatten(),
        layers.Output(units=3),
    ],
)


def sequences(kind, **options):
    """Returns a function that builds a recurrent module with a Linear on its last step."""

    def make():
        from torch import nn

        class Sequences(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = getattr(nn, kind)(3, 4, batch_first=True, **options)
                self.head = nn.Linear(8 if options.get("bidirectional") else 4, 3)

            def forward(self, x):
                y, _ = self.rnn(x)
                return self.head(y[:, -1])

        return Sequences()

    return make


def recurrent(*steps):
    return NetworkConf(
        input_shape=(6, 3), layers=[*steps, layers.LastTimeStep(), layers.Output(units=3)]
    )


def encoder():
    """Returns a transformer of one block, with torch's own names."""
    from torch import nn

    class Texts(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(7, 8)
            self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.out = nn.Linear(8, 3)

        def forward(self, ids):
            return self.out(self.block(self.embedding(ids.long())).mean(dim=1))

    return Texts()


def encoder_conf():
    build = GraphBuilder(x=(6,))
    table = build.add(layers.EmbeddingSequence(vocabulary_size=7, units=8), "x", name="embedding")
    seen = build.add(layers.SelfAttention(heads=2), table, name="block/self_attn")
    build.add(layers.ElementWise(operation="add"), table, seen)
    first = build.add(layers.LayerNorm(), name="block/norm1")
    wide = layers.Dense(units=16, activation="relu")
    build.add(layers.TimeDistributed(layer=wide), name="block/linear1")
    narrow = build.add(layers.TimeDistributed(layer=layers.Dense(units=8)), name="block/linear2")
    build.add(layers.ElementWise(operation="add"), first, narrow)
    build.add(layers.LayerNorm(), name="block/norm2")
    build.add(layers.GlobalPool(kind="avg"))
    build.add(layers.Output(units=3), name="out")
    return build.conf()


def resnet18():
    """Returns He et al.'s ResNet-18, with torchvision's names and order."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU()
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.bn2, self.downsample = nn.BatchNorm2d(width), None
            if stride > 1 or channels != width:
                short = nn.Conv2d(channels, width, 1, stride, bias=False)
                self.downsample = nn.Sequential(short, nn.BatchNorm2d(width))

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1, self.relu, self.pool = nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
            channels = 64
            for stage, width in enumerate((64, 128, 256, 512), 1):
                first = Block(channels, width, 1 if stage == 1 else 2)
                setattr(self, f"layer{stage}", nn.Sequential(first, Block(width, width, 1)))
                channels = width
            self.fc = nn.Linear(512, 5)

        def forward(self, x):
            x = self.pool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean(dim=(2, 3)))

    return ResNet()


def resnet18_conf():
    return zoo.resnet18(classes=5)


CASES = {  # name: (module, conf, options of read_torch, shape of an example)
    "perceptron": (perceptron, PERCEPTRON, {}, (4,)),
    "lenet": (lenet, LENET, {}, (1, 12, 12)),
    "lstm": (
        sequences("LSTM", num_layers=2),
        recurrent(layers.LSTM(units=4), layers.LSTM(units=4)),
        {},
        (6, 3),
    ),
    "gru": (sequences("GRU"), recurrent(layers.GRU(units=4)), {}, (6, 3)),
    "rnn": (sequences("RNN"), recurrent(layers.SimpleRnn(units=4)), {}, (6, 3)),
    "encoder": (encoder, encoder_conf(), {"by": "name"}, (6,)),
}


def drawn(shape, count=3):
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 7, (count, *shape)) if len(shape) == 1 and shape != (4,) else None
    x = rng.normal(size=(count, *shape)) if ids is None else ids
    return x.astype(np.float32)
