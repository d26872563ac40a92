"""Losses and optimizer of a network as Keras's compile settings."""

from dataclasses import replace

from sparkdl.errors import SparkdlError, UnsupportedError
from sparkdl.interop.keras.losses import loss_of
from sparkdl.interop.keras.optimizers import CLIPPINGS, optimizer_of
from sparkdl.interop.keras.places import Place
from sparkdl.interop.keras.twins import document
from sparkdl.interop.keras.writing.schedules import rate
from sparkdl.nn import losses
from sparkdl.nn import optimizers as nn


def compile_config(conf, outputs):
    """Returns (compile_config, what it leaves out or None), or (None, why there is none).

    Parameters
    ----------
    conf : Conf
    outputs : list of str
    """
    places = {place.name: place for place in conf.outputs}
    if not any(name in places for name in outputs):
        return None, None
    try:
        found = [loss(places[name]) if name in places else None for name in outputs]
        weights = [places[n].layer.loss_weight if n in places else None for n in outputs]
        settings = {
            "optimizer": optimizer(conf),
            "loss": found[0] if len(found) == 1 else found,
            "loss_weights": None if set(weights) == {1.0} else weights,
            "metrics": None,
            "weighted_metrics": None,
            "run_eagerly": False,
            "steps_per_execution": 1,
            "jit_compile": False,
        }
    except SparkdlError as error:
        return None, f"the model is not compiled: {error}"
    decay = conf.optimizer.ema_decay
    if decay is None:
        return settings, None
    return settings, (
        f"the average of the weights (ema_decay={decay}) is left out; write the network that "
        "with_averaged_weights returns to have it as weights"
    )


def loss(place):
    """Returns Keras's document of an output's loss."""
    ours, reduction = place.layer.loss, place.layer.reduction
    kind, config = LOSSES.get(type(ours), lambda ours: (None, {}))(ours)
    if kind is None or reduction not in ("mean", "valid"):
        raise UnsupportedError(f"{ours} with reduction={reduction!r} is not supported")
    found = document("losses", kind, {"reduction": "sum_over_batch_size"} | config)
    again = loss_of(found, Place(name=place.name, shape=place.out_shape))[0]
    same_again(again, ours)
    return found


def softmax_cross_entropy(ours):
    """Returns a cross entropy, or with focal_gamma a focal loss, whose alpha are the weights."""
    if ours.labels == "class":
        return "SparseCategoricalCrossentropy", {}
    config = {"label_smoothing": ours.label_smoothing}
    if not ours.focal_gamma:
        return "CategoricalCrossentropy", config
    alpha = 1.0 if ours.class_weights is None else [*ours.class_weights]
    return "CategoricalFocalCrossentropy", config | {"gamma": ours.focal_gamma, "alpha": alpha}


def sigmoid_cross_entropy(ours):
    """Returns a cross entropy, or a focal loss."""
    config, alpha = {"label_smoothing": ours.label_smoothing}, ours.focal_alpha
    if not ours.focal_gamma and alpha is None:
        return "BinaryCrossentropy", config
    config |= {"gamma": ours.focal_gamma, "apply_class_balancing": alpha is not None}
    return "BinaryFocalCrossentropy", config | ({} if alpha is None else {"alpha": alpha})


def optimizer(conf):
    """Returns Keras's document of the optimizer, with clipping, without an average of weights."""
    ours = replace(conf.optimizer, ema_decay=None)
    if len(conf.groups) > 1:
        raise UnsupportedError("optimizers of layers are not supported")
    kind, config = KINDS.get(type(ours), lambda ours: (None, {}))(ours)
    if kind is None:
        raise UnsupportedError(f"the optimizer {type(ours).__name__} is not supported")
    config["learning_rate"] = rate(ours.learning_rate)
    if ours.weight_decay:
        config["weight_decay"] = ours.weight_decay
    names = {clipping: name for name, clipping in CLIPPINGS.items()}
    if conf.clipping is not None:
        if type(conf.clipping) not in names:
            raise UnsupportedError(f"{conf.clipping} is not supported")
        config[names[type(conf.clipping)]] = conf.clipping.limit
    found = document("optimizers", kind, config)
    again = optimizer_of(found, [])["optimizer"]
    same_again(replace(again, learning_rate=ours.learning_rate), ours)  # compared by `rate`
    return found


def same_again(found, ours):
    """Raises UnsupportedError unless the written object is read as an equal one."""
    if found != ours:
        raise UnsupportedError(f"{ours} is not supported")


def sgd(ours):
    momentum = getattr(ours, "momentum", 0.0)
    return "SGD", {"momentum": momentum, "nesterov": isinstance(ours, nn.Nesterov)}


def adam(ours):
    """Returns an Adam, or with weight decay an AdamW."""
    config = {"beta_1": ours.beta1, "beta_2": ours.beta2, "epsilon": ours.epsilon}
    return "AdamW" if ours.weight_decay else "Adam", config


def ada_grad(ours):
    return "Adagrad", {
        "initial_accumulator_value": ours.initial_accumulator,
        "epsilon": ours.epsilon,
    }


def rms_prop(ours):
    return "RMSprop", {"rho": ours.decay, "epsilon": ours.epsilon}


def ada_delta(ours):
    return "Adadelta", {"rho": ours.decay, "epsilon": ours.epsilon}


def ftrl(ours):
    """Returns an Ftrl; Keras's l2 is half of sparkdl's."""
    return "Ftrl", {
        "l1_regularization_strength": ours.l1,
        "l2_regularization_strength": ours.l2 / 2,
        "beta": ours.beta,
        "initial_accumulator_value": ours.initial_accumulator,
    }


def plain(kind):
    return lambda ours: (kind, {})


LOSSES = {
    losses.SoftmaxCrossEntropy: softmax_cross_entropy,
    losses.SigmoidCrossEntropy: sigmoid_cross_entropy,
    losses.Huber: lambda ours: ("Huber", {"delta": ours.delta}),
    losses.Hinge: plain("Hinge"),
    losses.SquaredHinge: plain("SquaredHinge"),
    losses.Poisson: plain("Poisson"),
    losses.LogCosh: plain("LogCosh"),
    losses.KlDivergence: plain("KLDivergence"),
    losses.Mse: plain("MeanSquaredError"),
    losses.Mae: plain("MeanAbsoluteError"),
    losses.Mape: plain("MeanAbsolutePercentageError"),
    losses.Msle: plain("MeanSquaredLogarithmicError"),
    losses.CosineProximity: plain("CosineSimilarity"),
}
KINDS = {
    nn.Sgd: sgd,
    nn.Momentum: sgd,
    nn.Nesterov: sgd,
    nn.AdamHat: adam,
    nn.AdaDelta: ada_delta,
    nn.AdaGrad: ada_grad,
    nn.RmsProp: rms_prop,
    nn.Ftrl: ftrl,
}
