"""The networks in Keras, channels last, with as many parameters as ours."""

import keras
import tensorflow as tf
from keras import layers

from tests.benchmarks.cpu.workloads import CHARACTERS, INCEPTIONS


def sequential(shape, *stack):
    return keras.Sequential([keras.Input(shape), *stack])


def conv(filters, kernel, activation="relu", **options):
    return layers.Conv2D(filters, kernel, activation=activation, **options)


def lenet():
    images = [conv(20, 5, None), layers.MaxPooling2D(2), conv(50, 5, None), layers.MaxPooling2D(2)]
    top = [layers.Flatten(), layers.Dense(500, activation="relu"), layers.Dense(10)]
    return sequential((28, 28, 1), *images, *top)


def cifar10_quick():
    """Caffe's examples/cifar10/cifar10_quick.prototxt; "same" pooling rounds up as Caffe does."""
    same = {"padding": "same"}
    stack = [conv(32, 5, None, **same), layers.MaxPooling2D(3, 2, **same), layers.ReLU()]
    for filters in (32, 64):
        stack += [conv(filters, 5, **same), layers.AveragePooling2D(3, 2, **same)]
    return sequential((32, 32, 3), *stack, layers.Flatten(), layers.Dense(64), layers.Dense(10))


def cifar_net():
    stack = []
    for filters in (64, 128, 256):
        stack += [conv(filters, 3, padding="same"), layers.MaxPooling2D(2)]
    return sequential((32, 32, 3), *stack, layers.Flatten(), layers.Dense(10))


def mlp():
    hidden = [layers.Dense(1024, activation="relu") for _ in range(2)]
    return sequential((784,), *hidden, layers.Dense(10))


def char_lstm():
    stack = [layers.LSTM(256, return_sequences=True) for _ in range(2)]
    return sequential((50, CHARACTERS), *stack, layers.Dense(CHARACTERS))


def normed(x, filters, kernel, stride=1):
    """A convolution without bias, padded symmetrically, and batch normalization."""
    x = layers.ZeroPadding2D(kernel // 2)(x) if kernel > 1 else x
    y = conv(filters, kernel, None, strides=stride, use_bias=False)(x)
    return layers.BatchNormalization()(y)


def bottleneck(x, width, stride):
    y = layers.ReLU()(normed(x, width, 1))
    y = normed(layers.ReLU()(normed(y, width, 3, stride)), 4 * width, 1)
    same = stride == 1 and x.shape[-1] == 4 * width
    return layers.ReLU()(layers.add([y, x if same else normed(x, 4 * width, 1, stride)]))


def resnet50():
    start = keras.Input((224, 224, 3))
    x = layers.ZeroPadding2D(1)(layers.ReLU()(normed(start, 64, 7, 2)))
    x = layers.MaxPooling2D(3, 2)(x)
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(count):
            x = bottleneck(x, width, 2 if i == 0 and width > 64 else 1)
    return keras.Model(start, layers.Dense(1000)(layers.GlobalAveragePooling2D()(x)))


def lrn(alpha=1e-4):
    """LRN across five channels; TensorFlow's alpha is per channel, Caffe's for all of them."""
    options = {"depth_radius": 2, "bias": 1.0, "alpha": alpha / 5, "beta": 0.75}
    return layers.Lambda(lambda x: tf.nn.local_response_normalization(x, **options))


def inception(x, one, reduce3, three, reduce5, five, pooled):
    parts = [conv(one, 1)(x), conv(three, 3, padding="same")(conv(reduce3, 1)(x))]
    parts += [conv(five, 5, padding="same")(conv(reduce5, 1)(x))]
    parts += [conv(pooled, 1)(layers.MaxPooling2D(3, 1, padding="same")(x))]
    return layers.concatenate(parts)


def googlenet():
    """Caffe's bvlc_googlenet without its two auxiliary classifiers."""
    start = keras.Input((224, 224, 3))
    x = conv(64, 7, strides=2)(layers.ZeroPadding2D(3)(start))
    x = conv(64, 1)(lrn()(layers.MaxPooling2D(3, 2, padding="same")(x)))
    x = lrn()(conv(192, 3, padding="same")(x))
    for stage in INCEPTIONS:
        x = layers.MaxPooling2D(3, 2, padding="same")(x)
        for sizes in stage:
            x = inception(x, *sizes)
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(start, layers.Dense(1000)(x))


def halves(x, filters, kernel):
    """A convolution in two groups: TensorFlow has no grouped gradient on CPUs."""
    parts = layers.Lambda(lambda t: tuple(tf.split(t, 2, axis=-1)))(x)
    return layers.concatenate([conv(filters // 2, kernel, padding="same")(p) for p in parts])


def alexnet():
    """Caffe's bvlc_alexnet: two groups, local response normalization across channels."""
    start = keras.Input((227, 227, 3))
    x = layers.MaxPooling2D(3, 2)(lrn()(conv(96, 11, strides=4)(start)))
    x = layers.MaxPooling2D(3, 2)(lrn()(halves(x, 256, 5)))
    x = halves(conv(384, 3, padding="same")(x), 384, 3)
    x = layers.Flatten()(layers.MaxPooling2D(3, 2)(halves(x, 256, 3)))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(4096, activation="relu")(x))
    return keras.Model(start, layers.Dense(1000)(x))


class Places(layers.Layer):
    """Adds a learned vector to each position of a sequence."""

    def build(self, shape):
        self.vectors = self.add_weight(shape=shape[1:])

    def call(self, x):
        return x + self.vectors


def block(x, width=256, heads=4):
    """Pre-norm attention and feed-forward sublayers with residual connections."""
    y = layers.LayerNormalization(epsilon=1e-5)(x)
    x = x + layers.MultiHeadAttention(heads, width // heads)(y, y, use_causal_mask=True)
    y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization(epsilon=1e-5)(x))
    return x + layers.Dense(width)(y)


def transformer(width=256, steps=128, count=4):
    start = keras.Input((steps,), dtype="int32")
    x = Places()(layers.Embedding(CHARACTERS, width)(start))
    for _ in range(count):
        x = block(x, width)
    x = layers.LayerNormalization(epsilon=1e-5)(x)
    return keras.Model(start, layers.Dense(CHARACTERS)(x))


NETWORKS = {
    "lenet": lenet,
    "cifar10_quick": cifar10_quick,
    "cifar_net": cifar_net,
    "mlp": mlp,
    "char_lstm": char_lstm,
    "resnet50": resnet50,
    "googlenet": googlenet,
    "alexnet": alexnet,
    "transformer": transformer,
}
