"""A convolutional network's training step as a graph, typical of the engine's programs."""

from sparkdl.engine import Spec, Tensor, gradients, ops, scope

SHAPES = {"W1": (20, 1, 5, 5), "W2": (50, 20, 5, 5), "W3": (800, 50), "W4": (50, 10)}


def lenet(batch):
    """Returns (inputs, outputs) of LeNet: images, labels and weights to loss and gradients gW."""
    images = Tensor(Spec((batch, 1, 28, 28)), name="images")
    labels = Tensor(Spec((batch,), "int32"), name="labels")
    w = {name: Tensor(Spec(shape), name=name) for name, shape in SHAPES.items()}
    b = {f"b{n[1:]}": Tensor(Spec((s[0 if len(s) > 2 else 1],))) for n, s in SHAPES.items()}
    with scope("conv_1"):
        x = ops.max_pool(ops.add_bias(ops.conv(images, w["W1"]), b["b1"], 1), 2)
    with scope("conv_2"):
        x = ops.max_pool(ops.add_bias(ops.conv(x, w["W2"]), b["b2"], 1), 2)
    with scope("dense_3"):
        x = ops.reshape(x, (batch, 800))
        x = ops.relu(ops.add_bias(ops.matmul(x, w["W3"]), b["b3"]))
    with scope("output_4"):
        x = ops.add_bias(ops.matmul(x, w["W4"]), b["b4"])
        loss = ops.mean(ops.softmax_cross_entropy(x, labels))
    params = w | b
    grads = gradients(loss, list(params.values()))
    outputs = {"loss": loss} | {f"g{name}": g for name, g in zip(params, grads, strict=True)}
    return {"images": images, "labels": labels, **params}, outputs
