"""Output layers with each loss, with as many units as it needs."""

from sparkdl.errors import ShapeError
from sparkdl.nn import layers, losses
from tests.oracle.options import options_of

MOST = 12  # units for lists of a number per unit


def plain(cls, **drawers):
    return lambda choices, units: cls(
        **{name: draw(choices, units) for name, draw in drawers.items()}
    )


def weights(choices, units):
    """Draws a factor for each unit, one of them 0, or none."""
    if units > MOST or choices.chance(0.7):
        return None
    return tuple(choices.pick((1.0, 0.5, 2.0, 0.0)) for _ in range(units))


def softmax(choices, units):
    labels = choices.pick(("class", "one_hot"))
    options = {"class_weights": weights(choices, units), "labels": labels}
    if labels == "class" and choices.chance(0.3):
        options["ignore_label"] = choices.pick((255, 0))
    return losses.SoftmaxCrossEntropy(**options, **smoothed(choices))


def smoothed(choices):
    """Draws a share of smoothed labels, a focal loss, both or neither."""
    share = choices.pick((0.1, 0.25)) if choices.chance(0.25) else 0.0
    gamma = choices.pick((2.0, 1.5)) if choices.chance(0.25) else 0.0
    return {"label_smoothing": share, "focal_gamma": gamma}


def gain(choices, units):
    if units > MOST:
        raise ShapeError(f"no matrix is written down for {units} units")
    rows = range(units)
    return tuple(tuple(choices.pick((1.0, 0.0, 0.5)) for _ in rows) for _ in rows)


def margin(cls):
    return per_unit(
        cls,
        labels=lambda c, u: c.pick(("signs", "class")),
        averaged=lambda c, u: c.chance(0.5),
    )


def missing(choices, units):
    return choices.pick((None, None, 9.0))


def per_unit(cls, **more):
    return plain(cls, unit_weights=weights, **more)


def yes_or_no(choices, units):
    options = {"unit_weights": weights(choices, units), "averaged": choices.chance(0.3)}
    if choices.chance(0.3):
        options["ignore_label"] = choices.pick((-1.0, 0.0))
    options["focal_alpha"] = choices.pick((None, None, 0.25))
    return losses.SigmoidCrossEntropy(**options, **smoothed(choices))


def dice(choices, units):
    return overlap(choices, units, losses.Dice)


def tversky(choices, units):
    shares = {name: choices.pick((0.5, 0.3, 1.0)) for name in ("alpha", "beta")}
    return overlap(choices, units, losses.Tversky, **shares)


def overlap(choices, units, kind, **more):
    labels = choices.pick(("class", "one_hot", "masks"))
    ignored = choices.pick((None, 255, 0)) if labels == "class" else None
    options = {"labels": labels, "ignore_label": ignored, "per_unit": choices.chance(0.7)}
    if choices.chance(0.3):
        options["class_weights"] = tuple(choices.pick((0.5, 1.0, 2.0)) for _ in range(units))
    return kind(smooth=choices.pick((1.0, 0.01)), **options, **more)


def quantile(choices, units):
    shares = (0.5, 0.1, 0.9, 0.25)[: choices.pick([n for n in (1, 2, 3) if units % n == 0])]
    return losses.Quantile(quantiles=shares)


def gaussian(choices, units):
    if units % 2:
        raise ShapeError("a gaussian has two units for each number")
    return losses.Gaussian()


def mixture(choices, units):
    for components in (1, 2):
        if units % components == 0 and units // components > 2:
            return losses.MixtureDensity(components=components, width=units // components - 2)
    raise ShapeError(f"no mixture has {units} units")


def ctc(choices, units):
    return losses.Ctc(label_length=choices.integer(1, 3), blank=choices.integer(0, units - 1))


def yolo(choices, channels):
    count = choices.pick([c for c in (1, 2) if channels % c == 0 and channels // c > 5] or [0])
    if not count:
        raise ShapeError(f"no boxes fit {channels} channels")
    boxes = tuple((choices.pick((1.0, 2.5)), choices.pick((1.0, 2.0))) for _ in range(count))
    return losses.Yolo2(boxes=boxes)


DRAWN = {  # loss: function (choices, units)
    "softmax_cross_entropy": softmax,
    "mse": per_unit(losses.Mse, ignore_label=missing),
    "infogain": plain(losses.Infogain, gain=gain),
    "multinomial_logistic": plain(losses.MultinomialLogistic),
    "sigmoid_cross_entropy": yes_or_no,
    "multi_label": plain(losses.MultiLabelRanking),
    "contrastive": per_unit(losses.Contrastive, legacy=lambda c, u: c.chance(0.5)),
    "gaussian": gaussian,
    "exponential": per_unit(losses.ExponentialDensity),
    "mixture_density": mixture,
    "kl_divergence": per_unit(losses.KlDivergence),
    "poisson": per_unit(losses.Poisson, averaged=lambda c, u: c.chance(0.5)),
    "mae": per_unit(losses.Mae),
    "l1": per_unit(losses.L1),
    "l2": per_unit(losses.L2),
    "euclidean": per_unit(losses.Euclidean),
    "mape": per_unit(losses.Mape),
    "msle": per_unit(losses.Msle),
    "huber": per_unit(losses.Huber, delta=lambda c, u: c.pick((1.0, 2.5))),
    "log_cosh": per_unit(losses.LogCosh, ignore_label=missing),
    "quantile": quantile,
    "hinge": margin(losses.Hinge),
    "squared_hinge": margin(losses.SquaredHinge),
    "multiclass_hinge": plain(losses.MulticlassHinge),
    "cosine_proximity": plain(losses.CosineProximity),
    "wasserstein": per_unit(losses.Wasserstein),
    "dice": dice,
    "tversky": tversky,
    "ctc": ctc,
    "yolo2": yolo,
}
ROWS = [name for name in DRAWN if name not in ("ctc", "yolo2")]


def output_for(choices, shape):
    """Draws an output layer for an example of this shape."""
    kinds = ["Output", "LossLayer", *(["RnnOutput"] if len(shape) == 2 else [])]
    kind = choices.pick([*kinds, *(["CenterLossOutput"] if len(shape) != 2 else [])])
    common = {"loss_weight": choices.pick((1.0, 1.0, 0.5))}
    if choices.chance(0.25):
        common["reduction"] = choices.pick(("sum", "full", "valid", "total"))
    if kind == "LossLayer":
        return loss_layer(choices, shape, common)
    units = choices.integer(1, 8)
    cls = getattr(layers, kind)
    common |= options_of(choices, cls, ("activation",))
    if kind == "CenterLossOutput":
        name = choices.pick(("softmax_cross_entropy", "multiclass_hinge"))
        loss = softmax(choices, units) if choices.chance(0.5) else name
        return cls(units=units, loss=loss, center_weight=choices.pick((2e-4, 0.5)), **common)
    sequences = len(shape) == 2
    name = choices.pick([*ROWS, *(["ctc"] if sequences else [])])
    return cls(units=units, loss=DRAWN[name](choices, units), **common)


def loss_layer(choices, shape, options):
    """Draws a loss layer for the preceding layer's output."""
    names = [*ROWS, *(["ctc"] if len(shape) == 2 else []), *(["yolo2"] if len(shape) == 3 else [])]
    name = choices.pick(names)
    if len(shape) == 3 and shape[0] > 5 and choices.chance(0.5):
        name = "yolo2"
    units = shape[0] if len(shape) > 2 else shape[-1]
    return layers.LossLayer(loss=DRAWN[name](choices, units), **options)
