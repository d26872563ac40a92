"""One or more examples of each member of each family. A new member is one more row here."""

from sparkdl.nn import activations, initializers, layers, losses, schedules, updaters
from sparkdl.nn.clipping import ClipLayerNorm, ClipNorm, Clipping, ClipValue

ACTIVATIONS = [
    activations.AbsVal(),
    activations.Clip(low=-1.5, high=2),
    activations.Cube(),
    activations.Elu(),
    activations.Elu(alpha=0.5),
    activations.Exp(),
    activations.Exp(base=2.0, scale=0.5, shift=1.0),
    activations.Gelu(),
    activations.HardSigmoid(),
    activations.HardSigmoid(slope=0.2),
    activations.HardTanh(),
    activations.Identity(),
    activations.LeakyRelu(),
    activations.LeakyRelu(alpha=0.3),
    activations.Log(),
    activations.Log(base=10.0, scale=2.0, shift=1.0),
    activations.LogSoftmax(),
    activations.Mish(),
    activations.Power(),
    activations.Power(power=3, scale=2.0, shift=1.0),
    activations.RationalTanh(),
    activations.RectifiedTanh(),
    activations.Relu(),
    activations.Relu6(),
    activations.Selu(),
    activations.Sigmoid(),
    activations.Softmax(),
    activations.Softplus(),
    activations.Softsign(),
    activations.Swish(),
    activations.Tanh(),
    activations.ThresholdedRelu(),
    activations.ThresholdedRelu(threshold=0.25),
]

LOSSES = [
    losses.SoftmaxCrossEntropy(),
    losses.SigmoidCrossEntropy(),
    losses.KlDivergence(),
    losses.Poisson(),
    losses.Mse(),
    losses.Mae(),
    losses.L1(),
    losses.L2(),
    losses.Mape(),
    losses.Msle(),
    losses.Huber(),
    losses.Huber(delta=2.5),
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.CosineProximity(),
    losses.Wasserstein(),
]

INITIALIZERS = [
    initializers.Zeros(),
    initializers.Ones(),
    initializers.Constant(value=0.25),
    initializers.Normal(std=0.1, mean=2.0),
    initializers.TruncatedNormal(std=0.1, mean=-1.0),
    initializers.Uniform(low=-1.0, high=3.0),
    initializers.XavierNormal(),
    initializers.XavierUniform(),
    initializers.HeNormal(),
    initializers.HeUniform(),
    initializers.LecunNormal(),
    initializers.LecunUniform(),
    initializers.Orthogonal(gain=2.0),
    initializers.Identity(),
]

SCHEDULES = [
    schedules.Fixed(initial=0.1),
    schedules.Step(initial=0.1, gamma=0.5, step=3),
    schedules.MultiStep(initial=0.1, gamma=0.5, steps=(2, 5)),
    schedules.Exponential(initial=0.1, gamma=0.9, per="epoch"),
    schedules.Inverse(initial=0.1, gamma=1e-4, power=0.75),
    schedules.Polynomial(initial=0.1, steps=10, power=2.0, final=0.01),
    schedules.Sigmoid(initial=0.1, gamma=0.5, step=10),
    schedules.Cosine(initial=0.1, steps=10, final=0.001),
    schedules.WarmUp(steps=5, then=0.1, start=0.1),
    schedules.WarmUp(steps=5, then=schedules.Cosine(initial=0.1, steps=20)),
]

UPDATERS = [
    updaters.Sgd(rate=0.1),
    updaters.Sgd(rate=schedules.Step(initial=0.1, step=10)),
    updaters.Momentum(rate=0.1, momentum=0.5),
    updaters.Nesterov(rate=0.1, momentum=0.5),
    updaters.AdaGrad(rate=0.1, initial_accumulator=0.1, epsilon=1e-6),
    updaters.RmsProp(rate=0.1, decay=0.8, epsilon=1e-6),
    updaters.Adam(rate=0.1, beta1=0.8, beta2=0.99, epsilon=1e-6),
]

CLIPPINGS = [ClipValue(limit=0.5), ClipNorm(limit=2.0), ClipLayerNorm(limit=3)]

# (layer, shape of one example's input)
LAYERS = [
    (layers.Dense(units=3), (4,)),
    (layers.Dense(units=3, bias=False, activation="tanh", initializer="he", l1=0.1, l2=0.2), (4,)),
    (layers.Dense(units=2, activation={"type": "leaky_relu", "alpha": 0.1}), (4,)),
    (layers.Conv2D(filters=3, kernel=2), (2, 5, 4)),
    (layers.Conv2D(filters=4, kernel=(3, 2), stride=(2, 1), padding=(1, 0), groups=2), (2, 6, 5)),
    (layers.Conv2D(filters=2, kernel=3, dilation=2, bias=False, activation="relu"), (1, 7, 6)),
    (layers.Conv2D(filters=2, kernel=(2, 3), stride=2, padding="same"), (3, 5, 6)),
    (layers.Conv2D(filters=2, kernel=3, padding=((1, 0), (2, 1))), (1, 4, 4)),
    (layers.MaxPool2D(size=2), (2, 5, 4)),
    (layers.MaxPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.MaxPool2D(size=3, stride=2, rounding="ceil"), (2, 6, 8)),
    (layers.MaxPool2D(size=(2, 3), stride=(1, 2), padding="same"), (1, 5, 6)),
    (layers.AvgPool2D(size=2), (2, 5, 4)),
    (layers.AvgPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, count_padding=True), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, rounding="ceil", count_padding=True), (1, 6, 8)),
    (layers.AvgPool2D(size=2, stride=2, rounding="ceil"), (1, 5, 5)),
    (layers.GlobalPool(), (3, 4, 5)),
    (layers.GlobalPool(kind="max"), (3, 4, 5)),
    (layers.GlobalPool(kind="sum"), (3, 4, 5)),
    (layers.BatchNorm(), (4,)),
    (layers.BatchNorm(momentum=0.5, epsilon=1e-3), (3, 2, 4)),
    (layers.Dropout(rate=0.3), (20,)),
    (layers.Dropout(), (2, 3, 4)),
    (layers.Activation(function="relu"), (4,)),
    (layers.Activation(function="softmax"), (3, 2, 2)),
    (layers.Flatten(), (2, 3, 4)),
    (layers.Output(units=3), (4,)),
    (layers.Output(units=2, loss="mse", bias=False, name="score"), (4,)),
]

FAMILIES = {
    activations.ActivationFunction: ACTIVATIONS,
    losses.Loss: LOSSES,
    initializers.Initializer: INITIALIZERS,
    schedules.Schedule: SCHEDULES,
    updaters.Updater: UPDATERS,
    Clipping: CLIPPINGS,
    layers.Layer: [layer for layer, _ in LAYERS],
}
