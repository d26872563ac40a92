"""The options of a fit as one flat dict, as trackers of experiments list them."""


def hyperparameters(plan):
    """Returns {name: number, text or bool} of a fit: its network without the layers, its plan."""
    options = flat(plan.conf.optimizer.to_dict(), "optimizer.")
    options |= {"optimizer": plan.conf.optimizer.type_name}
    options |= {name: getattr(plan.conf, name) for name in ("l1", "l2", "seed", "dtype")}
    return options | {"workers": plan.workers, "parameters": plan.conf.parameter_count}


def flat(options, prefix):
    """Returns nested options by their paths: {"optimizer.learning_rate.gamma": 0.5}."""
    found = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value if isinstance(value, bool | int | float) else str(value)
    return found
