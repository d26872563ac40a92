"""sparkdl train: runs the training that a YAML file describes."""

from contextlib import ExitStack, closing
from pathlib import Path

from sparkdl.commands.options.run_conf import RunConf
from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from sparkdl.training.fit.network_fit import load_to_resume
from sparkdl.training.report.dashboard import Dashboard
from sparkdl.training.report.html_report import HtmlReport
from sparkdl.training.report.page import check_report_path
from sparkdl.training.report.run_log import RunLog, check_log_folder
from sparkdl.training.reporting.progress_bar import ProgressBar


def train(arguments):
    """Checks everything, then trains, reports and saves."""
    conf = RunConf.read(arguments.conf, arguments.set)
    conf.check()
    if arguments.resume is not None:
        load_to_resume(conf.network, arguments.resume)
    for name in ("report", "log"):
        if getattr(arguments, name) is not None:
            conf.check_outside(f"--{name}", getattr(arguments, name))
    if arguments.report is not None:
        check_report_path(arguments.report)
    if arguments.log is not None:
        check_log_folder(arguments.log)
    print(conf.network.summary(conf.training.batch_size_per_worker), end="\n\n", flush=True)
    spark = conf.spark
    with ExitStack() as stack:
        listeners = watch(arguments, conf.output, stack)
        running = stack.enter_context(session(spark.master, spark.config, spark.name))
        fit(running, conf, resume=arguments.resume, listeners=listeners)


def watch(arguments, output, stack):
    """Creates the listeners that the command line asks for, and prints where they show the fit.

    Their servers are closed with `stack`, an ExitStack.
    """
    title, listeners = Path(output).name, []
    if arguments.report is not None:
        listeners.append(HtmlReport(arguments.report, title))
        print(f"the report of the fit is in {arguments.report}", flush=True)
    if arguments.dashboard is not None:
        dashboard = Dashboard(arguments.dashboard, arguments.log, title)
        listeners.append(stack.enter_context(closing(dashboard)))
        print(f"the fit can be seen at {dashboard.url}", flush=True)
    elif arguments.log is not None:
        listeners.append(RunLog(arguments.log))
    return listeners


def fit(spark, conf, resume=None, listeners=()):
    """Trains as `conf` says, prints the results, saves the model and returns it.

    Parameters
    ----------
    listeners : sequence of Listener
        Listeners besides the progress bar, which is drawn on a terminal only.
    """
    net = SparkNetwork(spark, conf.network, conf.training)
    history = net.fit(
        conf.data.train,
        conf.epochs,
        validation=conf.data.validation,
        listeners=[ProgressBar(), *listeners],
        checkpoints=conf.checkpoints,
        resume=resume,
    )
    net.save(conf.output, overwrite=True)
    if history.epochs and history.epochs[-1].validation is not None:
        print(history.epochs[-1].validation, end="\n\n")
    print(history, f"the model is in {conf.output}", sep="\n\n", flush=True)
    return net
