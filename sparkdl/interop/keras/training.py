"""How a Keras model was compiled: losses, optimizer, metrics."""

from dataclasses import dataclass


@dataclass
class Compiled:
    options: dict
    losses: list
    metrics: tuple = ()
    notes: tuple = ()
    refused: tuple = ()

    @classmethod
    def none(cls):
        return cls({}, [])

    def add_losses(self, graph, outputs):
        return [place.name for place in outputs]


def read_training(document, graph, places, conf):
    return Compiled.none()
