"""The numbers of a fit under the names that TensorBoard and MLflow show them by."""

from sparkdl.training.report.curves import numbers


def round_scalars(plan, report):
    """Returns {tag: number} of a round of the fit with this FitPlan."""
    scalars = {
        "training/loss": report.loss,
        "training/learning_rate": learning_rate(plan, report),
        "training/examples_per_second": report.examples_per_second,
        "exchange/bytes_sent": report.bytes_sent,
    }
    return scalars | {f"seconds/{part}": seconds for part, seconds in report.seconds.items()}


def learning_rate(plan, report):
    """Returns the rate of the last update of a round, lowered as listeners have lowered it."""
    rate = plan.conf.optimizer.rate_at(report.iteration - 1, report.epoch)
    return rate * plan.steering.rate_factor


def evaluation_scalars(evaluation):
    """Returns {tag: number} of an Evaluation."""
    figures = numbers(evaluation).items()
    return {f"validation/{name.replace(' ', '_')}": value for name, value in figures}
