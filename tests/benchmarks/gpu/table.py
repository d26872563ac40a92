"""Output of `bench gpu`: failed checks, then a row per workload with its bars."""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.gpu.correctness import checks, told
from tests.benchmarks.gpu.crowd import findings
from tests.benchmarks.gpu.sides import MODES, OURS, environment, measured
from tests.benchmarks.gpu.workloads import WORKLOADS

ROUNDS, BURST, MINUTES = 5, 0.3, 9.5
CORRECTNESS, SHARE = "correctness", 0.4  # its share of the time
PROPERTIES = (
    "import cudnn, json; p = cudnn.create_device_properties(0).serialize(); "
    "print(json.dumps(json.loads(p)))"
)


def main(arguments=None):
    options = parser().parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    report = {"device": device(), "findings": [], "rows": []}
    print(report["device"], flush=True)
    report |= {"cudnn": asked("-c", PROPERTIES), "nccl": asked("-m", "tests.benchmarks.gpu.nccl")}
    print(exchange(report["nccl"]), flush=True)
    for name in options.only or [CORRECTNESS, *WORKLOADS]:
        if name == CORRECTNESS:
            check(report, end - (1 - SHARE) * 60 * options.minutes)
        else:
            measure(report, name, options, end)
        save(report, options.json)


def check(report, until):
    """Adds the findings of all checks, and prints failures."""
    for finding in findings(checks(), until):
        report["findings"].append(asdict(finding) | {"good": finding.good})
        if not finding.good:
            print(finding, flush=True)
    print(summary(report["findings"]), flush=True)


def measure(report, name, options, until):
    """Adds a workload's row and prints it; an error becomes a row too."""
    try:
        row = measured(name, options.modes, options.rounds, options.burst, until)
        figures = {"bars": row.bars(), "shares": row.shares()}
        print(line(row), flush=True)
    except Exception as error:
        report["rows"].append({"workload": name, "failed": {"all": f"{error!r}"}})
        print(f"{WORKLOADS[name].title:50}  failed: {error!r}"[:160], flush=True)
        return
    report["rows"].append(asdict(row) | figures)


def device():
    """Returns a description of the GPU, or its error.

    Raises
    ------
    SystemExit, if there is none.
    """
    from sparkdl.engine import backends
    from sparkdl.errors import UnsupportedError

    try:
        return described(backends.get("cuda"))
    except UnsupportedError as error:
        raise SystemExit(f"bench gpu needs a GPU: {error}") from None
    except Exception as error:
        return f"an unknown device: {told(error)}"


def described(backend):
    found = backend.device.driver.properties
    sm = "".join(map(str, found.capability))
    first = f"{found.name}, sm_{sm}, {found.processors} processors, {found.memory / 1e9:.0f} GB"
    return "\n".join(filter(None, [first, backend.note]))


def asked(*words):
    """Returns another process's JSON output, or {"failed": reason}."""
    try:
        done = subprocess.run(
            [sys.executable, *words], env=environment(), capture_output=True, text=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        return {"failed": "no word within 60 s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout)


def exchange(found):
    """Returns the line on NCCL: what one GPU can show."""
    if "seconds" not in found:
        return found.get("absent") or f"NCCL: {found['failed']}"
    right = "" if found["same"] else ", WRONG numbers"
    size, time = found["bytes"] / 1e6, found["seconds"] * 1e6
    return f"NCCL {found['nccl']}: a sum of {size:.0f} MB over one GPU in {time:.0f} us{right}"


def summary(found):
    good, same = (sum(one[name] for one in found) for name in ("good", "same"))
    return f"{good} of {len(found)} agree with the reference; {same} give the same bits as a graph"


def line(row):
    """Returns a workload's line: our time, the bars, other figures; then failed sides."""
    own = row.ours()
    cells = [f"{WORKLOADS[row.workload].title:50}", "-" if own is None else f"{own * 1e3:.2f} ms"]
    cells += [bar(*one) for one in row.bars()]
    told = {what for what, _, _ in row.bars()}
    cells += [f"{figure:,.2f} {what}" for what, figure in row.shares().items() if what not in told]
    for side in (OURS, row.best()):
        if row.facts.get(side, {}).get("memory"):
            cells.append(f"{side} {row.facts[side]['memory'] / 1e9:.1f} GB")
    failed = [f"  {name} failed: {why}"[:160] for name, why in row.failed.items()]
    return "\n".join(["  ".join(cells), *failed])


def bar(what, figure, least):
    if figure is None:
        return f"- {what} (bar {least:,g})"
    return f"{figure:,.2f} {what} ({'MISSED ' * (figure < least)}bar {least:,g})"


def save(report, path):
    """Writes all figures so far, if a file is given."""
    if path is not None:
        path.write_text(json.dumps(report, indent=1))


def parser():
    options = argparse.ArgumentParser(prog="bench gpu", description=__doc__)
    some = {"nargs": "+", "metavar": "NAME"}
    names = [CORRECTNESS, *WORKLOADS]
    options.add_argument("--only", choices=names, **some, help=f"some of {', '.join(names)}")
    options.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each ({ROUNDS})")
    options.add_argument("--burst", type=float, default=BURST, help=f"seconds of a turn ({BURST})")
    which = f"of torch: some of {', '.join(MODES)}"
    options.add_argument("--modes", choices=MODES, default=MODES, **some, help=which)
    time_limit = f"what has not begun by then is left out ({MINUTES})"
    options.add_argument("--minutes", type=float, default=MINUTES, help=time_limit)
    options.add_argument("--json", type=Path, metavar="PATH", help="write all figures there")
    return options
