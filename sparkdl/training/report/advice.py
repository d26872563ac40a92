"""Advice on how to make a fit faster, with predictions by the cost model's rules."""

from sparkdl.nn.networks.summary import size
from sparkdl.training.report.waits import sentence

LARGE = 0.1  # minimum share of the time worth mentioning
MUCH = 1_000_000  # minimum bytes of a fit for which a codec is worth mentioning
INTERVALS = {  # the option for the interval between exchanges
    "ParameterAveraging": "averaging_frequency",
    "LocalSGD": "period",
    "ElasticAveraging": "tau",
    "BlockMomentum": "block_size_per_worker",
}


def advise(history, conf=None):
    """Returns sentences on the longest phase, slow workers, exchange, and the costliest layer."""
    found = [history.advice(), sentence(history), exchange_advice(history), layer_advice(history)]
    return [text for text in [*found, question(history, conf)] if text]


def exchange_advice(history):
    """Returns the effect of another interval or a codec on the time of exchanges."""
    seconds, share = exchange_time(history)
    if share < LARGE or history.master is None:
        return ""
    text = f"Exchanging took {seconds:.2f} s, {100 * share:.0f} % of the fit."
    option = INTERVALS.get(history.master["type"])
    if option is not None:
        text += (
            f" Twice the {option} would have half as many exchanges, each as long: "
            f"{seconds / 2:.2f} s less."
        )
    sent = sum(report.bytes_sent for report in history.rounds)
    if sent >= MUCH and history.master.get("codec") is None:
        text += (
            f" Of the {size(sent)} that workers sent, codec=Half() would send {size(sent / 2)}, "
            f"and OneBit() {size(sent / 32)}: where the wire takes the time, {seconds / 2:.2f} and "
            f"{31 * seconds / 32:.2f} s less, but for encoding."
        )
    return text


def exchange_time(history):
    """Returns the seconds of exchanges, and their share of the fit."""
    seconds = history.phases.get("averaging", 0.0)
    return seconds, seconds / history.wall if history.wall else 0.0


def layer_advice(history):
    """Returns the layer that takes the largest part of a step, if an Inspector has measured it."""
    costs = [] if history.inspection is None else history.inspection.costs
    if not costs:
        return ""
    total = sum(cost.forward + cost.backward for cost in costs)
    most = max(costs, key=lambda cost: cost.forward + cost.backward)
    share = (most.forward + most.backward) / (total or 1)
    return f"On the driver's processor {most.name} takes {100 * share:.0f} % of a step."


def question(history, conf):
    """Returns the command that asks the cost model about other masters, with this fit's figures."""
    if conf is None or history.workers < 2 or exchange_time(history)[1] < LARGE:
        return ""
    milliseconds = 1e3 * history.times()["compute"] / max(1, updates(history))
    return (
        f"What other masters and codecs would cost: sparkdl simulate --workers {history.workers} "
        f"--params {conf.parameter_count} --compute {milliseconds:.3g}ms, with the --bandwidth "
        "and --latency of your network."
    )


def updates(history):
    """Returns a replica's updates in all rounds; those of the first are estimated."""
    first, last = history.rounds[0].iteration, history.rounds[-1].iteration
    others = len(history.rounds) - 1
    return last if not others else round((last - first) * (others + 1) / others)
