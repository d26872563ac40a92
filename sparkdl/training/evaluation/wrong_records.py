"""Search for the records with the largest losses, shown as pictures, texts or numbers."""

import base64

import numpy as np

from sparkdl.data.readers.encodings.image_codec import encode_image, resize_image
from sparkdl.training.reporting.inspection import WrongExample

SIDE = 64  # maximum pixels of a picture's side
NUMBERS, CHARACTERS = 12, 300  # most shown of an example or a label


class WrongRecords:
    """Keeps the records with the largest losses among those that are added.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    most : int
        Number of records to keep.
    labels : sequence of str, or None
        Names of the classes.
    output : str, optional
        The output that predicts; None: the main one.
    """

    def __init__(self, conf, most, labels=None, output=None):
        self.conf, self.most, self.labels = conf, most, labels
        self.place = conf.output_named(output)
        self._rows = []

    def add(self, batch, predictions, losses, places):
        """Examines a minibatch.

        Parameters
        ----------
        batch : Batch
            In the form that the network takes.
        predictions : (n, ...) floats
        losses : (n,) floats
        places : (n,) integers
            Identify the examples.
        """
        chosen = np.argsort(-losses, kind="stable")  # NaN sorts last
        chosen = chosen[self._counted(batch)[chosen]][: self.most]
        if len(self._rows) == self.most and self.most:
            chosen = chosen[losses[chosen] > self._rows[-1][0]]
        self._rows += [
            (float(losses[n]), int(places[n]), *self._words(batch, n, predictions[n]))
            for n in chosen.tolist()
        ]
        self._rows = sorted(self._rows, key=loss_rank)[: self.most]

    def examples(self, texts=None):
        """Returns WrongExamples, largest loss first.

        Parameters
        ----------
        texts : sequence of str, or None
            The records as texts, indexed by `places`.
        """
        return [self._shown(*row, texts) for row in self._rows]

    def _counted(self, batch):
        """Returns (n,) bools: False for examples all of whose labels the loss ignores."""
        labels = batch.columns[self.conf.label_column(self.place)]
        known = self.place.layer.loss.counts(labels)
        if known is None:
            return np.ones(len(batch), bool)
        return (known != 0).reshape(len(batch), -1).any(axis=1)

    def _words(self, batch, n, prediction):
        """Returns (truth, prediction, columns) of an example, as copies: the batch is reused."""
        column = self.conf.label_column(self.place)
        truth = np.asarray(batch.columns[column][n])
        columns = {
            name: np.array(batch.columns[name][n])
            for name in self.conf.record_shapes
            if name in batch.columns
        }
        is_class = self.place.layer.label_kind == "class" and truth.ndim == 0
        if is_class and prediction.ndim == 1 and prediction.size > 1:
            said = int(prediction.argmax())
            words = f"{self._named(said)} ({prediction[said]:.3g})"  # parsed by name_classes
            return self._named(int(truth)), words, columns
        return numbers(truth), numbers(prediction), columns

    def _named(self, number):
        return str(number) if self.labels is None else shorten(str(self.labels[number]))

    def _shown(self, loss, place, truth, prediction, columns, texts):
        about = {"number": place, "loss": loss, "truth": truth, "prediction": prediction}
        if texts is not None:
            return WrongExample(**about, text=shorten(str(texts[place])))
        for x in columns.values():
            if x.ndim == 3 and len(x) in (1, 3):
                return WrongExample(**about, image=picture(x))
        return WrongExample(**about, text=text_of_columns(columns))


def loss_rank(row):
    """Returns a sort key: largest loss first, NaN last."""
    return np.isnan(row[0]), -row[0]


def text_of_columns(columns):
    """Returns the first numbers of each column, with column names if there are several."""
    if len(columns) == 1:
        return numbers(*columns.values())
    return shorten("; ".join(f"{name} {numbers(x)}" for name, x in columns.items()))


def picture(x):
    """Returns a data URI of an image (C, H, W), scaled from its minimum to its maximum."""
    x = np.nan_to_num(x.astype(np.float32), posinf=0, neginf=0)
    low, high = x.min(), x.max()
    pixels = ((x - low) * (255 / ((high - low) or 1))).round().astype(np.uint8)
    scale = min(1.0, SIDE / max(x.shape[1:]))
    size = [max(1, round(side * scale)) for side in x.shape[1:]]
    content = encode_image(resize_image(pixels, size))
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def numbers(x):
    """Returns the first numbers of an array as text."""
    flat = np.asarray(x).reshape(-1)
    text = ", ".join(f"{value:.4g}" for value in flat[:NUMBERS].tolist())
    return text + f", ... ({flat.size} numbers)" * (flat.size > NUMBERS)


def shorten(text):
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}..."
