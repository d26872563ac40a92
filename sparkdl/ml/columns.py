"""Which columns of a DataFrame feed which inputs and outputs of a network."""

from sparkdl.errors import ConfigError
from sparkdl.nn import Conf

GENERAL = "SparkNetworkEstimator takes several"


def only_names(owner: object, conf: Conf, features: str, label: str) -> tuple[dict, dict]:
    """Returns ({column of a batch: column of a DataFrame} of features, of labels).

    Raises ConfigError where a network has several inputs, or labels.
    """
    kind = type(owner).__name__
    for what, columns in ("inputs", conf.feature_columns), ("labels", conf.label_columns):
        if len(columns) != 1:
            got = f"{len(columns)}: {list(columns)}"
            raise ConfigError(f"{kind}.network must have one of {what}, got {got}; {GENERAL}")
    return dict.fromkeys(conf.feature_columns, features), dict.fromkeys(conf.label_columns, label)
