"""The networks in ONNX, with as many parameters as ours."""

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from tests.benchmarks.cpu.workloads import CHARACTERS

OPSET, IR = 17, 8


class Writer:
    """Builds a graph from input "x": each call adds a node and returns the name of its output."""

    def __init__(self):
        self.nodes, self.weights, self.parameters = [], [], 0
        self.rng = np.random.default_rng(0)

    def add(self, kind, *inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, [*inputs], names, **attributes))
        return names[0]

    def weight(self, *shape, scale=None, counted=True):
        """Adds a random parameter, or zeros if `scale` is 0."""
        scale = (2 / np.prod(shape[1:])) ** 0.5 if scale is None else scale
        values = self.rng.normal(size=shape) * scale
        self.parameters += values.size * counted
        return self.value(values.astype(np.float32))

    def value(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def conv(self, x, channels, filters, kernel, stride=1, padding=0, bias=True):
        w = [self.weight(filters, channels, kernel, kernel)]
        w += [self.weight(filters, scale=0)] if bias else []
        spatial = {"strides": [stride] * 2, "pads": [padding] * 4, "kernel_shape": [kernel] * 2}
        return self.add("Conv", x, *w, **spatial)

    def normed(self, x, channels, filters, kernel, stride=1):
        y = self.conv(x, channels, filters, kernel, stride, kernel // 2, bias=False)
        names = [self.weight(filters, scale=0.1) for _ in range(2)]
        mean = self.weight(filters, scale=0, counted=False)
        variance = self.value(np.ones(filters, np.float32))
        return self.add("BatchNormalization", y, *names, mean, variance)

    def pool(self, x, kind, size, stride, padding=0, ceil=1):
        options = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [padding] * 4}
        return self.add(f"{kind}Pool", x, **options, ceil_mode=ceil)

    def relu(self, x):
        return self.add("Relu", x)

    def dense(self, x, features, units):
        return self.add("Gemm", x, self.weight(features, units), self.weight(units, scale=0))

    def model(self, y, shape):
        """Returns the bytes of a model that computes softmax(y)."""
        y, rank = self.add("Softmax", y, axis=-1), 3 if len(shape) == 3 else 2
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        out = helper.make_tensor_value_info(y, TensorProto.FLOAT, [None] * rank)
        graph = helper.make_graph(self.nodes, "network", [x], [out], self.weights)
        imports = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR)
        checker.check_model(model)
        return model.SerializeToString()


def lenet(to):
    x = to.pool(to.conv("x", 1, 20, 5), "Max", 2, 2)
    x = to.add("Flatten", to.pool(to.conv(x, 20, 50, 5), "Max", 2, 2))
    return to.dense(to.relu(to.dense(x, 800, 500)), 500, 10)


def cifar10_quick(to):
    x = to.relu(to.pool(to.conv("x", 3, 32, 5, padding=2), "Max", 3, 2))
    x = to.pool(to.relu(to.conv(x, 32, 32, 5, padding=2)), "Average", 3, 2)
    x = to.pool(to.relu(to.conv(x, 32, 64, 5, padding=2)), "Average", 3, 2)
    return to.dense(to.dense(to.add("Flatten", x), 1024, 64), 64, 10)


def mlp(to):
    x = to.relu(to.dense("x", 784, 1024))
    return to.dense(to.relu(to.dense(x, 1024, 1024)), 1024, 10)


def char_lstm(to):
    x, width = to.add("Transpose", "x", perm=[1, 0, 2]), CHARACTERS
    for _ in range(2):
        w = to.weight(1, 4 * 256, width, scale=0.05), to.weight(1, 4 * 256, 256, scale=0.05)
        b = to.weight(1, 4 * 256, scale=0), to.weight(1, 4 * 256, scale=0, counted=False)
        b = to.add("Concat", *b, axis=1)
        y = to.add("LSTM", x, *w, b, hidden_size=256)
        x, width = to.add("Squeeze", y, to.value(np.array([1]))), 256
    y = to.add("MatMul", to.add("Transpose", x, perm=[1, 0, 2]), to.weight(256, CHARACTERS))
    return to.add("Add", y, to.weight(CHARACTERS, scale=0))


def bottleneck(to, x, channels, width, stride):
    y = to.relu(to.normed(x, channels, width, 1))
    y = to.relu(to.normed(y, width, width, 3, stride))
    y = to.normed(y, width, 4 * width, 1)
    same = stride == 1 and channels == 4 * width
    return to.relu(to.add("Add", y, x if same else to.normed(x, channels, 4 * width, 1, stride)))


def resnet50(to):
    x = to.pool(to.relu(to.normed("x", 3, 64, 7, 2)), "Max", 3, 2, 1, ceil=0)
    channels = 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(count):
            x = bottleneck(to, x, channels, width, 2 if i == 0 and width > 64 else 1)
            channels = 4 * width
    return to.dense(to.add("Flatten", to.add("GlobalAveragePool", x)), 2048, 1000)


NETWORKS = {
    "lenet": lenet,
    "cifar10_quick": cifar10_quick,
    "mlp": mlp,
    "char_lstm": char_lstm,
    "resnet50": resnet50,
}
