"""Encoding of texts as token ids, in a task."""

import os
from functools import lru_cache

import pandas as pd

from sparkdl.spark.text.token_kinds import load_tokenizers

PADS = ("[PAD]", "<pad>")
PARTS = {"ids": "ids", "mask": "attention_mask", "segments": "type_ids"}  # names in tokenizers


def load_tokenizer(content):
    """Returns the tokenizers.Tokenizer of a JSON text, without padding and truncation."""
    tokenizer = load_tokenizers().Tokenizer.from_str(content)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@lru_cache(maxsize=4)
def load_encoder(content, steps, pad):
    """Returns the tokenizer with truncation and padding as asked, cached per process."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tasks have one core each
    tokenizer = load_tokenizer(content)
    if steps is not None:
        tokenizer.enable_truncation(steps)
    if pad:
        token, number = padding_of(tokenizer)
        tokenizer.enable_padding(length=steps, pad_id=number, pad_token=token)
    return tokenizer


def padding_of(tokenizer):
    """Returns (token, id) of padding; id 0 if the tokenizer has no padding token."""
    known = [(token, tokenizer.token_to_id(token)) for token in PADS]
    return next(((t, number) for t, number in known if number is not None), (PADS[0], 0))


def encode_columns(columns, parts, content, steps, pad):
    """Returns a table of some of PARTS of texts, or of pairs of them.

    Parameters
    ----------
    columns : one or two pandas.Series of str
        Rows with a null give nulls.
    """
    tokenizer, table = load_encoder(content, steps, pad), pd.concat(columns, axis=1)
    here = table.notna().all(axis=1).to_numpy()
    texts = [row[0] if len(row) == 1 else row for row in table[here].itertuples(False, None)]
    found = iter(tokenizer.encode_batch(texts))
    encoded = [next(found) if there else None for there in here]
    return pd.DataFrame(
        {n: [e if e is None else getattr(e, PARTS[n]) for e in encoded] for n in parts}
    )
