"""The data of a search, as passed to fit."""

from dataclasses import dataclass
from typing import Any

from sparkdl.spark.records.records import records_to_evaluate, records_to_fit


@dataclass(frozen=True, kw_only=True)
class SearchData:
    """Data and its processing; the fields are options of SparkNetwork.fit.

    Parameters
    ----------
    columns : {str: str}
        `features` and `label`.
    """

    data: Any
    validation: Any
    columns: dict[str, str]
    weights: str | None
    transform: Any
    validation_split: float | None
    class_weight: dict[int, float] | None

    @property
    def has_validation(self):
        return self.validation is not None or self.validation_split is not None

    def records(self):
        """Returns the SparkRecords of training data."""
        options = {"weights": self.weights, "transform": self.transform}
        return records_to_fit(self.data, self.validation, **self.columns, **options)

    def validation_records(self):
        """Returns the SparkRecords of validation data."""
        options = {"weights": self.weights, "transform": self.transform}
        return records_to_evaluate(self.validation, **self.columns, **options)

    @property
    def validation_transform(self):
        """Transform of the validation data's minibatches."""
        return None if self.validation is None else self.validation_records().transform

    def fit(self, net, epochs, listeners):
        """Trains a SparkNetwork on the data; returns the History."""
        return net.fit(
            self.data,
            epochs,
            self.validation,
            **self.columns,
            weights=self.weights,
            transform=self.transform,
            validation_split=self.validation_split,
            class_weight=self.class_weight,
            listeners=listeners,
        )
