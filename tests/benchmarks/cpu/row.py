"""A line of the table: our figure, the best peer's, and the bars."""

from dataclasses import dataclass, field

HEAD = ("workload", "threads", "ours", "best peer", "", "against best", "as run", "peak", "others")
WIDTHS = (32, 7, 20, 11, 26, 24, 24, 22, 6)


@dataclass(frozen=True, kw_only=True)
class Row:
    """The results of one workload.

    Parameters
    ----------
    found : dict
        Figures of each side, round by round.
    result : dict
        The summary by `compared`.
    failed : dict
        Reasons for missing sides.
    best, as_run, share, limit : float or None
        The bars: ratios, share of the peak, maximum of our figure.
    reached : float or None
        The share of the peak.
    others : float or None
        Cores that other programs used meanwhile.
    """

    title: str
    threads: int
    found: dict
    result: dict
    failed: dict = field(default_factory=dict)
    best: float | None = None
    as_run: float | None = None
    share: float | None = None
    limit: float | None = None
    reached: float | None = None
    others: float | None = None
    unit: str = "ms"
    scale: float = 1e3

    def __str__(self):
        mode, medians = self.result.get("best"), self.result["medians"]
        cells = (
            self.title,
            str(self.threads),
            self.ours(),
            self.figure(medians.get(mode)),
            mode or "",
            against(self.result.get("against_best"), self.best, "x"),
            against(self.result.get("against_as_run"), self.as_run, "x"),
            against(self.reached, self.share),
            against(self.others, None),
        )
        reasons = [f"  {name} failed: {reason}"[:160] for name, reason in self.failed.items()]
        return "\n".join([line(cells), *reasons])

    def ours(self):
        """Returns our figure, with its maximum."""
        value, text = self.result["ours"], self.figure(self.result["ours"])
        if self.limit is None or value is None:
            return text
        return f"{text} ({'MISSED ' * (value > self.limit)}bar {self.figure(self.limit)})"

    def figure(self, value):
        if value is None:
            return "-"
        return f"{value * self.scale:.{0 if self.unit == 'MB' else 2}f} {self.unit}"


def against(value, bar, sign=""):
    """Returns text such as "1.31x (bar 1.25x)", marked if the bar is missed."""
    if value is None:
        return "-"
    text = f"{value:.2f}{sign}"
    return text if bar is None else f"{text} ({'MISSED ' * (value < bar)}bar {bar:g}{sign})"


def line(cells):
    return " ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
