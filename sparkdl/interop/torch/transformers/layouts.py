"""Layouts that map arrays of Hugging Face files to arrays of zoo networks.

A layout yields (ours, theirs, change): sparkdl's name, "layer/array"; the file's name, without the
prefix of the base model; and the function that converts the array, or None.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

SHORTENED = ("positions/W",)  # tables that may have more rows than a network has steps


@dataclass(frozen=True, kw_only=True)
class EncoderNames:
    """Names of the parts of an encoder family's blocks, and of its pooler.

    `attention` has the names of queries, keys, values and output.
    """

    blocks: str
    attention: tuple[str, str, str, str]
    attention_norm: str
    up: str
    down: str
    norm: str
    pooler: str

    def layout(self, depth):
        """Yields the arrays of an encoder with this many blocks."""
        yield from table("embedding", "embeddings.word_embeddings")
        yield from table("positions", "embeddings.position_embeddings")
        yield from table("segment_embedding", "embeddings.token_type_embeddings")
        yield from norm("norm", "embeddings.LayerNorm")
        for number in range(depth):
            own, theirs = f"block{number + 1}", f"{self.blocks}.{number}"
            for part, name in zip("qkvo", self.attention, strict=True):
                yield from dense(f"{own}/attention/1", f"{theirs}.attention.{name}", part)
            yield from norm(f"{own}/attention/norm", f"{theirs}.{self.attention_norm}")
            yield from dense(f"{own}/dense/1", f"{theirs}.{self.up}")
            yield from dense(f"{own}/dense/2", f"{theirs}.{self.down}")
            yield from norm(f"{own}/dense/norm", f"{theirs}.{self.norm}")
        yield from dense("pooler", self.pooler)
        yield from dense("output", "classifier")


BERT = EncoderNames(  # and MiniLM
    blocks="encoder.layer",
    attention=("self.query", "self.key", "self.value", "output.dense"),
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    norm="output.LayerNorm",
    pooler="pooler.dense",
)
DISTILBERT = EncoderNames(
    blocks="transformer.layer",
    attention=("q_lin", "k_lin", "v_lin", "out_lin"),
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    norm="output_layer_norm",
    pooler="pre_classifier",
)


def gpt2(depth):
    """Yields the arrays of GPT-2, whose weights are (inputs, outputs), as sparkdl's."""
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
    yield "output/W", "wte.weight", np.transpose  # if the head is tied to the table


def table(ours, theirs):
    yield f"{ours}/W", f"{theirs}.weight", None


def norm(ours, theirs):
    yield f"{ours}/gamma", f"{theirs}.weight", None
    yield f"{ours}/beta", f"{theirs}.bias", None


def dense(ours, theirs, part=""):
    """Yields the arrays of a Linear, whose weight is (outputs, inputs)."""
    yield f"{ours}/W{part}", f"{theirs}.weight", np.transpose
    yield f"{ours}/b{part}", f"{theirs}.bias", None


def product(ours, theirs, part=""):
    """Yields the arrays of a Conv1D, whose weight is (inputs, outputs)."""
    yield f"{ours}/W{part}", f"{theirs}.weight", None
    yield f"{ours}/b{part}", f"{theirs}.bias", None


def third_of(array, place):
    """Returns the queries, keys or values of an array that holds them side by side."""
    return np.split(array, 3, axis=-1)[place]


def change_array(ours, array, change, shape):
    """Returns an array converted to sparkdl's layout; None if its shape does not fit."""
    try:
        array = array if change is None else change(array)
    except (ValueError, IndexError):  # not divisible by 3, or no axes
        return None
    if ours in SHORTENED and array.ndim == len(shape):
        array = array[: shape[0]]
    return array if array.shape == shape else None
