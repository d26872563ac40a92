"""sparkdl simulate: estimates how long the masters' exchanges would take on a cluster."""

import math
import os
from typing import NamedTuple

from sparkdl.commands.options.quantities import bandwidth, count, duration
from sparkdl.commands.options.run_conf import RunConf
from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs import Half, OneBit, Threshold, TopK, TwoBit
from sparkdl.exchange.cost_model import measurement
from sparkdl.exchange.cost_model.model import FREE, Cluster, Exchange
from sparkdl.nn.networks.summary import line, size
from sparkdl.training.masters.all_reduce.rows_model import rows_model
from sparkdl.training.masters.pipeline_parallel.pipeline_model import pipeline_models
from sparkdl.training.masters.tensor_parallel.tensor_model import tensor_models

BACKWARD = 2 / 3  # share of a minibatch's compute time during which gradients can already be sent
SHARDED = "gradients sharded", "parameters sharded"  # to save memory
CODECS = Half(), OneBit(), TwoBit(), Threshold(), TopK()
EXACT = "AllReduceSGD", "PipelineParallel", "TensorParallel"  # synchronous on all minibatches
HEAD = ("master", "codec", "every", "exchange", "a worker sends", "minibatch", "efficiency")


class ExchangePlan(NamedTuple):
    """The exchange of a master: its codec, its interval in minibatches, whether it overlaps.

    `gather` does not overlap with computation, except with the forward pass if `ahead`. `fetch`
    overlaps with all computation, and shares the link with the exchange.
    """

    master: str
    codec: str
    every: int
    exchange: Exchange
    background: bool = False
    gather: Exchange = FREE
    ahead: bool = False
    fetch: Exchange = FREE

    @property
    def total(self):
        """The Exchange including gather and fetch."""
        return self.exchange + self.gather + self.fetch

    def minibatch(self, compute):
        """Returns the seconds of a minibatch including its share of the exchange."""
        hidden = BACKWARD * compute if self.background else 0.0
        seconds = max(0.0, self.exchange.seconds - hidden)
        seconds = max(seconds, self.exchange.seconds + self.fetch.seconds - compute)
        hidden = (1 - BACKWARD) * compute if self.ahead else 0.0
        return compute + (seconds + max(0.0, self.gather.seconds - hidden)) / self.every


def simulate(arguments):
    """Prints the table, after a benchmark of two processes here for a second or two."""
    for name in ("workers", "workers_per_machine", "every"):
        at_least_one(f"--{name.replace('_', '-')}", getattr(arguments, name))
    if arguments.set and not arguments.conf:
        raise ConfigError(f"--set must be left out without --conf, got {arguments.set[0]!r}")
    run = arguments.conf and RunConf.read(arguments.conf, arguments.set)
    nbytes = 4 * parameters(arguments.params, run)
    compute = duration("--compute", arguments.compute)
    place = cluster_options(arguments)
    cluster = Cluster(costs=measurement.measure_costs(), **place)
    codings = [measurement.measure_coding(codec) for codec in CODECS]
    if run and run.network.bags:
        rows = rows_model(run.network, run.training.batch_size_per_worker)
        chosen = table_plans(cluster, rows, nbytes)
    else:
        chosen = plans(cluster, codings, nbytes, arguments.every)
        chosen += divisions(cluster, run, compute) if run else []
    print("\n".join([*about(cluster), "", *report(chosen, compute)]))
    if run:
        print("", fastest(chosen, compute), sep="\n")


def parameters(given, run):
    """Returns the number of parameters given, or that of the run's network."""
    if given is None and not run:
        raise ConfigError("--params or --conf must say how large the network is, got neither")
    if given is not None and run:
        raise ConfigError(
            f"--params must be left out with --conf, got {given!r}: pipelines and divided layers "
            "are those of its network"
        )
    return run.network.parameter_count if given is None else count("--params", given)


def divisions(cluster, run, compute):
    """Returns the ExchangePlans for the run's network as a pipeline and with divided layers."""
    given = run.network, cluster.workers, run.training.batch_size_per_worker
    models = {f"PipelineParallel, {m.stages} stages": m for m in pipeline_models(*given)}
    models |= {f"TensorParallel, degree {m.degree}": m for m in tensor_models(*given)}
    return [
        ExchangePlan(name, "", 1, model.exchange(cluster, compute))
        for name, model in models.items()
    ]


def table_plans(cluster, rows, nbytes):
    """Returns the ExchangePlans of the master that trains tables, given a RowsModel."""
    summed, name = cluster.all_reduce(nbytes), "AllReduceSGD, tables"
    return [
        ExchangePlan(f"{name} whole", "", 1, summed, True, rows.whole(cluster)),
        ExchangePlan(
            f"{name} sharded", "", 1, summed, True, rows.sharded(cluster), fetch=rows.fetch(cluster)
        ),
    ]


def fastest(plans, compute):
    """Describes the synchronous way of training with the shortest time per minibatch."""
    exact = [
        plan
        for plan in plans
        if plan.master.startswith(EXACT) and not plan.codec and not plan.master.endswith(SHARDED)
    ]
    best = min(exact, key=lambda plan: plan.minibatch(compute))
    return (
        f"The fastest with the weights of one process: {best.master}, "
        f"{short(best.minibatch(compute))} a minibatch."
    )


def at_least_one(option, value):
    if value < 1:
        raise ConfigError(f"{option} must be an integer >= 1, got {value}")


def cluster_options(arguments):
    """Converts command-line options to options of the Cluster."""
    cores = os.cpu_count() or 1 if arguments.cores is None else arguments.cores
    at_least_one("--cores", cores)
    given = arguments.bandwidth
    return {
        "workers": arguments.workers,
        "per_machine": arguments.workers_per_machine,
        "cores": cores,
        "bandwidth": math.inf if given is None else bandwidth("--bandwidth", given),
        "latency": duration("--latency", arguments.latency),
    }


def plans(cluster, codings, nbytes, every):
    """Returns an ExchangePlan for each master with each codec that it supports."""
    summed = cluster.all_reduce(nbytes)
    sharded, central = (cluster.parameter_server(nbytes, n) for n in (cluster.workers, 1))
    scattered, gathered = cluster.reduce_scatter(nbytes), cluster.all_gather(nbytes)
    coded = {coding.name: cluster.compressed_all_reduce(nbytes, coding) for coding in codings}
    return [
        ExchangePlan("ParameterAveraging, driver", "", every, cluster.through_driver(nbytes)),
        ExchangePlan("ParameterAveraging, peers", "", every, summed),
        ExchangePlan("ElasticAveraging", "", every, summed),
        ExchangePlan("BlockMomentum", "", every, summed),
        ExchangePlan("LocalSGD", "", every, summed),
        ExchangePlan("ParameterServer, one server", "", 1, central),
        ExchangePlan("ParameterServer, all serve", "", 1, sharded),
        ExchangePlan("AllReduceSGD", "", 1, summed, background=True),
        ExchangePlan(
            "AllReduceSGD, optimizer or gradients sharded", "", 1, scattered, True, gathered
        ),
        ExchangePlan(
            "AllReduceSGD, parameters sharded", "", 1, scattered + gathered, True, gathered, True
        ),
        *(
            ExchangePlan("AllReduceSGD", name, 1, one, background=True)
            for name, one in coded.items()
        ),
        *(
            ExchangePlan("GradientSharing", name, 1, coded[name])
            for name in ("OneBit", "Threshold")
        ),
    ]


def about(cluster):
    """Yields lines that describe the measurements and the cluster."""
    costs = cluster.costs
    yield (
        f"measured here, of one core: {speed(costs.socket)} through a connection, "
        f"{speed(costs.shared)} summed through shared memory, {speed(costs.add)} added; "
        f"a message takes {costs.message * 1e6:.0f} us"
    )
    yield (
        f"{cluster.workers} workers on {cluster.machines} machines of {cluster.cores} cores; "
        "an exchange of all parameters, and a minibatch with its share of it"
    )


def speed(cost):
    return f"{1 / cost / 1e9:.1f} GB/s"


def report(plans, compute):
    """Returns the lines of the table."""
    rows = [HEAD, *(cells(plan, compute) for plan in plans)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    head, *body = [line(row, widths, numbers=5) for row in rows]
    return [head, "-" * (sum(widths) + 2 * (len(widths) - 1)), *body]


def cells(plan, compute):
    seconds = plan.minibatch(compute)
    return (
        plan.master,
        plan.codec,
        str(plan.every),
        short(plan.total.seconds),
        size(round(plan.total.sent)),
        short(seconds),
        f"{compute / seconds:.0%}" if compute else "",
    )


def short(seconds):
    """Formats seconds with three digits, as milliseconds or seconds."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.9995 else f"{seconds:,.3g} s"
