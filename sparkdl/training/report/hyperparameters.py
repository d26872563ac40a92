"""The options of a fit as one flat dict, as experiment trackers list them."""

from dataclasses import fields

from sparkdl.config import Config


def hyperparameters(plan):
    """Returns {name: number, text or bool} of a fit: its network's options without layers, its
    plan.

    Defaults are included, so that fits can be compared.
    """
    optimizer, master = plan.conf.optimizer, plan.master
    options = flat(every_option(optimizer), "optimizer.")
    options |= {"optimizer": optimizer.type_name}
    options |= {name: getattr(plan.conf, name) for name in ("l1", "l2", "seed", "dtype")}
    options |= {"workers": plan.workers, "parameters": plan.conf.parameter_count}
    if master is None:
        return options
    return options | flat(master.identity(), "master.") | {"master": type(master).__name__}


def every_option(config):
    """Returns an optimizer's options like its `to_dict`, including defaults."""
    options = config.to_dict()
    for item in fields(config) if isinstance(config, Config) else ():
        value = getattr(config, item.name)
        is_config = isinstance(value, Config)
        options[item.name] = every_option(value) if is_config else options.get(item.name, value)
    return options


def flat(options, prefix):
    """Returns nested options by path: {"optimizer.learning_rate.gamma": 0.5}."""
    found = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value if isinstance(value, bool | int | float) else str(value)
    return found
