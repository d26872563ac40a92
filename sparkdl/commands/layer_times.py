"""sparkdl time: time that each layer of a network takes, like `caffe time`."""

import os

from sparkdl.commands.options.run_conf import RunConf
from sparkdl.errors import ConfigError
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.timing import Pass, time_step
from sparkdl.nn.networks.summary import table
from sparkdl.training.rounds.replica import limit_threads

HEAD = ("layer", "type", "forward ms", "backward ms", "% of step", "GFLOP/s", "% of peak")


def time(arguments):
    """Prints the times of a training step on random data, without Spark."""
    for name in ("batch_size", "iterations", "threads"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name.replace('_', '-')} must be an integer >= 1, got {value}")
    if arguments.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # read when oneDNN is loaded
    limit_threads()
    conf = RunConf.read(arguments.conf, arguments.set)
    batch_size = arguments.batch_size or conf.training.batch_size_per_worker
    backend = choose_backend(conf.training.device, conf.training.backend)
    print(report(conf.network, time_step(conf.network, batch_size, backend, arguments.iterations)))


def report(network, timed):
    """Returns the table of a StepTime, and its summary."""
    types = {place.name: place.layer.type_name for place in network.stack}
    rows = [cells(n, types[n], r.forward, r.backward, timed) for n, r in timed.layers.items()]
    rows.append(cells("loss", "", timed.loss.forward, timed.loss.backward, timed))
    rows.append(cells("update", network.optimizer.type_name, timed.update, Pass(), timed))
    total = cells("total", "", timed.forward, timed.backward, timed)
    return "\n".join([*table([HEAD, *rows, total], numbers=5), "", *summary(timed)])


def cells(name, kind, forward, backward, timed):
    """Returns a row of the table.

    A layer without own calls is fused into another's kernels: its cells are empty.
    """
    both = forward + backward
    if not both.seconds:
        return (name, kind, "", "", "", "", "")
    speed = both.flops / both.seconds
    return (
        name,
        kind,
        milliseconds(forward),
        milliseconds(backward),
        f"{both.seconds / timed.step.seconds:.1%}".rstrip("%"),
        f"{speed / 1e9:.0f}" if both.flops else "",
        f"{speed / timed.peak:.0%}".rstrip("%") if both.flops else "",
    )


def milliseconds(one):
    return f"{one.seconds * 1e3:.3f}" if one.seconds else ""


def summary(timed):
    """Yields the summary lines below the table."""
    step = timed.step
    parts = {"forward": timed.forward, "backward": timed.backward, "update": timed.update}
    text = ", ".join(f"{name} {one.seconds * 1e3:.2f} ms" for name, one in parts.items())
    yield f"a step of {timed.batch_size} examples: {step.seconds * 1e3:.2f} ms ({text})"
    share = step.flops / step.seconds / timed.peak
    yield (
        f"{timed.batch_size / step.seconds:,.0f} examples a second; {step.flops / 1e9:.2f} GFLOP "
        f"at {share:.0%} of the {timed.peak / 1e9:.0f} GFLOP/s of a large matrix product here"
    )
