"""MLflow run of a fit."""

from sparkdl.training.report.hyperparameters import hyperparameters

MARK = "sparkdl.fit"  # tag of a run that has logged a fit
NETWORK = "network.json"
MOST = 100  # parameters per request to MLflow
STATUSES = {KeyboardInterrupt: "KILLED"}  # status of a run after an error; others are FAILED


class FitRun:
    """The active run, or a new run that is started and ended here.

    An active run takes the first fit, and fits that resume it; any other fit becomes a nested run.

    Parameters
    ----------
    mlflow : module
    plan : FitPlan
    name : str or None
        Name of a new run.
    last : str or None
        Id of the run of the fit that this one resumes, if known.

    Attributes
    ----------
    run_id : str
    """

    def __init__(self, mlflow, plan, name=None, last=None):
        self.mlflow, self.client = mlflow, mlflow.MlflowClient()
        active = mlflow.active_run()
        goes_on = plan.iteration > 0
        if active is not None and (goes_on or not self._is_used(active.info.run_id)):
            self.run_id, self.is_own = active.info.run_id, False
        else:
            self.run_id, self.is_own = self._begin(name, active, last if goes_on else None), True

    def describe(self, plan):
        """Logs the fit's options, and the network as JSON."""
        self.client.set_tag(self.run_id, MARK, "true")
        self._log_parameters(plan)
        self.client.log_text(self.run_id, plan.conf.to_json(), NETWORK)

    def end(self, error):
        """Ends the run, if it was started here, with a status by `error` (None: finished)."""
        if self.is_own:
            status = "FINISHED" if error is None else STATUSES.get(type(error), "FAILED")
            self.mlflow.end_run(status)

    def _is_used(self, run_id):
        return MARK in self.client.get_run(run_id).data.tags

    def _begin(self, name, active, run_id):
        options = {"run_name": name} if run_id is None else {"run_id": run_id}
        return self.mlflow.start_run(nested=active is not None, **options).info.run_id

    def _log_parameters(self, plan):
        """Logs the options of a fit that the run does not have yet."""
        known = self.client.get_run(self.run_id).data.params
        texts = {name: str(value) for name, value in parameters(plan).items()}
        new = [(name, text) for name, text in texts.items() if name not in known]
        for start in range(0, len(new), MOST):
            part = [self.mlflow.entities.Param(*pair) for pair in new[start : start + MOST]]
            self.client.log_batch(self.run_id, params=part)


def parameters(plan):
    """Returns {name: number or text} of a fit: its network without layers, and its training.

    The latter is what checkpoints store to recognize a fit: the master and its options.
    """
    place = {"epochs": plan.epochs, "updates": plan.updates}
    training = {name: plan.extra.get(name) for name in ("master", "records")}
    known = {name: value for name, value in (place | training).items() if value is not None}
    return hyperparameters(plan) | known
