"""Views of a History: pandas DataFrames, and matplotlib plots."""

from sparkdl.errors import ConfigError, brief, needs_package

TABLES = ("epochs", "rounds", "validations")
DEFAULT = ("loss", "validation loss")  # figures plotted by default


def to_pandas(history, of):
    """Returns a pandas DataFrame with a row for each report; see History.to_pandas."""
    if of not in TABLES:
        raise ConfigError(f"of must be one of {list(TABLES)}, got {brief(of)}")
    import pandas  # executors don't need it

    return pandas.DataFrame([row(report.to_dict()) for report in getattr(history, of)])


def row(report):
    """Returns a report's numbers by name: "validation loss", "seconds of reading"."""
    figures, seconds = report.pop("validation", None) or {}, report.pop("seconds", {})
    for name in ("devices", "by_worker"):
        report.pop(name, None)
    report |= {f"validation {name}": value for name, value in figures.items()}
    return report | {f"seconds of {part}": value for part, value in seconds.items()}


def plot(history, figures, axes):
    """Draws figures by epoch, or the loss by round; see History.plot."""
    cure = "pip install matplotlib, or draw history.to_pandas() otherwise"
    with needs_package("History.plot", "matplotlib", cure):
        from matplotlib import pyplot
    rows = [row(report.to_dict()) for report in history.epochs or history.rounds]
    known = list(dict.fromkeys(name for one in rows for name in one))
    for name in figures or ():
        if name not in known:
            raise ConfigError(f"figures must be some of {known}, got {brief(name)}")
    axes = pyplot.figure().add_subplot() if axes is None else axes
    places = [one["epoch"] + 1 if history.epochs else n for n, one in enumerate(rows, 1)]
    for name in figures or [name for name in DEFAULT if name in known]:
        axes.plot(places, [one.get(name) for one in rows], label=name)
    axes.set_xlabel("epoch" if history.epochs else "round")
    axes.legend()
    return axes
