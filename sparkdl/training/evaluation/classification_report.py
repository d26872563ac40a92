"""Text report of a Classification: figures, a table of classes, the confusion matrix."""

import numpy as np

from sparkdl.training.reporting.text_table import align

SHOWN = 20
"""If there are more classes than this, only the worst ones are shown."""

CONFUSION = ["truth", "prediction", "examples"]


def report(evaluation):
    """Returns the report of a Classification as text."""
    if evaluation.examples == 0:
        return "no examples"
    parts = [_figures(evaluation), _class_table(evaluation), _confusion(evaluation)]
    return "\n\n".join(parts)


def _figures(evaluation):
    rows = [["examples", str(evaluation.examples)]]
    rows += [[name, f"{value:.4f}"] for name, value in evaluation.figures().items()]
    rows += evaluation.auc_rows()
    return align(rows, left=1)


def _class_table(evaluation):
    rates, auc = evaluation.by_class, evaluation.scores.auc()
    examples = rates.occurring
    worst = np.sort(np.argsort(rates.f1, kind="stable")[:SHOWN])
    columns = (rates.precision, rates.recall, rates.f1, auc)
    rows = [
        [evaluation.labels[c], *(f"{x[c]:.4f}" for x in columns), rounded(examples[c])]
        for c in worst
    ]
    table = align([["class", "precision", "recall", "f1", "auc", "examples"], *rows], left=1)
    return table if evaluation.classes <= SHOWN else f"{table}\n(the {SHOWN} of lowest f1)"


def _confusion(evaluation):
    if evaluation.classes > SHOWN:
        return _worst_confusions(evaluation)
    counts = evaluation.confusion.tolist()
    rows = [[name, *map(rounded, row)] for name, row in zip(evaluation.labels, counts, strict=True)]
    return "rows: truth, columns: prediction\n" + align([["", *evaluation.labels], *rows], left=1)


def _worst_confusions(evaluation):
    rows = ([*names, str(count)] for *names, count in worst_confusions(evaluation))
    return align([CONFUSION, *rows], left=2)


def worst_confusions(evaluation):
    """Returns (truth, prediction, examples or sum of their weights) of the most frequent
    confusions.
    """
    names, pairs = evaluation.labels, zip(*evaluation.pairs.mistakes(SHOWN), strict=True)
    return [(names[t], names[p], round(count.item(), 3)) for t, p, count in pairs]


def rounded(count):
    """Returns a count, or a sum of weights to three decimals, as text."""
    return str(round(count, 3))
