"""Which arrays of a file of Hugging Face are those of a network of the zoo.

A layout gives [(ours, theirs, change)]: the name of an array of ours, "layer/array", that of theirs
without the prefix of the base model, and the function that makes the one of the other, or None.
"""

from functools import partial

import numpy as np

SHORTENED = ("positions/W",)  # tables that may hold more rows than a network has steps


def bert(depth):
    """BERT and MiniLM."""
    yield from table("embedding", "embeddings.word_embeddings")
    yield from table("positions", "embeddings.position_embeddings")
    yield from table("segment_embedding", "embeddings.token_type_embeddings")
    yield from norm("norm", "embeddings.LayerNorm")
    for number in range(depth):
        own, theirs = f"block{number + 1}", f"encoder.layer.{number}"
        parts = {"q": "self.query", "k": "self.key", "v": "self.value", "o": "output.dense"}
        for part, name in parts.items():
            yield from dense(f"{own}/attention/1", f"{theirs}.attention.{name}", part)
        yield from norm(f"{own}/attention/norm", f"{theirs}.attention.output.LayerNorm")
        yield from dense(f"{own}/dense/1", f"{theirs}.intermediate.dense")
        yield from dense(f"{own}/dense/2", f"{theirs}.output.dense")
        yield from norm(f"{own}/dense/norm", f"{theirs}.output.LayerNorm")
    yield from dense("pooler", "pooler.dense")
    yield from dense("output", "classifier")


def distilbert(depth):
    yield from table("embedding", "embeddings.word_embeddings")
    yield from table("positions", "embeddings.position_embeddings")
    yield from norm("norm", "embeddings.LayerNorm")
    for number in range(depth):
        own, theirs = f"block{number + 1}", f"transformer.layer.{number}"
        for part, name in {"q": "q_lin", "k": "k_lin", "v": "v_lin", "o": "out_lin"}.items():
            yield from dense(f"{own}/attention/1", f"{theirs}.attention.{name}", part)
        yield from norm(f"{own}/attention/norm", f"{theirs}.sa_layer_norm")
        yield from dense(f"{own}/dense/1", f"{theirs}.ffn.lin1")
        yield from dense(f"{own}/dense/2", f"{theirs}.ffn.lin2")
        yield from norm(f"{own}/dense/norm", f"{theirs}.output_layer_norm")
    yield from dense("pooler", "pre_classifier")
    yield from dense("output", "classifier")


def gpt2(depth):
    """GPT-2, whose weights stand as ours do: (inputs, outputs)."""
    yield from table("embedding", "wte")
    yield from table("positions", "wpe")
    for number in range(depth):
        own, theirs = f"block{number + 1}", f"h.{number}"
        yield from norm(f"{own}/attention/norm", f"{theirs}.ln_1")
        for place, part in enumerate("qkv"):
            third = partial(third_of, place=place)
            yield f"{own}/attention/1/W{part}", f"{theirs}.attn.c_attn.weight", third
            yield f"{own}/attention/1/b{part}", f"{theirs}.attn.c_attn.bias", third
        yield from product(f"{own}/attention/1", f"{theirs}.attn.c_proj", "o")
        yield from norm(f"{own}/dense/norm", f"{theirs}.ln_2")
        yield from product(f"{own}/dense/1", f"{theirs}.mlp.c_fc")
        yield from product(f"{own}/dense/2", f"{theirs}.mlp.c_proj")
    yield from norm("norm", "ln_f")
    yield "output/W", "score.weight", np.transpose  # of a classifier
    yield "output/W", "lm_head.weight", np.transpose
    yield "output/W", "wte.weight", np.transpose  # where the head is the table itself


def table(ours, theirs):
    yield f"{ours}/W", f"{theirs}.weight", None


def norm(ours, theirs):
    yield f"{ours}/gamma", f"{theirs}.weight", None
    yield f"{ours}/beta", f"{theirs}.bias", None


def dense(ours, theirs, part=""):
    """A Linear, whose weight is (outputs, inputs)."""
    yield f"{ours}/W{part}", f"{theirs}.weight", np.transpose
    yield f"{ours}/b{part}", f"{theirs}.bias", None


def product(ours, theirs, part=""):
    """A Conv1D, whose weight is (inputs, outputs)."""
    yield f"{ours}/W{part}", f"{theirs}.weight", None
    yield f"{ours}/b{part}", f"{theirs}.bias", None


def third_of(array, place):
    """Returns the queries, keys or values of an array that has them side by side."""
    return np.split(array, 3, axis=-1)[place]


def change_array(ours, array, change, shape):
    """Returns an array as ours, or None where it does not have what ours needs."""
    try:
        array = array if change is None else change(array)
    except (ValueError, IndexError):  # three parts of what has no third, or no axes
        return None
    if ours in SHORTENED and array.ndim == len(shape):
        array = array[: shape[0]]
    return array if array.shape == shape else None
