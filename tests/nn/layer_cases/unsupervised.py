"""Layers that can be pretrained without labels, in inference."""

from sparkdl.nn import layers
from tests.nn.jax_activations import THEIRS as ACTIVATED
from tests.nn.layer_cases.core import dense

LAYERS = [
    (layers.AutoEncoder(units=3, activation="sigmoid"), (4,)),
    (layers.AutoEncoder(units=2, bias=False, corruption=0.5, loss="mse"), (5,)),
    (layers.VariationalAutoencoder(units=2, encoder=(4, 3), decoder=(5,), activation="tanh"), (6,)),
    (
        layers.VariationalAutoencoder(
            units=2, encoder=(3,), bias=False, latent_activation="tanh", distribution="gaussian"
        ),
        (4,),
    ),
    (layers.Reconstruction(layer=layers.AutoEncoder(units=3, activation="sigmoid")), (4,)),
]


def mean_of(layer, params, x, buffers, training):
    def part(name, x):
        return x @ params[f"{name}_W"] + params.get(f"{name}_b", 0)

    for i in range(len(layer.encoder)):
        x = dense(
            layer,
            {"W": params[f"encoder_{i}_W"], "b": params.get(f"encoder_{i}_b", 0)},
            x,
            {},
            True,
        )
    function = layer.latent_activation
    return ACTIVATED[function.type_name](function, part("mean", x))


THEIRS = {
    "AutoEncoder": dense,
    "VariationalAutoencoder": mean_of,
    "Reconstruction": lambda layer, *rest: dense(layer.layer, *rest),
}
