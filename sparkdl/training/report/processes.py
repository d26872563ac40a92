"""Tables of the work, traffic and memory of a fit's processes."""

import json

from sparkdl.html_elements import table
from sparkdl.nn.networks.summary import size
from sparkdl.training.report.tables import shaded

PROCESSES = "process", "examples", "reading", "compute", "averaging", "sent", "peak memory"
NOT_SENT = "nothing: workers share a machine's memory, or Spark takes sums to the driver"
MOST_SHOWN = 16  # most workers for which each link has a cell


def worker_table(history):
    """Returns a table of each process's work, bytes sent, and peak memory."""
    rows = [
        [f"worker {rank}", *one[:4], size(one.sent), size(one.memory) if one.memory else ""]
        for rank, one in enumerate(history.by_worker())
    ]
    if history.driver_memory:
        rows.append(["driver", *[""] * 5, size(history.driver_memory)])
    for process, memory in history.other_memory.items():
        rows.append([process, *[""] * 5, size(memory)])
    return table(PROCESSES, rows, "Processes; times in seconds")


def exchange_table(run):
    """Returns a table of the exchanged data and its encoding, or None if unknown."""
    history = run.history
    if history.master is None:
        return None
    codec = history.master.get("codec")
    sent = sum(report.bytes_sent for report in history.rounds)
    each = sent / max(1, len(history.rounds) * max(1, history.workers))
    between = f"{size(sent)}, {size(round(each))} of a worker in a round" if sent else NOT_SENT
    rows = [
        ["master", json.dumps(history.master)],
        ["codec", "none: numbers as they are" if codec is None else json.dumps(codec)],
        ["over the network, between workers", between],
    ]
    if run.conf is not None:
        layouts = run.conf.params_layout, run.conf.buffers_layout, run.conf.slots_layout
        state = [4 * layout.size for layout in layouts]
        words = "parameters {}, buffers {}, state of the optimizer {}"
        rows.append(["what there is to exchange", words.format(*map(size, state))])
    return table(["exchange", "what"], rows, "Exchange")


def link_table(history):
    """Returns a table of the bytes between each pair of workers, or of the busiest links if many.

    None if nothing was sent.
    """
    sent = history.sent_between
    most = max((count for row in sent for count in row), default=0)
    if not most:
        return None
    if len(sent) > MOST_SHOWN:
        links = ((count, a, b) for a, row in enumerate(sent) for b, count in enumerate(row))
        busiest = sorted(links, key=lambda link: -link[0])[:MOST_SHOWN]
        rows = [[f"worker {a}", f"worker {b}", size(count)] for count, a, b in busiest]
        return table(["from", "to", "sent"], rows, f"The {MOST_SHOWN} busiest links")
    rows = [
        [f"worker {rank}", *(shaded(size(count), count / most) for count in row)]
        for rank, row in enumerate(sent)
    ]
    return table(["from \\ to", *map(str, range(len(sent)))], rows, "Sent by link")
