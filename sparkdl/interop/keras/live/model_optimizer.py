"""Keras optimizer for a KerasModel, with its state in the slot vector."""

from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, SparkdlError, brief
from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.keras.live.variables import build_model, to_numpy
from sparkdl.interop.keras.schedules import schedule_of
from sparkdl.interop.live.live_model import MODULE
from sparkdl.nn.schedules import Schedule

ITERATION, RATE = "iteration", "learning_rate"  # variables set from the update's number
LAST = 2**30  # stands for larger iterations, too, as optimizers add to it in int32
REFUSED = {  # options, and the cure
    "use_ema": "leave it out and give KerasModel.optimizer with an ema_decay, such as "
    "Adam(ema_decay=0.999), instead of keras_optimizer",
    "gradient_accumulation_steps": "masters accumulate: AllReduceSGD(accumulate=4)",
}
WRITTEN = "lambda: keras.optimizers.AdamW(1e-3)"  # for errors
BASE = 1.0  # rate given to an optimizer with a schedule; see LiveModel.base_rate


class ModelOptimizer:
    """A model's optimizer, as a function of its state.

    Parameters
    ----------
    make : Maker
    functions : ModelFunctions
        Functions of the model.
    views : {"module/optimizer:number": array}
        Views of the slots with its state, which are averaged, sent and saved.
    """

    def __init__(self, make: Any, functions: Any, views: dict[str, np.ndarray]) -> None:
        self._optimizer, _ = build_optimizer(make, functions.model)
        self._views = views
        self._names = [variable.name for variable in self._optimizer.variables]
        self._first = {n: to_numpy(v) for n, v in state_of(self._optimizer)}
        self._rate = float(self._optimizer.learning_rate)
        self._apply = functions.stepper(self._optimizer)
        shapes = {f"{MODULE}/{n}": v.shape for n, v in self._first.items()}
        if shapes != {n: view.shape for n, view in views.items()}:
            raise ConfigError(
                "KerasModel.keras_optimizer must build an optimizer with the same state as when "
                "the model was made, got other names or shapes"
            )

    def step(self, values: list, slopes: list, factor: float, t: int, first: bool) -> list:
        """Returns the trained values after a step, and stores the state.

        See LiveReplica._move.
        """
        state = iter(self._first.values() if first else self._views.values())
        known = {ITERATION: np.int32(min(t - 1, LAST)), RATE: np.float32(self._rate * factor)}
        variables = [known[n] if n in known else np.array(next(state)) for n in self._names]
        values, variables = self._apply(variables, slopes, values)
        found = (v for n, v in zip(self._names, variables, strict=True) if n not in known)
        for view, value in zip(self._views.values(), found, strict=True):
            view[...] = value
        return values


def build_optimizer(make: Any, model: Any) -> tuple[Any, float | Schedule]:
    """Returns an optimizer built for a model's variables, and its learning rate.

    If that is a schedule, the optimizer gets the rate BASE, and each step sets the rate.

    Raises
    ------
    ConfigError
        If it is not a Keras Optimizer, or does more than update variables.
    """
    keras = load_keras()
    with keras.device("cpu"):
        optimizer = make()
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                "KerasModel.keras_optimizer must return a keras.optimizers.Optimizer, got "
                f"{brief(optimizer)} from {make}"
            )
        rate = rate_of(optimizer)
        if isinstance(rate, Schedule):
            give_rate(optimizer, BASE)
        optimizer.build(model.trainable_variables)
    for name, cure in REFUSED.items():
        if getattr(optimizer, name, None):
            raise ConfigError(
                f"KerasModel.keras_optimizer must build an optimizer without {name}, got "
                f"{getattr(optimizer, name)!r}; {cure}"
            )
    return optimizer, rate


def rate_of(optimizer: Any) -> float | Schedule:
    """Returns the learning rate of a Keras optimizer; raises ConfigError if not supported."""
    try:
        written = load_keras().optimizers.serialize(optimizer)["config"]["learning_rate"]
        return schedule_of(written) if isinstance(written, dict) else float(written)
    except (SparkdlError, NotImplementedError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            "KerasModel.keras_optimizer must build an optimizer whose learning_rate is a number or "
            f"a schedule that sparkdl has too, got {brief(optimizer)}: {error}; give a schedule of "
            "sparkdl's to an optimizer of sparkdl's"
        ) from error


def give_rate(optimizer: Any, rate: float) -> None:
    """Replaces the schedule of an optimizer that is not built yet by a number.

    Recreating it from its config would lose later settings, such as variables excluded from weight
    decay.
    """
    keras = load_keras()
    variable = keras.Variable(rate, dtype="float32", trainable=False, name=RATE)
    optimizer._learning_rate = variable
    if all(one is not variable for one in optimizer.variables):
        optimizer._track_variable(variable)


def state_of(optimizer: Any) -> list[tuple[str, Any]]:
    """Returns [("optimizer:number", variable)] of the state to exchange.

    Raises
    ------
    ConfigError
        If a variable is not float32.
    """
    found = [v for v in optimizer.variables if v.name not in (ITERATION, RATE)]
    for variable in found:
        if variable.dtype != "float32":
            raise ConfigError(
                "KerasModel.keras_optimizer must build an optimizer whose state is float32, got "
                f"{variable.path} of {variable.dtype}"
            )
    return [(f"optimizer:{i}", variable) for i, variable in enumerate(found)]


@lru_cache(maxsize=8)
def describe_optimizer(make: Any, maker: Any, seed: int, backend: Any) -> tuple[Any, Any]:
    """Returns (learning rate, ((name, shape), ...) of the state) for a model from `maker`."""
    optimizer, rate = build_optimizer(make, build_model(maker, seed, backend))
    return rate, tuple((name, tuple(v.shape)) for name, v in state_of(optimizer))
