"""A new Keras model and its variables: trained, untrained, and seeds."""

from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.keras.live.random_state import seeded


def build_model(maker: Any, seed: int, backend: str | None = None) -> Any:
    """Builds a new model whose initial values follow from `seed`.

    The user's random state is preserved.

    Raises
    ------
    ConfigError
        If it is not a built Model, has variables that cannot be trained here, or adds losses.
    """
    keras = load_keras(backend)
    with seeded(seed), keras.device("cpu"):
        model = maker()
    if not isinstance(model, keras.Model) or not model.built:
        raise ConfigError(
            f"KerasModel.make must return a keras.Model whose shapes are known, got {brief(model)} "
            f"from {maker}; begin it with keras.Input"
        )
    for variable in (*model.trainable_variables, *model.non_trainable_variables):
        if variable.dtype != "float32" and not is_seed(variable):
            raise ConfigError(
                f"KerasModel.make must give variables of float32, got {variable.path} of "
                f"{variable.dtype}"
            )
    refuse_losses(model.losses)
    return model


def refuse_losses(losses: Any) -> None:
    """Raises ConfigError if layers add losses, which the engine would not compute."""
    if losses:
        raise ConfigError(
            f"KerasModel.make must give a model whose layers add no losses, got {len(losses)} of "
            "regularizers or add_loss; KerasModel.l2 and l1 penalize weights"
        )


def is_seed(variable: Any) -> bool:
    """Returns whether a variable is the state of a random generator."""
    return "int" in variable.dtype and variable.name == "seed_generator_state"


def trained(model: Any) -> list[tuple[str, Any]]:
    """Returns [(name, variable)] of trained variables.

    Names are numbered, as Keras's generated names differ between builds.
    """
    return [(f"{i}_{v.name}", v) for i, v in enumerate(model.trainable_variables)]


def kept(model: Any) -> list[tuple[str, Any]]:
    """Returns [(name, variable)] of untrained variables: running means, frozen weights."""
    found = [v for v in model.non_trainable_variables if not is_seed(v)]
    return [(f"kept_{i}_{v.name}", v) for i, v in enumerate(found)]


def to_numpy(variable: Any) -> np.ndarray:
    """Returns a copy of a variable's value."""
    import keras

    return np.array(keras.ops.convert_to_numpy(variable.value))


def first_values(maker: Any, seed: int, backend: str | None) -> dict[str, np.ndarray]:
    """Returns {name: initial value} of a new model's variables."""
    model = build_model(maker, seed, backend)
    return {n: to_numpy(v) for n, v in (*trained(model), *kept(model))}
