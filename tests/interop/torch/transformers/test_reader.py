"""Transformers read from Hugging Face folders, against the same models in torch."""

import json

import numpy as np
import pytest

from sparkdl import Batch
from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.torch import read_transformer
from tests.interop.torch.transformers import modules
from tests.interop.torch.transformers.modules import BERT, DISTILBERT, GPT2, Weights

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
STEPS = 9


def texts(padding=0):
    """Returns ids (3, steps) of texts, one of them shorter, and their mask."""
    rng, tokens = np.random.default_rng(0), np.delete(np.arange(modules.TOKENS), padding)
    ids, mask = rng.choice(tokens, (3, STEPS)), np.ones((3, STEPS), int)
    ids[:, 1], ids[1, 5:], mask[1, 5:] = tokens[0], padding, 0
    return torch.tensor(ids), torch.tensor(mask)


def computed(read, layer, ids, mask, segments=None):
    """Returns our network's output for columns like a DataFrame's."""
    columns = {"features": ids.numpy()[..., None]}
    if mask is not None:
        columns["mask"] = mask.numpy().astype(np.float32)
    if segments is not None:
        columns = {"tokens": columns["features"], "tokens_mask": columns["mask"]}
        columns["segments"] = segments.numpy()[..., None]
    batch = Batch(columns=columns, ids=np.arange(len(ids), dtype=np.uint64))
    return read.network._load().forward(batch, [layer])[layer]


CASES = {  # name: (config, kind for `encode`, None for GPT-2, prefix of the names)
    "bert": (BERT, 0, "bert."),
    "bert without a prefix": (BERT, 0, ""),
    "distilbert": (DISTILBERT, 1, "distilbert."),
    "gpt2": (GPT2, None, ""),
    "gpt2 with an id of padding": (GPT2 | {"pad_token_id": modules.TOKENS - 1}, None, ""),
    "gpt2 with a prefix": (GPT2, None, "transformer."),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_torch(name, tmp_path):
    config, kind, prefix = CASES[name]
    (ids, mask), weights = texts(), Weights()
    if kind is None:
        steps, logits = modules.decode(weights, ids, mask, prefix)
    else:
        steps, logits = modules.encode(weights, ids, mask, torch.zeros_like(ids), kind, prefix)
    modules.save(tmp_path, config, weights)
    read = read_transformer(str(tmp_path), steps=STEPS)
    here, last = mask.bool(), "norm" if kind is None else f"block{modules.DEPTH}/dense/norm"
    np.testing.assert_allclose(
        computed(read, last, ids, mask)[here], steps[here].numpy(), atol=1e-4
    )
    given, expected = computed(read, "output", ids, mask), torch.softmax(logits, -1).numpy()
    rows = here.numpy() if kind is None else slice(None)
    np.testing.assert_allclose(given[rows], expected[rows], atol=1e-5)
    assert not read.missing and not read.unused


@pytest.mark.parametrize("padding", [0, 4, modules.TOKENS - 1])
@pytest.mark.parametrize("kind", [0, 1])
def test_the_id_of_padding_is_masked_and_no_other(kind, padding, tmp_path):
    (ids, mask), weights = texts(padding), Weights()
    _, logits = modules.encode(weights, ids, mask, torch.zeros_like(ids), kind, "")
    modules.save(tmp_path, (BERT, DISTILBERT)[kind], weights, pad_token_id=padding)
    read, expected = read_transformer(str(tmp_path), steps=STEPS), torch.softmax(logits, -1)
    for column in (None, mask):
        given = computed(read, "output", ids, column)
        np.testing.assert_allclose(given, expected.numpy(), atol=1e-5)


def test_where_no_id_is_padding_the_column_of_the_mask_says_all(tmp_path):
    (ids, mask), weights = texts(), Weights()
    ids[0, 2] = 0
    _, logits = modules.encode(weights, ids, mask, torch.zeros_like(ids), 0, "")
    modules.save(tmp_path, BERT, weights, pad_token_id=None)
    given = computed(read_transformer(str(tmp_path), steps=STEPS), "output", ids, mask)
    np.testing.assert_allclose(given, torch.softmax(logits, -1).numpy(), atol=1e-5)


ONE = "single_label_classification"
SEVERAL = "multi_label_classification"
PROBLEMS = {  # name: (problem_type, labels, Hugging Face's function of the logits)
    "a number": (None, 1, lambda logits: logits),
    "one of two": (None, 2, lambda logits: torch.softmax(logits, -1)),
    "one of two, by name": (ONE, 2, lambda logits: torch.softmax(logits, -1)),
    "yes or no": (SEVERAL, 1, torch.sigmoid),
    "several of two": (SEVERAL, 2, torch.sigmoid),
    "a number, by name": ("regression", 1, lambda logits: logits),
    "two numbers": ("regression", 2, lambda logits: logits),
}


def classifier(folder, labels, **config):
    """Writes a BERT with a classifier; returns ids and logits."""
    (ids, mask), weights = texts(), Weights()
    weights.draw("classifier.weight", labels, modules.WIDTH)
    weights.draw("classifier.bias", labels)
    _, logits = modules.encode(weights, ids, mask, torch.zeros_like(ids), 0, "")
    modules.save(folder, BERT, weights, **config)
    return ids, logits


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_output_is_that_of_the_problem(name, tmp_path):
    problem, labels, output = PROBLEMS[name]
    ids, logits = classifier(tmp_path, labels, problem_type=problem)
    read = read_transformer(str(tmp_path), steps=STEPS)
    expected = output(logits).numpy()
    np.testing.assert_allclose(computed(read, "output", ids, None), expected, atol=1e-4)


def test_a_new_head_has_the_loss_of_its_number_of_classes(tmp_path):
    def loss(**options):
        return read_transformer(str(tmp_path), **options).network.conf.output.loss.type_name

    classifier(tmp_path, 1)
    assert loss(classes=3) == "softmax_cross_entropy"
    assert loss(loss="sigmoid_cross_entropy") == "sigmoid_cross_entropy"
    classifier(tmp_path, 2)
    assert loss(classes=1) == "mse"
    assert loss(classes=1, loss="sigmoid_cross_entropy") == "sigmoid_cross_entropy"
    classifier(tmp_path, 2, problem_type=ONE)
    with pytest.raises(UnsupportedError, match='of one class .* loss="sigmoid_cross_entropy"'):
        loss(classes=1)
    assert loss(classes=1, loss="mse") == "mse"


OF_TOKENS = {"architectures": ["DistilBertForTokenClassification"], "dropout": 0.3}
RATES = {  # name: (config, dropout rates of layers, as in transformers)
    "bert": (BERT, {"dropout": 0.1, "block1/dense/dropout": 0.1, "output/dropout": 0.1}),
    "bert's classifier": (
        BERT | {"hidden_dropout_prob": 0.0, "classifier_dropout": 0.4},
        {"dropout": None, "block1/dense/dropout": None, "output/dropout": 0.4},
    ),
    "bert's other layers": (
        BERT | {"hidden_dropout_prob": 0.3, "classifier_dropout": 0.0},
        {"dropout": 0.3, "block2/attention/dropout": 0.3, "output/dropout": None},
    ),
    "bert, as null says": (
        BERT | {"hidden_dropout_prob": 0.3, "classifier_dropout": None},
        {"dropout": 0.3, "output/dropout": 0.3},
    ),
    "distilbert": (
        DISTILBERT,
        {"block1/attention/1": 0.1, "block1/attention/dropout": None, "block1/dense/dropout": 0.1}
        | {"dropout": 0.1, "output/dropout": 0.2},
    ),
    "distilbert's classifier": (
        DISTILBERT | {"seq_classif_dropout": 0.4},
        {"dropout": 0.1, "output/dropout": 0.4},
    ),
    "distilbert of tokens": (
        DISTILBERT | OF_TOKENS,
        {"dropout": 0.3, "output/dropout": 0.3},
    ),
    "gpt2": (
        GPT2 | {"embd_pdrop": 0.4, "resid_pdrop": 0.2, "attn_pdrop": 0.3},
        {"dropout": 0.4, "block1/attention/1": 0.3, "block1/attention/dropout": 0.2},
    ),
    "gpt2 without some": (
        GPT2 | {"embd_pdrop": 0.0, "resid_pdrop": 0.2, "attn_pdrop": 0.0},
        {"dropout": None, "block1/attention/1": None, "block2/dense/dropout": 0.2},
    ),
}


def rates(folder, **options):
    """Returns {layer: rate} of the layers with dropout."""
    layers = {p.name: p.layer for p in read_transformer(folder, **options).network.conf.stack}
    found = {n: getattr(x, "rate", getattr(x, "dropout", None)) for n, x in layers.items()}
    return {name: rate for name, rate in found.items() if rate}


@pytest.mark.parametrize("name", RATES)
def test_dropout_is_that_of_the_config(name, tmp_path):
    config, expected = RATES[name]
    (ids, mask), weights = texts(), Weights()
    if config["model_type"] == "gpt2":
        modules.decode(weights, ids, mask, "")
    else:
        kind = int(config["model_type"] == "distilbert")
        modules.encode(weights, ids, mask, torch.zeros_like(ids), kind, "")
    modules.save(tmp_path, config, weights)
    given = rates(str(tmp_path))
    assert {layer: given.get(layer) for layer in expected} == expected
    assert not rates(str(tmp_path), dropout=0.0, attention_dropout=0.0)


def test_pairs_of_texts(tmp_path):
    (ids, mask), weights = texts(), Weights()
    segments = (torch.arange(STEPS) > 3).long().expand_as(ids)
    _, logits = modules.encode(weights, ids, mask, segments, 0, "bert.")
    modules.save(tmp_path, BERT, weights)
    read = read_transformer(str(tmp_path), steps=STEPS, segments=True)
    given = computed(read, "output", ids, mask, segments)
    np.testing.assert_allclose(given, torch.softmax(logits, -1).numpy(), atol=1e-5)


def test_sentences_of_sentence_transformers(tmp_path):
    """MiniLM: the mean of the tokens, with the names and file endings of older versions."""
    (ids, mask), weights = texts(), Weights()
    steps, _ = modules.encode(weights, ids, mask, torch.zeros_like(ids), 0, "")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {
        next((n.replace(new, was) for new, was in old.items() if n.endswith(new)), n): w
        for n, w in weights.items()
        if not n.startswith("classifier")
    }
    modules.save(tmp_path, BERT, renamed | {"embeddings.position_ids": torch.arange(12)})
    (tmp_path / "1_Pooling").mkdir()
    modes = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    read = read_transformer(str(tmp_path), steps=STEPS)
    expected = (steps * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    np.testing.assert_allclose(computed(read, "mean", ids, mask), expected.numpy(), atol=1e-4)
    assert read.unused == ("pooler.dense.bias", "pooler.dense.weight") and not read.missing


SLOPES = {
    "embedding/W": "embeddings.word_embeddings",
    "norm/gamma": "embeddings.LayerNorm",
    "block1/attention/1/Wq": "encoder.layer.0.attention.self.query",
    "block1/attention/1/Wo": "encoder.layer.0.attention.output.dense",
    "block2/dense/1/W": "encoder.layer.1.intermediate.dense",
    "block2/dense/norm/gamma": "encoder.layer.1.output.LayerNorm",
    "pooler/W": "pooler.dense",
}


def test_a_new_head_and_the_gradients_of_torch(tmp_path):
    """The file is written by torch.save; its classifier has another number of classes."""
    (ids, mask), weights = texts(), Weights()
    modules.encode(weights, ids, mask, torch.zeros_like(ids), 0, "bert.")
    modules.save(tmp_path, BERT, weights)
    (tmp_path / "model.safetensors").unlink()
    torch.save(dict(weights), tmp_path / "pytorch_model.bin")
    read = read_transformer(str(tmp_path), steps=STEPS, classes=3)
    assert read.missing == ("output/W", "output/b")
    assert read.unused == ("classifier.weight", "classifier.bias")
    read = read_transformer(str(tmp_path), steps=STEPS, dropout=0, attention_dropout=0)
    for weight in weights.values():
        weight.requires_grad_()
    _, logits = modules.encode(weights, ids, mask, torch.zeros_like(ids), 0, "bert.")
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0, 1]))
    loss.backward()
    columns = {"features": ids.numpy()[..., None], "labels": np.array([1, 0, 1])}
    replica = read.network._load()
    [given, *_] = replica.gradient(Batch(columns=columns, ids=np.arange(3, dtype=np.uint64)))
    assert given == pytest.approx(3 * loss.item(), rel=1e-5)
    slopes = read.network.conf.params_layout.views(replica.grad)
    for ours, theirs in SLOPES.items():
        expected = weights[f"bert.{theirs}.weight"].grad.numpy()
        turned = expected.T if "W" in ours and "embedding" not in ours else expected
        np.testing.assert_allclose(slopes[ours], turned, atol=1e-4 * np.abs(expected).max())


def test_all_that_is_not_supported_is_listed(tmp_path):
    other = {"is_decoder": True, "position_embedding_type": "relative_key"}
    (tmp_path / "config.json").write_text(json.dumps(BERT | other))
    with pytest.raises(UnsupportedError, match="is_decoder=True, position_embedding_type='rel"):
        read_transformer(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(BERT | {"model_type": "llama"}))
    with pytest.raises(UnsupportedError, match=r"one of \['bert', 'distilbert', 'gpt2'\], got 'll"):
        read_transformer(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(BERT | {"hidden_act": "snake"}))
    with pytest.raises(UnsupportedError, match="hidden_act='snake' is not supported"):
        read_transformer(str(tmp_path))


def test_all_that_does_not_fit_is_listed(tmp_path):
    with pytest.raises(DataError, match="config.json"):
        read_transformer(str(tmp_path))
    weights, (ids, mask) = Weights(), texts()
    modules.decode(weights, ids, mask, "")
    missing = weights.pop("h.1.ln_2.weight")
    modules.save(tmp_path, GPT2, weights | {"ln_f.bias": missing[:3]})
    with pytest.raises(DataError) as error:
        read_transformer(str(tmp_path))
    assert "block2/dense/norm/gamma: no array in the file" in str(error.value)
    assert "ln_f.bias in norm/beta: (3,) does not give (16,)" in str(error.value)
    modules.save(tmp_path, GPT2, weights)
    for options, words in (
        ({"steps": 99}, r"in \[1, 12\], got 99"),
        ({"pooling": "mean"}, "None for GPT"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_transformer(str(tmp_path), **options)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(DataError, match="has neither of"):
        read_transformer(str(tmp_path))
