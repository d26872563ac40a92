"""Tables that pages and notebooks share: phases of a fit, the confusion matrix, wrong examples."""

from sparkdl.data.batches.batch import POSITION_BITS, position
from sparkdl.html_elements import element, table
from sparkdl.training.evaluation.classification_report import CONFUSION, worst_confusions
from sparkdl.training.reporting.phases import phase_rows

MOST_CELLS = 30  # classes of a confusion matrix that is shown
PICTURE = "display:block;width:4rem;image-rendering:pixelated"
EXAMPLE = "example", "true", "predicted", "loss"


def phase_table(history, caption):
    """Returns where the time of a fit went."""
    rows = [
        [name, took, f"{100 * share:.1f} %"] for name, took, share in phase_rows(history.phases)
    ]
    return table(["phase", "seconds", "share"], rows, caption)


def confusion_table(evaluation):
    """Returns the confusion matrix, if there is one; of many classes the worst confusions.

    Its cells are the darker the larger their share of a row.
    """
    classes = getattr(evaluation, "classes", 0)
    if not classes:
        return None
    if classes > MOST_CELLS:
        return confusions_table(evaluation, classes)
    rows = [
        [name, *(shaded(f"{count:,}", count / max(1, sum(counts))) for count in counts)]
        for name, counts in zip(evaluation.labels, evaluation.confusion.tolist(), strict=True)
    ]
    return table(["true \\ predicted", *evaluation.labels], rows, "Confusion matrix")


def confusions_table(evaluation, classes):
    """Returns the pairs of classes that are mistaken most often."""
    caption = f"The worst confusions (the matrix of {classes:,} classes is too large to show)"
    rows = [(*names, int(count)) for *names, count in worst_confusions(evaluation)]
    return table(CONFUSION, rows, caption)


def shaded(text, share):
    """Returns the cell of a text; notebooks, which have no style sheet of ours, shade it too."""
    style = f"text-align:right;background:rgba(47,129,247,{0.6 * share:.2f})"
    return element("td", text, style=style)


def wrong_table(evaluation):
    """Returns the examples with the largest losses of an evaluation, None where none are known."""
    examples = getattr(evaluation, "wrong", ())
    rows = [[place_of(one.number), *cells_of_example(one)] for one in examples]
    return table(["record", *EXAMPLE], rows, "Most wrong examples") if rows else None


def wrong_table_of_sample(inspection):
    """Returns the examples of an Inspector's sample that the network is most wrong about."""
    rows = [[one.number, *cells_of_example(one)] for one in inspection.wrong]
    text = f"The most wrong of the {inspection.examples:,} examples of the sample"
    return table(["place in the sample", *EXAMPLE], rows, text)


def place_of(number):
    """Returns where a record is, from its id."""
    return f"{position(number):,} of partition {number >> POSITION_BITS:,}"


def cells_of_example(example):
    """Returns the cells of a WrongExample: its picture or its text first."""
    content = example.text
    if example.image:
        label = f"example {example.number}"
        content = element("td", element("img", src=example.image, alt=label, style=PICTURE))
    return content, example.truth, example.prediction, example.loss
