"""Zoo networks with the weights of a Hugging Face folder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparkdl.data import files
from sparkdl.data.whole_files import read_whole
from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.json_member import LONGEST, parse_json
from sparkdl.interop.options import Options
from sparkdl.interop.torch.transformers import layouts, model_config
from sparkdl.interop.torch.weights.reader import refuse, shapes_of
from sparkdl.interop.torch.weights.state_dict import read_state_dict
from sparkdl.interop.translated_network import state_with
from sparkdl.nn import zoo
from sparkdl.training.network import Network

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
BUFFERS = (".position_ids", ".attn.bias", ".attn.masked_bias")  # buffers, not weights
HEADS = ("pooler", "output")  # layers whose weights a file may lack
SEGMENTS = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True, kw_only=True)
class Family:
    """A `model_type`: its functions, and the prefix of the base model's arrays.

    `classifier` and `pooler` are arrays that a file with these heads has.
    """

    prefix: str
    build: Callable
    options: Callable
    layout: Callable
    classifier: str
    pooler: str | None = None


FAMILIES = {
    "bert": Family(
        prefix="bert.",
        build=zoo.bert,
        options=model_config.bert,
        layout=layouts.BERT.layout,
        classifier="classifier.weight",
        pooler="pooler.dense.weight",
    ),
    "distilbert": Family(
        prefix="distilbert.",
        build=zoo.bert,
        options=model_config.distilbert,
        layout=layouts.DISTILBERT.layout,
        classifier="classifier.weight",
        pooler="pre_classifier.weight",
    ),
    "gpt2": Family(
        prefix="transformer.",
        build=zoo.gpt2,
        options=model_config.gpt2,
        layout=layouts.gpt2,
        classifier="score.weight",
    ),
}


@dataclass(frozen=True, kw_only=True)
class TransformerNet:
    """A zoo network with the weights of a folder, and a report of what was loaded.

    Parameters
    ----------
    network : Network
    matched : {"layer/array": name in the file}
    missing : tuple of str
        "layer/array" of newly initialized arrays, those of new heads.
    unused : tuple of str
        Names in the file that were not used, those of heads that the network lacks.
    """

    network: Network
    matched: dict[str, str]
    missing: tuple[str, ...]
    unused: tuple[str, ...]


def read_transformer(
    folder: str,
    *,
    steps: int | None = None,
    classes: int | None = None,
    pooling: str | None = "auto",
    segments: bool = False,
    **options: Any,
) -> TransformerNet:
    """Returns the TransformerNet of a BERT, DistilBERT, MiniLM or GPT-2 that Hugging Face saved.

    Neither PyTorch nor transformers is needed. The network is `zoo.bert` or `zoo.gpt2`; heads that
    the file lacks are newly initialized. BERT masks the config's pad_token_id: 0 by default, and no
    id if it is null. GPT-2, which is causal, masks none.

    Parameters
    ----------
    folder : str
        With config.json and model.safetensors, or pytorch_model.bin; local or a URI.
    steps : int, optional
        Longest text, in tokens. None: as many as the file has positions for.
    classes : int, optional
        Number of classes of texts. None: those of the file's classifier; without one, BERT ends
        with the pooling, and GPT-2 predicts the next token. The loss follows the config's
        problem_type; without one, as in Hugging Face, it is "mse" for 1 class, whose output is a
        number, and "softmax_cross_entropy" for more. The option "loss" overrides it:
        "sigmoid_cross_entropy" makes 1 class a binary classifier.
    pooling : "auto", "first", "mean" or None
        See `zoo.bert`. "auto": that of a folder of sentence-transformers, else "first" where there
        are classes or the file has a pooler, else None. GPT-2 has none.
    segments : bool
        Whether BERT has a second input, for pairs of texts. If not, all tokens belong to the first
        text.
    options
        Of the zoo's function: "optimizer", "seed" ... With "depth" only as many of the first blocks
        are read. "dropout" also takes the place of the config's rates of embeddings and classifier;
        "attention_dropout" is by itself.

    Raises
    ------
    DataError
        The folder lacks a file or an array, or one is damaged; lists all arrays that do not fit.
    UnsupportedError
        A model of another type, or with options that networks of the zoo do not have.
    """
    config = read_config(folder)
    family = family_of(config, folder)
    found = options_in(folder, family.options, config)
    arrays = {
        plain_name(name, family.prefix): (name, array)
        for name, array in read_state_dict(weights_of(folder))[0].items()
        if not name.endswith(BUFFERS)
    }
    found["classes"] = classes_in(family, arrays, folder) if classes is None else classes
    if found["classes"] is not None and "loss" not in options:
        found["loss"] = options_in(folder, model_config.loss, config, found["classes"])
    if family.pooler is not None:
        found |= pooling_option(pooling, family, config, folder, arrays, found["classes"])
    elif pooling not in ("auto", None):
        raise ConfigError(f"read_transformer.pooling must be None for GPT-2, got {pooling!r}")
    if segments:
        found["segments"] = segments_in(arrays, folder)
    if steps is not None:
        found["steps"] = at_most(steps, found["steps"])
    if "dropout" in options:
        found = {name: v for name, v in found.items() if name not in model_config.OF_PLACES}
    found |= options
    if found["depth"] > len(arrays):  # before that many blocks are built
        raise DataError(f"{folder}: {found['depth']} blocks need more than {len(arrays)} arrays")
    return fill(family.build(**found), family, found["depth"], arrays, folder)


def read_config(folder):
    """Returns the mapping in config.json."""
    path = f"{folder}/config.json"
    return parse_json(read_whole(path, LONGEST), path)


def family_of(config, folder):
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise UnsupportedError(f"{folder}: model_type must be one of {[*FAMILIES]}, got {kind!r}")
    return FAMILIES[kind]


def weights_of(folder):
    """Returns the path of the file with the weights."""
    found = [name for name in WEIGHTS if files.exists(f"{folder}/{name}")]
    if not found:
        raise DataError(f"{folder}: has neither of {WEIGHTS}; models in several files are not read")
    return f"{folder}/{found[0]}"


def plain_name(name, prefix):
    """Returns a name without the prefix, and with the endings of newer files."""
    name = name.removeprefix(prefix)
    for old, new in {"LayerNorm.gamma": "weight", "LayerNorm.beta": "bias"}.items():
        if name.endswith(old):
            return f"{name.removesuffix(old)}LayerNorm.{new}"
    return name


def options_in(folder, read, config, *values):
    """Returns options that `read` takes from config.json; its errors name the file."""
    try:
        return read(Options(config), *values)
    except UnsupportedError as error:
        raise UnsupportedError(f"{folder}/config.json: {error}") from error


def classes_in(family, arrays, folder):
    """Returns the number of classes of a file's classifier; None without one."""
    return rows_of(family.classifier, arrays, folder) if family.classifier in arrays else None


def pooling_option(pooling, family, config, folder, arrays, classes):
    """Returns {"pooling": ...} of zoo.bert."""
    if pooling != "auto":
        return {"pooling": pooling}
    if files.exists(f"{folder}/1_Pooling/config.json"):
        return {"pooling": pooling_of_sentences(f"{folder}/1_Pooling/config.json")}
    if model_config.of_tokens(Options(config)):
        return {"pooling": None}
    return {"pooling": "first" if classes is not None or family.pooler in arrays else None}


def pooling_of_sentences(path):
    """Returns the pooling of a sentence-transformers folder, which must be the mean."""
    about = parse_json(read_whole(path, LONGEST), path)
    modes = [name for name, on in about.items() if name.startswith("pooling_mode_") and on is True]
    if modes != ["pooling_mode_mean_tokens"]:
        raise UnsupportedError(f"{path}: must have pooling_mode_mean_tokens alone, got {modes}")
    return "mean"


def segments_in(arrays, folder):
    """Returns the number of segments in a file."""
    if SEGMENTS not in arrays:
        raise ConfigError(f"read_transformer.segments must be False for {folder}, which has none")
    return rows_of(SEGMENTS, arrays, folder)


def rows_of(name, arrays, folder):
    """Returns the number of rows of a matrix."""
    shape = arrays[name][1].shape
    if len(shape) != 2 or 0 in shape:
        raise DataError(f"{folder}: {arrays[name][0]} must be a matrix, got {shape}")
    return shape[0]


def at_most(steps, places):
    if not isinstance(steps, int) or not 1 <= steps <= places:
        raise ConfigError(
            f"read_transformer.steps must be an integer in [1, {places}], got {steps!r}"
        )
    return steps


def fill(conf, family, depth, arrays, folder):
    """Returns the TransformerNet of a configuration and {plain name: (name in the file, array)}."""
    wanted = {
        f"{layer}/{array}": shape
        for layer, shapes in shapes_of(conf).items()
        for array, shape in shapes.items()
    }
    found, matched, wrong = {}, {}, []
    for ours, theirs, change in family.layout(depth):
        if ours not in wanted or theirs not in arrays or ours in found:
            continue
        name, array = arrays[theirs]
        changed = layouts.change_array(ours, array, change, wanted[ours])
        if changed is not None:
            found[ours], matched[ours] = changed, name
        elif not ours.startswith("output/"):
            wrong.append(f"{name} in {ours}: {array.shape} does not give {wanted[ours]}")
    if SEGMENTS in arrays and "segment_embedding/W" not in wanted and "positions/W" in found:
        name, rows = arrays[SEGMENTS]
        if rows.shape[1:] != wanted["positions/W"][1:] or not len(rows):
            wrong.append(f"{name}: {rows.shape} does not give {wanted['positions/W'][1:]}")
        else:
            found["positions/W"] = found["positions/W"] + rows[:1]
            matched["segment 0"] = name
    missing = tuple(name for name in wanted if name not in found)
    wrong += [f"{n}: no array in the file" for n in missing if n.split("/")[0] not in HEADS]
    refuse(wrong, folder)
    network = Network(conf)
    network.state = state_with(network, found.items())
    used = set(matched.values())
    unused = tuple(name for name, _ in arrays.values() if name not in used)
    return TransformerNet(network=network, matched=matched, missing=missing, unused=unused)
