"""sparkdl train: the run that a YAML file describes."""

from pathlib import Path

from sparkdl.commands.options.run_conf import RunConf
from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from sparkdl.training.fit.network_fit import load_to_resume
from sparkdl.training.report.html_report import HtmlReport
from sparkdl.training.reporting.progress_bar import ProgressBar


def train(arguments):
    """Checks everything, then trains, reports and saves."""
    conf = RunConf.read(arguments.conf, arguments.set)
    conf.check()
    if arguments.resume is not None:
        load_to_resume(conf.network, arguments.resume)
    print(conf.network.summary(conf.training.batch_size_per_worker), end="\n\n", flush=True)
    spark = conf.spark
    with session(spark.master, spark.config, spark.name) as running:
        fit(running, conf, resume=arguments.resume, report=arguments.report)


def fit(spark, conf, resume=None, show=None, report=None):
    """Trains as `conf` says, prints the results and saves the model; returns it.

    Parameters
    ----------
    show : bool or None
        Whether to draw the progress bar; None: if somebody sees it.
    report : path or None
        Of the page of the fit, which is written as it goes on.
    """
    net = SparkNetwork(spark, conf.network, conf.training)
    listeners = [ProgressBar(show=show)]
    if report is not None:
        print(f"the report of the fit is in {report}", end="\n\n", flush=True)
        listeners.append(HtmlReport(report, Path(conf.output).name))
    history = net.fit(
        conf.data.train,
        conf.epochs,
        validation=conf.data.validation,
        listeners=listeners,
        checkpoints=conf.checkpoints,
        resume=resume,
    )
    net.save(conf.output)
    if history.epochs and history.epochs[-1].validation is not None:
        print(history.epochs[-1].validation, end="\n\n")
    print(history, f"the model is in {conf.output}", sep="\n\n", flush=True)
    return net
