"""Numbers of a fit under the names used in TensorBoard and MLflow."""

from sparkdl.training.report.curves import numbers


def round_scalars(plan, report):
    """Returns {tag: number} of a round of the fit with this FitPlan."""
    return training_scalars(plan, report) | epoch_scalars(report.seconds, report.bytes_sent)


def training_scalars(plan, report):
    """Returns {tag: number} of a round's training figures."""
    return {
        "training/loss": report.loss,
        "training/learning_rate": learning_rate(plan, report),
        "training/examples_per_second": report.examples_per_second,
    }


def epoch_scalars(seconds, bytes_sent):
    """Returns {tag: number} of seconds by part and bytes sent, of a round or a whole epoch."""
    sums = {f"seconds/{part}": number for part, number in seconds.items()}
    return {"exchange/bytes_sent": bytes_sent} | sums


def learning_rate(plan, report):
    """Returns the learning rate of a round's last update, as lowered by listeners."""
    rate = plan.conf.optimizer.rate_at(report.iteration - 1, report.epoch)
    return rate * report.rate_factor


def evaluation_scalars(evaluation):
    """Returns {tag: number} of an Evaluation."""
    figures = numbers(evaluation).items()
    return {f"validation/{name.replace(' ', '_')}": value for name, value in figures}
