"""Automatic logging of fits to MLflow."""

from functools import partial

from sparkdl.interop.mlflow.logger import MLflowLogger
from sparkdl.training.reporting.automatic_listeners import (
    add_automatic_listener,
    remove_automatic_listener,
)

NAME = "mlflow"


def autolog(
    disable: bool = False, report: bool = True, model: bool = True, seconds: float = 2.0
) -> None:
    """Logs every later fit of this process to MLflow, as MLflowLogger does.

    This covers fits of Network, SparkNetwork and the pyspark.ml estimators, on the driver. Over
    Spark Connect the run begins with the fit, and gets its figures once the fit is over.

    Parameters
    ----------
    disable : bool
        True: ends the logging that an earlier call began.
    report, model, seconds
        As MLflowLogger has them.

    Raises
    ------
    UnsupportedError
        There is no MLflow: pip install 'sparkdl-hadoop[mlflow]'.

    Examples
    --------
    >>> sparkdl.mlflow.autolog()
    >>> net.fit(data, epochs=10)
    """
    remove_automatic_listener(NAME)
    if not disable:
        make = partial(MLflowLogger, report=report, model=model, seconds=seconds)
        make()  # to raise its errors here
        add_automatic_listener(NAME, make)
