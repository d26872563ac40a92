"""Tables shared by pages and notebooks: phases of a fit, the confusion matrix, wrong examples."""

from sparkdl.data.batches.batch import POSITION_BITS, position
from sparkdl.html_elements import element, table
from sparkdl.training.evaluation.classification_report import CONFUSION, worst_confusions
from sparkdl.training.reporting.phases import phase_rows

MOST_CELLS = 30  # most classes of a confusion matrix shown in full
PICTURE = "display:block;width:4rem;image-rendering:pixelated"
EXAMPLE = "example", "true", "predicted", "loss"


def phase_table(history, caption):
    """Returns a table of the time spent in each phase of a fit."""
    rows = [
        [name, took, f"{100 * share:.1f} %"] for name, took, share in phase_rows(history.phases)
    ]
    return table(["phase", "seconds", "share"], rows, caption)


def confusion_table(evaluation):
    """Returns the confusion matrix, if there is one, or the worst confusions of many classes.

    Cells are darker the larger their share of the row.
    """
    classes = getattr(evaluation, "classes", 0)
    if not classes:
        return None
    if classes > MOST_CELLS:
        return confusions_table(evaluation, classes)
    rows = [
        [name, *(shaded(f"{round(count, 3):,}", count / (sum(counts) or 1)) for count in counts)]
        for name, counts in zip(evaluation.labels, evaluation.confusion.tolist(), strict=True)
    ]
    return table(["true \\ predicted", *evaluation.labels], rows, "Confusion matrix")


def confusions_table(evaluation, classes):
    """Returns a table of the most frequent confusions."""
    caption = f"The worst confusions (the matrix of {classes:,} classes is too large to show)"
    return table(CONFUSION, worst_confusions(evaluation), caption)


def shaded(text, share):
    """Returns a shaded table cell; the style is inline, for notebooks without our style sheet."""
    style = f"text-align:right;background:rgba(47,129,247,{0.6 * share:.2f})"
    return element("td", text, style=style)


def wrong_table(evaluation):
    """Returns a table of an evaluation's examples with the largest losses, or None if none."""
    examples = getattr(evaluation, "wrong", ())
    rows = [[place_of(one.number), *cells_of_example(one)] for one in examples]
    return table(["record", *EXAMPLE], rows, "Most wrong examples") if rows else None


def wrong_table_of_sample(inspection):
    """Returns a table of the most wrong examples of an Inspector's sample."""
    rows = [[one.number, *cells_of_example(one)] for one in inspection.wrong]
    text = f"The most wrong of the {inspection.examples:,} examples of the sample"
    return table(["place in the sample", *EXAMPLE], rows, text)


def place_of(number):
    """Describes the position of a record, from its id."""
    return f"{position(number):,} of partition {number >> POSITION_BITS:,}"


def cells_of_example(example):
    """Returns the cells of a WrongExample, starting with its picture or text."""
    content = example.text
    if example.image:
        label = f"example {example.number}"
        content = element("td", element("img", src=example.image, alt=label, style=PICTURE))
    return content, example.truth, example.prediction, example.loss
