"""The networks for comparing the package with JAX."""

from dataclasses import replace

from sparkdl.nn import GraphConf, NetworkConf, Vertex, activations, layers, losses, optimizers
from sparkdl.nn.clipping import ClipNorm
from tests.nn.examples import ACTIVATIONS, LOSSES, OPTIMIZERS
from tests.nn.layer_cases import FAMILIES, LAYERS
from tests.oracle.jax_translation.noise import is_random
from tests.oracle.jax_translation.support import reasons_of

OF_BATCH = ("Stack", "Unstack", "BatchReindex")  # they change the batch: see `batchwise`
STEPS, WIDTH = 6, 4
ROWS = 2  # per kind of layer in a family: compilation dominates


def vertex(name, layer, *inputs, **options):
    return Vertex(name=name, layer=layer, inputs=inputs, **options)


def branches(rows):
    """Returns a graph with a branch for each row (layer, shape or shapes of its inputs)."""
    inputs, vertices = {}, []
    for i, (layer, shape) in enumerate(rows):
        shapes = shape if layer.multi_input else (shape,)
        names = [f"x{i}_{j}" for j in range(len(shapes))]
        inputs |= dict(zip(names, shapes, strict=True))
        vertices.append(vertex(f"y{i}", layer, *names))
        if not isinstance(layer, layers.ScoredLayer):
            vertices.append(vertex(f"flat{i}", layers.Flatten(), f"y{i}"))
            vertices.append(vertex(f"z{i}", layers.LossLayer(loss="mse"), f"flat{i}"))
    return GraphConf(inputs=inputs, vertices=vertices)


def can_stand(layer, shape):
    """Returns whether a row can be a branch; a graph has no input of shape ()."""
    return layer.type_name not in OF_BATCH and shape != () and not set(reasons_of(layer))


def training_rows(family):
    """Returns the last rows of each kind, which have the less common options."""
    rows = [row for row in family.LAYERS if can_stand(*row)]
    kinds = {}
    for layer, shape in rows:
        if not is_random(layer):
            kinds.setdefault(layer.type_name, []).append((layer, shape))
    return [row for found in kinds.values() for row in found[-ROWS:]]


def rows_in_use():
    """Returns the rows of layers that behave differently in inference."""
    rows = [row for row in LAYERS if can_stand(*row)]
    return [row for row in rows if is_random(row[0]) or "BatchNorm" in str(row[0])]


FAMILY_ROWS = {f.__name__.rpartition(".")[2]: training_rows(f) for f in FAMILIES}
FAMILY_ROWS = {name: rows for name, rows in FAMILY_ROWS.items() if rows}


def batchwise():
    """Stacks and unstacks two inputs, and reorders a batch from a layer with shared weights."""
    return GraphConf(
        inputs={"a": (WIDTH,), "b": (WIDTH,), "order": (1,)},
        vertices=[
            vertex("both", layers.Stack(), "a", "b"),
            vertex("dense", layers.Dense(units=3, activation="tanh"), "both"),
            vertex("first", layers.Unstack(index=0, count=2), "dense"),
            vertex("second", layers.Unstack(index=1, count=2), "dense"),
            vertex("again", layers.Dense(units=3), "a", shares="dense"),
            vertex("other", layers.BatchReindex(), "again", "order"),
            vertex("sum", layers.ElementWise(), "first", "second", "other"),
            vertex("out", layers.Output(units=2), "sum"),
        ],
    )


OVER_STEPS = [
    layers.Dense(units=3, activation="relu"),
    layers.DenseTranspose(units=3, activation="relu"),
    layers.Conv1D(filters=3, kernel_size=3, stride=2, padding=1),
    layers.Conv1D(filters=3, kernel_size=2, padding="same", activation="tanh"),
    layers.Conv1D(filters=2, kernel_size=2, dilation=2, padding="causal"),
    layers.Conv1D(filters=2, kernel_size=3, stride=2, padding="same"),
    layers.Conv1DTranspose(filters=2, kernel_size=2, stride=3, padding=(1, 0)),
    layers.DepthwiseConv1D(kernel_size=2),
    layers.SeparableConv1D(filters=2, kernel_size=2, padding="same"),
    layers.MaxPool1D(size=2, stride=2, padding=1, rounding="ceil"),
    layers.AvgPool1D(size=3, stride=2, padding=1, count_padding=True),
    layers.AvgPool1D(size=2, padding="same"),
    layers.LpPool1D(size=3, p=3),
    layers.UpSampling1D(),
    layers.ZeroPadding1D(amount=(1, 2)),
    layers.Cropping1D(amount=(1, 1)),
    layers.BatchNorm(variance="unbiased"),
    layers.BatchNorm(debias=True),
    layers.LayerNorm(),
    layers.LayerNorm(axes=(0, 1)),
    layers.LayerNorm(axes=-2),
    layers.L2Normalize(),
    layers.AddedLoss(weight=0.5, mean=True),
    layers.LSTM(units=2),
    layers.GravesLSTM(units=2, return_sequences=False),
    layers.GRU(units=2),
    layers.SimpleRnn(units=2),
    layers.Bidirectional(layer=layers.LSTM(units=2)),
    layers.Bidirectional(layer=layers.GRU(units=2, return_sequences=False), mode="add"),
    layers.SelfAttention(heads=2),
    layers.SelfAttention(causal=True),
    layers.LearnedSelfAttention(queries=2),
    layers.MultiHeadAttention(heads=2),
    layers.GlobalPool(),
    layers.GlobalPool(kind="max"),
    layers.GlobalPool(kind="sum"),
    layers.GlobalPool(kind="lp"),
    layers.LastTimeStep(),
    layers.ReverseTime(),
    layers.Masking(value=0.5),
    layers.Permute(order=(0, 1)),
    layers.Permute(order=(1, 0)),
    layers.Reshape(shape=(STEPS, 2, 2)),
    layers.TimeDistributed(layer=layers.Dense(units=2)),
    layers.PositionalEncoding(),
    layers.Subset(start=1, stop=3),
    layers.Subset(start=1, stop=4, axis=0),
    layers.Activation("tanh"),
    layers.Merge(),
    layers.Merge(axis=0),
]
WITHOUT_STEPS = [  # behavior documented for fully masked sequences
    layers.GlobalPool(),
    layers.GlobalPool(kind="max"),
    layers.LastTimeStep(),
    layers.LSTM(units=2, return_sequences=False),
    layers.BatchNorm(),
    layers.LayerNorm(axes=(0, 1)),
    layers.L2Normalize(),
    layers.SelfAttention(heads=2),
    layers.LearnedSelfAttention(queries=2),
    layers.Conv1D(filters=2, kernel_size=3),
    layers.MaxPool1D(size=2),
]


def masked(kinds):
    """Applies layers to one masked sequence; each output has a loss with its mask."""
    vertices = [vertex("scaled", layers.Affine(), "x")]
    for i, layer in enumerate(kinds):
        vertices.append(vertex(f"y{i}", layer, *["scaled"] * (1 + (layer.type_name == "Merge"))))
        vertices.append(vertex(f"z{i}", layers.LossLayer(loss="mse"), f"y{i}"))
    return GraphConf(inputs={"x": (STEPS, WIDTH)}, vertices=vertices)


def masks_made():
    """Passes masks that layers create through layers that propagate them."""
    stack = [
        layers.EmbeddingSequence(vocabulary_size=4, units=3, padding_id=0),
        layers.Dropout(rate=0.0),
        layers.Conv1D(filters=3, kernel_size=2, padding="same"),
        layers.LSTM(units=2),
        layers.RnnOutput(units=3),
    ]
    return NetworkConf(input_shape=(STEPS,), layers=stack)


def masks_within():
    """Masks the words of each sentence, in layers applied to each sentence."""
    inside = [
        layers.EmbeddingSequence(vocabulary_size=3, units=3, padding_id=1),
        layers.Conv1D(filters=3, kernel_size=2, padding="same"),
        layers.BatchNorm(),
        layers.SelfAttention(),
        layers.GlobalPool(),
    ]
    stack = [layers.TimeDistributed(layer=layer) for layer in inside]
    stack[1:1] = [layers.Dropout(rate=0.0)]
    return NetworkConf(input_shape=(STEPS, 3), layers=[*stack, layers.RnnOutput(units=3)])


def scored(shape, found):
    """Attaches losses to a Dense or 1 x 1 convolution, given (loss, reduction) pairs."""
    dense = layers.Dense(units=4)
    first = dense if len(shape) < 3 else layers.Conv2D(filters=4, kernel_size=1)
    vertices = [vertex("z", first, "x"), vertex("p", layers.Activation("softmax"), "z")]
    for i, (loss, reduction) in enumerate(found):
        source = "p" if loss.type_name == "multinomial_logistic" else "z"
        layer = layers.LossLayer(loss=loss, loss_weight=1 + i / 8, reduction=reduction)
        vertices.append(vertex(f"loss{i}", layer, source))
    return GraphConf(inputs={"x": shape}, vertices=vertices)


REDUCTIONS = ("mean", "sum", "full", "valid", "total")
IGNORING = losses.SoftmaxCrossEntropy(ignore_label=255, class_weights=(1, 0.5, 3, 2))
OF_PLACES = [(IGNORING, reduction) for reduction in REDUCTIONS]
OF_PLACES += [(losses.Huber(), reduction) for reduction in REDUCTIONS]
OF_PLACES += [
    (losses.SoftmaxCrossEntropy(labels="one_hot"), "mean"),
    (losses.SigmoidCrossEntropy(ignore_label=-1), "valid"),
    (losses.Mse(ignore_label=-1), "valid"),
    (losses.Mae(ignore_label=0), "mean"),
    (losses.MulticlassHinge(), "full"),
]
OF_ROWS = [(loss, "mean") for loss in LOSSES if not loss.of_sequence] + OF_PLACES[3:5]
OF_SEQUENCES = [(loss, "mean") for loss in LOSSES if loss.type_name == "ctc"]


def activated():
    """Applies every activation after learned factors; a logarithm sees positive numbers only."""
    vertices = [vertex("scaled", layers.Affine(), "x")]
    vertices.append(vertex("above", layers.Activation("abs_val"), "scaled"))
    for i, function in enumerate(ACTIVATIONS):
        source = "above" if isinstance(function, activations.Log) else "scaled"
        vertices.append(vertex(f"y{i}", layers.Activation(function), source))
        vertices.append(vertex(f"z{i}", layers.LossLayer(loss="mse"), f"y{i}"))
    return GraphConf(inputs={"x": (5,)}, vertices=vertices)


def exact(optimizer):
    """Replaces options by numbers exact in float32, to which the package rounds some of them."""
    rate = (
        0.125
        if isinstance(optimizer.learning_rate, float)
        else replace(optimizer.learning_rate, initial=0.125)
    )
    start = {"initial_accumulator": 0.125} if isinstance(optimizer, optimizers.AdaGrad) else {}
    return replace(
        optimizer,
        learning_rate=rate,
        weight_decay=0.0625 if optimizer.weight_decay else 0.0,
        **start,
    )


def trained():
    """Returns a layer per optimizer, and a layer with different optimizers for W and b."""
    kinds = [layers.Dense(units=2, activation="tanh", optimizer=exact(u)) for u in OPTIMIZERS]
    own = optimizers.Momentum(learning_rate=0.25)
    options = {"bias_optimizer": own, "rate_factor": 0.5, "bias_rate_factor": 2.0, "bias_l2": 0.125}
    kinds.append(layers.Dense(units=2, l1=0.25, decay_factor=0.5, **options))
    kinds.append(layers.Frozen(layer=layers.Dense(units=3)))
    kinds.append(layers.LSTM(units=2, return_sequences=False))
    kinds.append(layers.Conv1D(filters=2, kernel_size=2))
    shape = {"LSTM": (3, 2), "Conv1D": (3, 2)}
    graph = branches([(layer, shape.get(layer.type_name, (3,))) for layer in kinds])
    return replace(graph, optimizer=exact(optimizers.Adam()), l1=0.0625, l2=0.125)


def small_images():
    """Combines convolution, normalization, pooling and dense output with every update option."""
    stack = [
        layers.Conv2D(filters=3, kernel_size=2, activation="elu", bias=False),
        layers.BatchNorm(momentum=0.75),
        layers.MaxPool2D(size=2, rounding="ceil"),
        layers.PRelu(l2=0.25),
        layers.Output(units=3),
    ]
    options = {
        "optimizer": optimizers.Momentum(learning_rate=0.125),
        "l2": 0.125,
        "clipping": ClipNorm(limit=1),
    }
    return NetworkConf(input_shape=(2, 5, 5), layers=stack, **options)
