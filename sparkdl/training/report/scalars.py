"""The numbers of a fit under the names that TensorBoard and MLflow show them by."""

from sparkdl.training.report.curves import numbers


def round_scalars(plan, report):
    """Returns {tag: number} of a round of the fit with this FitPlan."""
    return training_scalars(plan, report) | epoch_scalars(report.seconds, report.bytes_sent)


def training_scalars(plan, report):
    """Returns those of a round that say how the training goes."""
    return {
        "training/loss": report.loss,
        "training/learning_rate": learning_rate(plan, report),
        "training/examples_per_second": report.examples_per_second,
    }


def epoch_scalars(seconds, bytes_sent):
    """Returns the tags of seconds by part, and of bytes: of a round, or an epoch's sums."""
    sums = {f"seconds/{part}": number for part, number in seconds.items()}
    return {"exchange/bytes_sent": bytes_sent} | sums


def learning_rate(plan, report):
    """Returns the rate of the last update of a round, lowered as listeners have lowered it."""
    rate = plan.conf.optimizer.rate_at(report.iteration - 1, report.epoch)
    return rate * report.rate_factor


def evaluation_scalars(evaluation):
    """Returns {tag: number} of an Evaluation."""
    figures = numbers(evaluation).items()
    return {f"validation/{name.replace(' ', '_')}": value for name, value in figures}
