"""The page of one or several fits: a single self-contained HTML file with charts."""

import json
from importlib import resources
from math import prod
from pathlib import Path

from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError
from sparkdl.html_elements import element, table, text_of
from sparkdl.nn.networks.picture import network_picture
from sparkdl.own_folders import replaced_file
from sparkdl.training.report.advice import advise
from sparkdl.training.report.curves import evaluation_curves, round_curves, score_of
from sparkdl.training.report.environment import environment_rows
from sparkdl.training.report.inspection_sections import (
    ABSENT,
    MORE,
    cost_table,
    figures_table,
    layer_curves,
)
from sparkdl.training.report.processes import exchange_table, link_table, worker_table
from sparkdl.training.report.quality import calibration, roc_curves
from sparkdl.training.report.tables import (
    confusion_table,
    phase_table,
    wrong_table,
    wrong_table_of_sample,
)
from sparkdl.training.report.timeline import timeline
from sparkdl.training.report.waits import waits
from sparkdl.training.report.weights import MOST, weights_of

WAITS = "worker", "rounds in which it was the slowest", "others waited, s", "while it was"
VALUES = "how often each value occurs, by array"
RATIO = "log10 of mean |update| / mean |parameter|; about -3 is usual"
DEAD = "share of a rectifier's units that are 0 for the whole sample"


def write_report(path, runs, title="Fit", refresh=None):
    """Writes the page of some Runs atomically.

    With `refresh` a browser reloads it after that many seconds.

    Raises
    ------
    ConfigError
        If there is no run, or two have the same name.
    DataError
        If the file cannot be written.
    """
    names = [run.name for run in runs]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"runs must be at least one, each with a name of its own, got {names}")
    check_report_path(path)
    text, target = page(runs, title, refresh), Path(files.absolute(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_report_path(path):
    """Raises DataError for a path on another file system, of no plain file, or below a file."""
    if not files.is_local(path):
        raise DataError(f"{path}: a report must have a local path")
    files.check_file(path)


def page(runs, title="Fit", refresh=None, live=False):
    """Returns the HTML of a page; a live one follows the events of its server."""
    seconds = f"{max(1, refresh or 0):.0f}"  # with 0 a browser would reload endlessly
    again = element("meta", http_equiv="refresh", content=seconds) if refresh else None
    data = page_data(runs)
    sections = [comparison(runs)]
    for run, shown in zip(runs, data["runs"], strict=True):
        sections += run_sections(run, shown)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        again,
        element("title", title),
        element("style", asset("page.css")),
    )
    body = element(
        "body",
        element("a", "Skip to the charts", href="#main", class_="skip"),
        element("header", element("h1", title), facts_line(runs)),
        element("main", sections, id="main"),
        element("script", as_json(data), id="data", type="application/json"),
        element("script", asset("charts.js")),
        element("script", asset("live.js")) if live else None,
    )
    return "<!doctype html>\n" + text_of(element("html", head, body, lang="en"))


def page_data(runs):
    """Returns the data of the charts, for JSON."""
    return {
        "runs": [
            {
                "name": run.name,
                "rounds": round_curves(run),
                "evaluations": evaluation_curves(run),
                "timeline": timeline(run.history),
                "roc": roc_curves(run.evaluation),
                "weights": weights_of(run),
                "layers": layer_curves(run.history.inspection),
                "gradients": histograms_of(run.history.inspection, "gradients"),
                "updates": histograms_of(run.history.inspection, "updates"),
            }
            for run in runs
        ]
    }


def histograms_of(inspection, name):
    return [] if inspection is None else getattr(inspection, name)


def as_json(data):
    """Returns JSON for a script element, escaped so that no text in it ends the element.

    Its texts are otherwise as on the rest of the page, since charts are found by them.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def asset(name):
    folder = resources.files("sparkdl.training.report") / "assets"
    return folder.joinpath(name).read_text(encoding="utf-8")


def facts_line(runs):
    """Returns a sentence on the contents of the page."""
    rounds = sum(len(run.history.rounds) for run in runs)
    seconds = sum(run.history.wall for run in runs)
    fits = "1 fit" if len(runs) == 1 else f"{len(runs)} fits"
    return element("p", f"{fits}, {rounds:,} rounds, {seconds:,.1f} s", class_="facts")


def comparison(runs):
    """Returns the charts that all runs share, and a table of their final figures."""
    charts = [
        chart("loss", "Loss", "of training by round, and of evaluations"),
        chart("figures", "Figures of evaluations", "accuracy and others"),
        chart("throughput", "Throughput", "examples in a second, by round"),
    ]
    if any(run.conf is not None for run in runs):
        charts.append(chart("rate", "Learning rate", "of the last update of each round"))
    rows = [last_row(run) for run in runs]
    head = ["fit", "epochs", "rounds", "last loss", "last score", "seconds", "ended by"]
    grid = element("div", charts, class_="charts")
    return element("section", element("h2", "Course"), grid, table(head, rows, "Fits"))


def last_row(run):
    history, evaluation = run.history, run.evaluation
    loss = history.rounds[-1].loss if history.rounds else None
    score = None if evaluation is None else score_of(evaluation)
    counts = len(history.epochs), len(history.rounds)
    return [run.name, *counts, loss, score, history.wall, run.ending]


def run_sections(run, shown):
    """Yields the sections of one run; `shown` is the data of its charts."""
    yield time_section(run)
    if run.evaluation is not None:
        yield evaluation_section(run, shown)
    if run.history.inspection is not None and run.history.inspection.wrong:
        yield section(run, "Most wrong examples", wrong_table_of_sample(run.history.inspection))
    if run.conf is not None:
        yield network_section(run)
        yield layers_section(run, shown)
    yield environment_section(run)


def time_section(run):
    history = run.history
    about = "what the driver and each worker did; lines are restarts"
    restarts = [[n, str(restart)] for n, restart in enumerate(history.restarts, 1)]
    return section(
        run,
        "Time",
        [element("p", text) for text in advise(history, run.conf)],
        chart("timeline", "Timeline", about, run.name),
        phase_table(history, "Where the time of the fit went"),
        worker_table(history),
        table(WAITS, waits(history), "Who was waited for") if waits(history) else None,
        exchange_table(run),
        link_table(history),
        table(["restart", "what happened"], restarts, "Restarts") if restarts else None,
        element("p", history.aggregation) if history.aggregation else None,
    )


def evaluation_section(run, shown):
    evaluation, bars = run.evaluation, calibration(run.evaluation)
    head = ["mean score", "share of positives", "examples"]
    return section(
        run,
        "Last evaluation",
        confusion_table(evaluation),
        chart("roc", "ROC", "true by false positive rate", run.name) if shown["roc"] else None,
        table(head, [[f"{bar[0]:.3f}", *bar[1:]] for bar in bars], "Calibration") if bars else None,
        wrong_table(evaluation),
        element("details", element("summary", "As text"), element("pre", str(evaluation))),
    )


def network_section(run):
    conf, inspection = run.conf, run.history.inspection
    rows = [layer_row(place) for place in conf.stack]
    head = ["layer", "type", "reads", "output shape", "parameters"]
    return section(
        run,
        "Network",
        network_picture(conf, [] if inspection is None else inspection.costs),
        table(head, rows, f"{conf.parameter_count:,} parameters"),
        cost_table(inspection),
        element("details", element("summary", "Configuration"), element("pre", conf.to_json())),
    )


def layers_section(run, shown):
    """Returns histograms of the parameters and an Inspector's results, or how to get them."""
    inspection, curves = run.history.inspection, shown["layers"]
    histograms = ("weights", "Parameters"), ("gradients", "Gradients"), ("updates", "Updates")
    many = len(run.conf.params_layout.entries) > MOST
    return section(
        run,
        "Layers",
        element("p", ABSENT) if inspection is None else None,
        element("p", MORE) if many else None,
        element("div", layer_charts(run, curves), class_="charts"),
        figures_table(inspection),
        [chart(kind, name, VALUES, run.name) for kind, name in histograms if shown[kind]],
    )


def layer_charts(run, curves):
    """Returns the charts of an Inspector's curves, if there are any."""
    ratios = chart("ratios", "Updates to parameters", RATIO, run.name)
    dead = chart("dead", "Dead units", DEAD, run.name)
    return [ratios] * bool(curves) + [dead] * bool(curves.get("dead"))


def layer_row(place):
    reads, parameters = ", ".join(place.sources), sum(map(prod, place.param_shapes.values()))
    return [place.name, place.layer.type_name, reads, str(place.out_shape), parameters]


def environment_section(run):
    rows = [
        *(run.environment or environment_rows()),
        *(("computed on", where) for where in run.history.devices),
    ]
    text = element("pre", str(run.history))
    whole = element("details", element("summary", "All of the fit as text"), text)
    return section(run, "Environment", table(["what", "value"], rows), whole)


def section(run, title, *children):
    return element("section", element("h2", f"{title}: {run.name}"), children)


def chart(kind, title, about, run=""):
    """Returns the placeholder of a chart, which the script draws."""
    name = f"{kind}-{run}".strip("-")
    heading = element("figcaption", element("strong", title), f", {about}")
    return element("figure", heading, class_="chart", data_kind=kind, data_run=run, id=name)
