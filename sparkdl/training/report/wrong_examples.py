"""The examples of a sample that a network is most wrong about, as pages show them."""

import base64
from dataclasses import replace

import numpy as np

from sparkdl.data.readers.encodings.image_codec import encode_image, resize_image
from sparkdl.training.evaluation.batch_evaluation import BATCH
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.reporting.inspection import WrongExample

SIDE = 64  # pixels of a picture at most
NUMBERS, CHARACTERS = 12, 300  # of an example, or of a label, that are shown


def most_wrong(replica, records, transform, count, labels=None, texts=None):
    """Returns the WrongExamples of the largest losses, the largest first.

    Parameters
    ----------
    records : Batch
    transform : function Batch to Batch, or None
    count : int
    labels : names of the classes, or None
    texts : sequence of str, or None
        The records as texts.
    """
    worst = []
    for start in range(0, len(records), BATCH):
        piece = records.take(slice(start, start + BATCH))
        batch = prepare_minibatch(piece, transform, replica.conf)
        predictions, losses = replica.losses(batch)
        chosen = np.argsort(-losses, kind="stable")[:count]  # NaN comes last
        worst += [
            (
                start + n,
                float(losses[n]),
                example_at(replica.conf, batch, n, predictions[n], labels),
            )
            for n in chosen.tolist()
        ]
        worst = sorted(worst, key=lambda row: -row[1])[:count]
    return [shown(row, texts) for row in worst]


def example_at(conf, batch, n, prediction, labels):
    """Returns (truth, prediction, record) of an example; copies, since the batch goes."""
    column = conf.label_column(conf.main)
    truth = np.asarray(batch.columns[column][n])
    is_class = conf.main.layer.label_kind == "class" and truth.ndim == 0 and prediction.ndim == 1
    if is_class and prediction.size > 1:
        said = int(prediction.argmax())
        words = f"{named(said, labels)} ({prediction[said]:.3g})"
        return named(int(truth), labels), words, record_of(conf, batch, n)
    return numbers(truth), numbers(prediction), record_of(conf, batch, n)


def record_of(conf, batch, n):
    return np.array(batch.columns[next(iter(conf.feature_columns))][n])


def named(number, labels):
    return str(number) if labels is None else str(labels[number])


def shown(row, texts):
    """Returns the WrongExample of (number, loss, (truth, prediction, record))."""
    number, loss, (truth, prediction, record) = row
    made = WrongExample(number=number, loss=loss, truth=truth, prediction=prediction)
    if texts is not None:
        return replace(made, text=shorten(str(texts[number])))
    if record.ndim == 3 and len(record) in (1, 3):
        return replace(made, image=picture(record))
    return replace(made, text=numbers(record))


def picture(x):
    """Returns a data URI of an image (C, H, W), from its least to its largest value."""
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
