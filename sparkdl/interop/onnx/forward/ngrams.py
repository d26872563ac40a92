"""TfIdfVectorizer: counts of n-grams."""

import numpy as np

from sparkdl.errors import UnsupportedError


def tf_idf(
    x,
    *,
    max_gram_length,
    max_skip_count,
    min_gram_length,
    mode,
    ngram_counts,
    ngram_indexes,
    pool_int64s=None,
    pool_strings=None,
    weights=None,
):
    """Returns the weighted counts of each n-gram of the pool in rows (T,) or (N, T)."""
    if pool_int64s is None:
        raise UnsupportedError("a pool of strings is not supported")
    table = numbered(pool_int64s, ngram_counts)
    y = np.zeros((len(np.atleast_2d(x)), max(ngram_indexes) + 1), np.float32)
    lengths = range(min_gram_length, max_gram_length + 1)
    for row, to in zip(np.atleast_2d(x).tolist(), y, strict=True):
        for gram in grams(row, lengths, max_skip_count):
            if gram in table:
                to[ngram_indexes[table[gram]]] += 1
    scale = np.ones(y.shape[1], np.float32)
    if weights is not None:
        scale[ngram_indexes] = weights
    y = {"TF": y, "IDF": (y > 0) * scale, "TFIDF": y * scale}[mode]
    return y[0] if x.ndim == 1 else y


def numbered(pool, starts):
    """Returns {n-gram: index}; n-grams of length n begin at the n-th start."""
    found = []
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        found += [tuple(pool[at : at + n]) for at in range(start, end, n)]
    return {gram: number for number, gram in enumerate(found)}


def grams(row, lengths, most):
    """Yields the n-grams of a row, with up to `most` skipped numbers between two neighbors."""
    for n in lengths:
        for apart in range(1, (most if n > 1 else 0) + 2):
            for start in range(len(row) - (n - 1) * apart):
                yield tuple(row[start : start + (n - 1) * apart + 1 : apart])


NGRAMS = {"TfIdfVectorizer": tf_idf}
