"""Image captions encoded as by CaffeOnSpark's tools, for nets that write sentences."""

import json
import re
from collections import Counter

import numpy as np

from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError

UNKNOWN = "UNK"  # first word of a vocabulary
START_END, UNKNOWN_NUMBER, NOTHING = 0, 1, -1


def words_of(caption):
    """Returns the words of a caption in lower case, with punctuation except for a final ".".

    White space is reduced to single spaces: a word with a line break would be two in a file.
    """
    caption = " ".join(caption.split())
    found = [part.strip().lower() for part in re.findall(r"\w+|\W+", caption)]
    words = [word for word in found if word]
    return words[:-1] if words[-1:] == ["."] else words


class Vocab:
    """A vocabulary of captions, with the numbers that CaffeOnSpark gives to words.

    Number 0 is the start and end of a sentence, 1 stands for unknown words. As in CaffeOnSpark, the
    most frequent word has number 1 as well.

    Parameters
    ----------
    words : list of str
        By number, "UNK" first.
    """

    def __init__(self, words):
        self.words = list(words)
        if self.words[:1] != [UNKNOWN]:
            raise ConfigError(f"Vocab.words must begin with {UNKNOWN!r}, got {self.words[:1]}")
        broken = next((word for word in self.words if {"\n", "\r"} & {*word}), None)
        if broken is not None:
            raise ConfigError(f"Vocab.words must have no line breaks, got {broken!r}")
        self.numbers = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def from_captions(cls, captions, size=None):
        """Builds a vocabulary of the `size` most frequent words (None: all), ties in code order."""
        counts = Counter(word for caption in captions for word in words_of(caption))
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([UNKNOWN, *ordered[:size]])

    @classmethod
    def load(cls, path):
        """Reads a file of one word per line, local or a URI, such as CaffeOnSpark's part-00000."""
        with files.open(path) as file:
            content = file.read()
        try:
            return cls(content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n"))
        except (UnicodeDecodeError, ConfigError) as error:
            raise DataError(f"{path} is no vocabulary: {error}") from error

    def save(self, path):
        """Writes a file for `load`, replacing an existing one."""
        files.write(path, "".join(f"{word}\n" for word in self.words).encode())

    def encode(self, caption, length):
        """Returns the three sentences, int32 (length,), that a captioning net reads.

        `input_sentence` begins with 0, `target_sentence` ends with 0, and `cont_sentence` is 0 at
        the start and 1 at words; all are padded with -1. Words beyond `length` - 1 are dropped.
        """
        if length < 1:
            raise ConfigError(f"Vocab.length must be at least 1, got {length}")
        words = words_of(caption)[: length - 1]
        numbers = [self.numbers.get(word, UNKNOWN_NUMBER) for word in words]
        rows = {
            "input_sentence": [START_END, *numbers],
            "cont_sentence": [0, *[1] * len(numbers)],
            "target_sentence": [*numbers, START_END],
        }
        behind = [NOTHING] * (length - 1 - len(numbers))
        return {name: np.array([*row, *behind], np.int32) for name, row in rows.items()}

    def decode(self, numbers):
        """Returns the words with these numbers, without start, end and padding."""
        given = [int(number) for number in numbers]
        if wrong := [n for n in given if not NOTHING <= n < len(self.words)]:
            raise DataError(f"numbers must be below {len(self.words)}, got {wrong}")
        return " ".join(self.words[n] for n in given if n not in (START_END, NOTHING))


def coco_captions(path):
    """Returns a dict of id, height, width, file, url and caption for each caption of a COCO file.

    `id` is that of the caption. For a file without annotations there is one dict per image, with
    the image's id and no caption.
    """
    with files.open(path) as file:
        content = file.read()
    try:
        whole = json.loads(content)
        notes = whole.get("annotations")
        url = "coco_url" if notes is None else "flickr_url"
        images = {image["id"]: about(image, url) for image in whole["images"]}
        if notes is None:
            return [{"id": number, **image} for number, image in images.items()]
        return [
            {"id": note["id"], **images[note["image_id"]], "caption": note["caption"]}
            for note in notes
            if note["image_id"] in images
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} is no file of COCO captions: {error!r}") from error


def about(image, url):
    """Returns height, width, file and url of an image."""
    sizes = {name: image[name] for name in ("height", "width")}
    return sizes | {"file": image["file_name"], "url": image.get(url)}
