"""Whole Keras models, each as a function that builds it and the shapes of its inputs."""

from tests.interop.keras.models import draw_weights, keras

L = keras.layers


def sequential(shape, *layers):
    def build():
        return keras.Sequential([keras.Input(shape), *(layer() for layer in layers)])

    return build, [shape]


def functional(*shapes):
    """Decorates a function from input tensors to outputs, so that it builds a functional model."""

    def decorate(connect):
        def build():
            inputs = [keras.Input(shape) for shape in shapes]
            outputs = connect(*inputs)
            return keras.Model(inputs[0] if len(inputs) == 1 else inputs, outputs)

        return build, list(shapes)

    return decorate


def conv(filters, size=3, **options):
    return lambda: L.Conv2D(filters, size, activation="relu", **options)


def dense(units, activation="relu", **options):
    return lambda: L.Dense(units, activation=activation, **options)


MLP = sequential((6,), dense(8), lambda: L.Dropout(0.5), dense(4, "softmax"))
LENET = sequential(
    (12, 12, 1), conv(4, 5), L.MaxPooling2D, conv(6, 2), L.MaxPooling2D, L.Flatten, dense(3)
)
VGG = sequential(
    (8, 8, 3),
    conv(4, padding="same"),
    conv(4, padding="same"),
    lambda: L.MaxPooling2D(2, strides=2, padding="same"),
    conv(6, padding="same", strides=2),
    L.BatchNormalization,
    L.GlobalAveragePooling2D,
    dense(5, "softmax"),
)
DEPTHWISE = sequential(
    (8, 9, 3),
    conv(4, strides=2, padding="same"),
    lambda: L.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
    L.BatchNormalization,
    lambda: L.ReLU(6.0),
    lambda: L.SeparableConv2D(5, 2),
    lambda: L.GlobalMaxPooling2D(keepdims=True),
    L.Flatten,
)
TEXT = sequential(
    (9,), lambda: L.Embedding(20, 4), lambda: L.Conv1D(5, 3), L.GlobalMaxPooling1D, dense(2)
)
MASKED = sequential(
    (7,),
    lambda: L.Embedding(9, 4, mask_zero=True),
    lambda: L.Dropout(0.2),
    lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)),
    lambda: L.GRU(4),
    dense(2),
)
MASKED_MEAN = sequential(
    (6, 3),
    lambda: L.Masking(0.5),
    lambda: L.LSTM(4, return_sequences=True),
    L.GlobalAveragePooling1D,
)
RECURRENT = sequential(
    (6, 4), lambda: L.GRU(5, return_sequences=True), lambda: L.TimeDistributed(L.Dense(3))
)
ENCODER = sequential(
    (8, 8, 2),
    conv(3, strides=2, padding="same"),
    lambda: L.Conv2DTranspose(2, 3, strides=2, padding="same"),
    lambda: L.UpSampling2D(2, interpolation="bilinear"),
    lambda: L.Cropping2D(1),
)
FROZEN = sequential((6,), dense(5, trainable=False), L.BatchNormalization, dense(2))
VOLUME = sequential((4, 5, 6, 2), lambda: L.Conv3D(3, 2), lambda: L.MaxPooling3D(2), L.Flatten)
STEPS = sequential(
    (6, 3), lambda: L.Conv1D(4, 2, padding="causal"), L.LayerNormalization, L.Flatten
)


@functional((8, 8, 3))
def resnet(x):
    y = L.Conv2D(4, 3, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    short = L.Conv2D(4, 1)(x)
    y = L.Activation("relu")(L.Add()([y, short]))
    return L.Dense(3, activation="softmax")(L.GlobalAveragePooling2D()(y))


@functional((5,), (6, 6, 2))
def two_inputs(row, image):
    y = L.Flatten()(L.Conv2D(3, 2)(image))
    both = L.Concatenate()([L.Dense(4)(row), y])
    return [L.Dense(2, name="first")(both), L.Dense(1, activation="sigmoid", name="second")(both)]


@functional((6, 6, 3))
def nested(x):
    inside = keras.Sequential([L.Conv2D(4, 3), L.BatchNormalization(), L.Flatten()])
    head = keras.Input((64,))
    mixed = L.Dense(5, trainable=False)(head)
    top = keras.Model(head, [L.Dense(2)(mixed), mixed])
    left, right = top(inside(x))
    return L.Concatenate()([left, right])


@functional((6,), (6,))
def shared(left, right):
    layer, tower = L.Dense(4, activation="tanh"), keras.Sequential([L.Dense(3), L.ReLU()])
    ends = [tower(layer(left)), tower(layer(right))]
    return L.Subtract()(ends)


@functional((5, 8))
def attention(x):
    y = L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
    x = L.LayerNormalization()(L.Add()([x, y]))
    y = L.Dense(8)(L.Dense(16, activation="gelu")(x))
    return L.GlobalAveragePooling1D()(L.LayerNormalization()(L.Add()([x, y])))


@functional((4, 6), (7, 5))
def cross_attention(queries, keys):
    layer = L.MultiHeadAttention(3, 2, output_shape=7, use_bias=False)
    return layer(queries, L.Dense(5)(keys), key=keys)


@functional((6, 6, 4))
def squeeze(x):
    gate = L.GlobalAveragePooling2D(keepdims=True)(x)
    gate = L.Conv2D(4, 1, activation="sigmoid")(gate)
    return L.Multiply()([x, gate])


@functional((4, 4, 3))
def joined(x):
    y = L.Permute((2, 1, 3))(x)
    parts = [L.Maximum()([x, y]), L.Minimum()([x, y]), L.Average()([x, y])]
    return L.Reshape((-1, 9))(L.Concatenate(axis=-1)(parts))


@functional((4, 4, 3))
def scaled_sum(x):
    y = L.Conv2D(3, 1)(x)
    return L.Flatten()(keras.src.applications.inception_resnet_v2.CustomScaleLayer(0.3)([x, y]))


MODELS = {
    "scaled sum": scaled_sum,
    "mlp": MLP,
    "lenet": LENET,
    "vgg": VGG,
    "depthwise": DEPTHWISE,
    "text": TEXT,
    "masked": MASKED,
    "masked_mean": MASKED_MEAN,
    "recurrent": RECURRENT,
    "encoder": ENCODER,
    "frozen": FROZEN,
    "volume": VOLUME,
    "steps": STEPS,
    "resnet": resnet,
    "two_inputs": two_inputs,
    "nested": nested,
    "shared": shared,
    "attention": attention,
    "cross_attention": cross_attention,
    "squeeze": squeeze,
    "joined": joined,
}
WORDS = {"text", "masked"}  # their inputs are ids of words


def built(name):
    """Returns (model with drawn weights, shapes of its inputs)."""
    keras.backend.clear_session()
    build, shapes = MODELS[name]
    return draw_weights(build()), shapes
