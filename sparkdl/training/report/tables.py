"""Tables that pages and notebooks share: phases of a fit, the confusion matrix."""

from sparkdl.html_elements import element, table
from sparkdl.training.reporting.phases import phase_rows

MOST_CELLS = 30  # classes of a confusion matrix that is shown


def phase_table(history, caption):
    """Returns where the time of a fit went."""
    rows = [
        [name, took, f"{100 * share:.1f} %"] for name, took, share in phase_rows(history.phases)
    ]
    return table(["phase", "seconds", "share"], rows, caption)


def confusion_table(evaluation):
    """Returns the confusion matrix, if there is one that is not too large.

    Its cells are the darker the larger their share of a row.
    """
    if not 0 < len(getattr(evaluation, "confusion", ())) <= MOST_CELLS:
        return None
    rows = [
        [name, *(shaded(f"{count:,}", count / max(1, sum(counts))) for count in counts)]
        for name, counts in zip(evaluation.labels, evaluation.confusion.tolist(), strict=True)
    ]
    return table(["true \\ predicted", *evaluation.labels], rows, "Confusion matrix")


def shaded(text, share):
    """Returns the cell of a text; notebooks, which have no style sheet of ours, shade it too."""
    style = f"text-align:right;background:rgba(47,129,247,{0.6 * share:.2f})"
    return element("td", text, style=style)
