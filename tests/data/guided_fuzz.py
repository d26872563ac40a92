"""Explores parsers with atheris, in processes whose modules of ours tell which branches they take.

Usage: python -m tests.data.guided_fuzz FOLDER SECONDS NAME ...; see `python -m tests.data.fuzz`
"""

import os
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.exchange.mutation import json_mutated

WATCHED = ["sparkdl", "google"]  # the second reads prototxt
KEPT = 3  # files of each kind of violation
STARTS = 5  # of a target that crashes
MEMORY, PATIENCE = 4096, 30  # MB, seconds
PROGRESS = re.compile(r"#(\d+)\s.*cov: (\d+) .*corp: (\d+)/")
SUMMARY = "%d cases, %d branches, %d files in the corpus, %d s of CPU time"


def explore_targets(seconds, folder, names):
    """Explores each target for the same time, at least a second, in processes apart.

    Yields (name, what was run, files that may be violations: a watched process is slower).
    """
    arguments = [str(folder), str(round(seconds / len(names))), *names]
    command = [sys.executable, "-m", __name__, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            name, told = line.rstrip("\n").split("\t")
            found = [file for file in place_of(folder, name).iterdir() if "-" in file.name]
            yield name, told, sorted(found)
    if process.returncode:
        raise RuntimeError(f"the process that explores ended with {process.returncode}")


def place_of(folder, name):
    """Returns the folder of a target's files; those of violations have a "-" in their names."""
    return Path(folder, name.replace(" ", "_"))


def main(folder, seconds, *names):
    import atheris

    with atheris.instrument_imports(include=WATCHED):
        from tests.data import fuzz

        for name in names:
            place, before, cases = place_of(folder, name), cpu_seconds(), 0
            place.joinpath("corpus").mkdir(parents=True, exist_ok=True)
            end = time.monotonic() + max(1, int(seconds))
            for _ in range(STARTS):
                if (left := round(end - time.monotonic())) > 0:
                    process = fuzz.FORK.Process(target=explore, args=(name, place, left))
                    process.start()
                    process.join()
                    count, *reached = progress(name, place / "log")
                    cases += count
            figures = cases, *reached, round(cpu_seconds() - before)
            print(f"{name}\t{SUMMARY % figures}", flush=True)


def progress(name, log):
    """Returns (cases, branches, files kept) at the end of a log."""
    text = log.read_text(errors="replace")
    if not (lines := PROGRESS.findall(text)):
        raise RuntimeError(f"{name} cannot be explored: {text[-2000:]}")
    return [int(number) for number in lines[-1]]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def explore(name, folder, seconds):
    """Explores a target in this process, which then ends."""
    import atheris

    from tests.data import fuzz
    from tests.data.fuzz_seeds import MESSAGES, SEEDS
    from tests.data.message_mutation import message_mutated

    fuzz.limit_process()
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    path, seen = folder / fuzz.TARGETS[name].name, Counter()
    good = [fuzz.good(name), *SEEDS.get(name, list)()]
    for i, content in enumerate(good):
        (folder / f"corpus/good{i}").write_bytes(content)

    def run(content):
        path.write_bytes(content)
        what = fuzz.run_file(name, path, content)
        if what is not None:
            kind = re.sub(r"took [\d.]+|for \d+ bytes", "", what.partition(": ")[0])
            seen[kind] += 1
            if seen[kind] <= KEPT:
                label = re.sub(r"\W+", "_", kind)
                (folder / f"wrong-{label}-{seen[kind]}").write_bytes(content)

    def by_value(content, rng):
        if name in MESSAGES:
            return message_mutated(content, MESSAGES[name], rng)
        return json_mutated(content, rng)

    def mutate(content, longest, seed):
        rng = random.Random(seed)
        changed = by_value(content, rng) if rng.random() < 0.5 else None
        if changed is None or len(changed) > longest:
            return atheris.Mutate(content, longest)
        return changed

    run(good[0])  # what is loaded once is not counted
    seen.clear()
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={seconds}",
            f"-max_len={2 * max(2048, *map(len, good))}",
            f"-rss_limit_mb={MEMORY}",
            f"-timeout={PATIENCE}",
            f"-artifact_prefix={folder}/",
            "-close_fd_mask=3",
            str(folder / "corpus"),
        ],
        run,
        custom_mutator=mutate,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
