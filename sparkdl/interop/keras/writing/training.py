"""Losses and optimizer of a network as Keras's compile settings."""

from dataclasses import replace

from sparkdl.errors import SparkdlError, UnsupportedError
from sparkdl.interop.keras.losses import loss_of
from sparkdl.interop.keras.optimizers import CLIPPINGS, optimizer_of
from sparkdl.interop.keras.twins import document
from sparkdl.interop.keras.writing.schedules import rate
from sparkdl.nn import losses
from sparkdl.nn import optimizers as nn

LOSSES = {
    losses.KlDivergence: "KLDivergence",
    losses.Mse: "MeanSquaredError",
    losses.Mae: "MeanAbsoluteError",
    losses.Mape: "MeanAbsolutePercentageError",
    losses.Msle: "MeanSquaredLogarithmicError",
    losses.CosineProximity: "CosineSimilarity",
    losses.SigmoidCrossEntropy: "BinaryCrossentropy",
    losses.Huber: "Huber",
}
CROSS_ENTROPIES = {"class": "SparseCategoricalCrossentropy", "one_hot": "CategoricalCrossentropy"}


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
        found = [loss(places[name].layer) if name in places else None for name in outputs]
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


def loss(layer):
    """Returns Keras's document of an output's loss."""
    ours, config = layer.loss, {"reduction": "sum_over_batch_size"}
    if isinstance(ours, losses.SoftmaxCrossEntropy):
        kind = CROSS_ENTROPIES.get(ours.labels)
    else:
        kind = LOSSES.get(type(ours))
    if kind is None or layer.reduction not in ("mean", "valid"):
        raise UnsupportedError(f"{ours} with reduction={layer.reduction!r} is not supported")
    if isinstance(ours, losses.Huber):
        config["delta"] = ours.delta
    found = document("losses", kind, config)
    same_again(loss_of(found)[0], ours)
    return found


def optimizer(conf):
    """Returns Keras's document of the optimizer, with clipping, without an average of weights."""
    ours = replace(conf.optimizer, ema_decay=None)
    if len(conf.groups) > 1:
        raise UnsupportedError("optimizers of layers are not supported")
    kind, config = KINDS.get(type(ours), lambda ours: (None, {}))(ours)
    if kind is None:
        raise UnsupportedError(f"the optimizer {type(ours).__name__} is not supported")
    config["learning_rate"] = rate(ours.learning_rate)
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
    if ours.weight_decay:
        return "AdamW", config | {"weight_decay": ours.weight_decay}
    return "Adam", config


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


KINDS = {
    nn.Sgd: sgd,
    nn.Momentum: sgd,
    nn.Nesterov: sgd,
    nn.AdamHat: adam,
    nn.AdaDelta: ada_delta,
    nn.Ftrl: ftrl,
}
