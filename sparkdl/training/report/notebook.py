"""HTML tables of histories and evaluations for notebooks, shown by Jupyter's _repr_html_."""

from sparkdl.html_elements import element, table, text_of
from sparkdl.training.report.curves import numbers
from sparkdl.training.report.tables import confusion_table, phase_table, wrong_table
from sparkdl.training.reporting.reports import format_skipped

EPOCHS = "epoch", "loss", "score", "examples", "examples/s", "seconds"


def history_html(history):
    """Returns tables of the epochs and the time spent, with a History's other messages."""
    epochs = [
        [n.epoch + 1, n.loss, n.score, n.examples, n.examples_per_second, n.duration]
        for n in history.epochs
    ]
    notes = [format_skipped(history.skipped), *map(str, history.restarts)]
    notes += [history.aggregation, history.end_reason]
    return text_of(
        element(
            "div",
            table(EPOCHS, epochs, "Epochs") if epochs else None,
            validation_table(history.validations) if history.validations else None,
            phase_table(history, "Where the time went") if history.wall else None,
            element("p", history.advice()) if history.advice() else None,
            [element("p", note) for note in notes if note],
            None if history.rounds else element("p", "no rounds"),
        )
    )


def validation_table(reports):
    """Returns a table of the figures of evaluations by updates."""
    figures = [numbers(report.validation) for report in reports]
    names = list(dict.fromkeys(name for one in figures for name in one))
    rows = [
        [report.iteration, *map(one.get, names)]
        for report, one in zip(reports, figures, strict=True)
    ]
    return table(["update", *names], rows, "Evaluations by updates")


def evaluation_html(evaluation):
    """Returns tables of the figures, the confusion matrix and the most wrong examples."""
    figures = [list(figure) for figure in evaluation.figures().items()]
    caption = f"{evaluation.examples:,} examples"
    more = confusion_table(evaluation), wrong_table(evaluation)
    return text_of(element("div", table(["figure", "value"], figures, caption), *more))
