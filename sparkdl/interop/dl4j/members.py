"""Deeplearning4j's activation functions and losses, translated to sparkdl's."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.nn import losses
from sparkdl.nn.activations import Clip, Elu, HardSigmoid, LeakyRelu, Swish, ThresholdedRelu

PLAIN = {
    "cube": "cube",
    "hardtanh": "hard_tanh",
    "identity": "identity",
    "mish": "mish",
    "rationaltanh": "rational_tanh",
    "rectifiedtanh": "rectified_tanh",
    "relu6": "relu6",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "softmax": "softmax",
    "softplus": "softplus",
    "softsign": "softsign",
    "swish": "swish",
    "tanh": "tanh",
}


def activation(value):
    """Returns the activation function of an object; None is Deeplearning4j's default, a sigmoid."""
    if value is None:
        return "sigmoid"
    name, options = object_of(value, "an activation function", "activation")
    if name in PLAIN:
        found = PLAIN[name]
    elif name in FUNCTIONS:
        found = FUNCTIONS[name](options)
    else:
        raise UnsupportedError(f"activation {name!r} is not supported")
    options.finish()
    return found


def relu(options):
    """Returns max(0, x), or a variant with a slope or limit."""
    options.only(threshold=0.0)
    limit, slope = options.take("max"), options.number("negativeslope", 0.0)
    if limit:
        options.need(slope == 0, "negativeslope", slope)
        return Clip(low=0.0, high=limit)
    return LeakyRelu(alpha=slope) if slope else "relu"


def gelu(options):
    """Returns x sigmoid(1.702 x); the "precise" variant is no correct GELU and is refused."""
    options.only(precise=False)
    return Swish(beta=1.702)


FUNCTIONS = {
    "elu": lambda options: Elu(alpha=options.number("alpha", 1.0)),
    "gelu": gelu,
    "hardsigmoid": lambda options: HardSigmoid(slope=0.2),
    "lrelu": lambda options: LeakyRelu(alpha=options.number("alpha", 0.01)),
    "relu": relu,
    "thresholdedrelu": lambda options: ThresholdedRelu(threshold=options.number("theta", 1.0)),
}


def cross_entropy(labels):
    def translate(weights):
        return losses.SoftmaxCrossEntropy(labels=labels, class_weights=weights)

    return translate


def weighted(kind):
    return lambda weights: kind(unit_weights=weights)


def unweighted(kind):
    def translate(weights):
        if weights is not None:
            raise UnsupportedError("weights of this loss are not supported")
        return kind()

    return translate


# {name: (function from weights to a loss, the activation that the loss includes)}
LOSSES = {
    "binaryxent": (weighted(losses.SigmoidCrossEntropy), "sigmoid"),
    "cosineproximity": (unweighted(losses.CosineProximity), None),
    "hinge": (weighted(losses.Hinge), None),
    "kld": (unweighted(losses.KlDivergence), "softmax"),
    "l1": (weighted(losses.L1), None),
    "l2": (weighted(losses.L2), None),
    "mae": (weighted(losses.Mae), None),
    "mape": (weighted(losses.Mape), None),
    "mcxent": (cross_entropy("one_hot"), "softmax"),
    "mse": (weighted(losses.Mse), None),
    "msle": (weighted(losses.Msle), None),
    "negativeloglikelihood": (cross_entropy("one_hot"), "softmax"),
    "sparsemcxent": (cross_entropy("class"), "softmax"),
    "squaredhinge": (weighted(losses.SquaredHinge), None),
    "wasserstein": (weighted(losses.Wasserstein), None),
}


def loss_of(value, function):
    """Returns (loss, whether it includes the activation function of its layer).

    Parameters
    ----------
    value : dict
        The loss in Deeplearning4j's JSON.
    function : str or ActivationFunction
        Activation function of the layer.
    """
    name, options = object_of(value, "a loss", "loss")
    if name not in LOSSES:
        raise UnsupportedError(f"loss {name!r} is not supported")
    make, held = LOSSES[name]
    if held is not None and function != held:
        raise UnsupportedError(
            f"loss {name!r} with another activation than {held} is not supported"
        )
    for unused in ("softmaxclipeps", "clipeps"):
        options.take(unused)
    weights = options.take("weights")
    options.finish()
    return make(None if weights is None else numbers(weights)), held is not None


def numbers(value):
    """Returns a list of numbers, which may be nested in another list."""
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or any(type(one) not in (int, float) for one in value):
        raise UnsupportedError(f"weights={str(value)[:80]} are not supported")
    return tuple(value)
