"""Options of zoo functions from a transformer's config.json."""

from sparkdl.errors import UnsupportedError, brief
from sparkdl.interop.options import Options
from sparkdl.nn.activations import Gelu

ACTIVATIONS = {
    "gelu": Gelu(),
    "gelu_new": Gelu(approximate=True),
    "gelu_pytorch_tanh": Gelu(approximate=True),
    "relu": "relu",
    "silu": "swish",
    "swish": "swish",
    "tanh": "tanh",
}
LOSSES = {
    "single_label_classification": "softmax_cross_entropy",
    "multi_label_classification": "sigmoid_cross_entropy",
    "regression": "mse",
}
# Options that change results, with the only value that zoo networks support.
COMMON = {"is_decoder": False, "is_encoder_decoder": False, "add_cross_attention": False}
COMMON |= {"pruned_heads": {}, "position_embedding_type": "absolute"}
OF_GPT2 = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}
OF_PLACES = ("embedding_dropout", "classifier_dropout")  # where dropout may differ from "dropout"
BERT = {
    "tokens": "vocab_size",
    "steps": "max_position_embeddings",
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden": "intermediate_size",
}
DISTILBERT = {
    "tokens": "vocab_size",
    "steps": "max_position_embeddings",
    "width": "dim",
    "depth": "n_layers",
    "heads": "n_heads",
    "hidden": "hidden_dim",
}
GPT2 = {
    "tokens": "vocab_size",
    "steps": "n_positions",
    "width": "n_embd",
    "depth": "n_layer",
    "heads": "n_head",
}


def bert(config):
    """Returns the options of zoo.bert for a BERT or MiniLM."""
    return sizes(config, BERT) | {
        "dropout": config.number("hidden_dropout_prob", 0.1),
        "attention_dropout": config.number("attention_probs_dropout_prob", 0.1),
        "classifier_dropout": nullable(config, Options.number, "classifier_dropout"),
        "activation": activation(config, "hidden_act", "gelu"),
        "epsilon": config.number("layer_norm_eps", 1e-12),
        "padding_id": nullable(config, Options.size, "pad_token_id", 0),
    }


def distilbert(config):
    """Returns the options of zoo.bert for a DistilBERT."""
    of_texts = config.number("seq_classif_dropout", 0.2)
    return sizes(config, DISTILBERT) | {
        "dropout": config.number("dropout", 0.1),
        "attention_dropout": config.number("attention_dropout", 0.1),
        "mixed_dropout": 0.0,
        "classifier_dropout": None if of_tokens(config) else of_texts,
        "activation": activation(config, "activation", "gelu"),
        "pooler": "relu",
        "padding_id": nullable(config, Options.size, "pad_token_id", 0),
    }


def gpt2(config):
    """Returns the options of zoo.gpt2; its steps are causal and do not see padding after them."""
    refuse_other(config, OF_GPT2)
    return sizes(config, GPT2) | {
        "hidden": nullable(config, Options.size, "n_inner"),
        "dropout": config.number("resid_pdrop", 0.1),
        "attention_dropout": config.number("attn_pdrop", 0.1),
        "embedding_dropout": config.number("embd_pdrop", 0.1),
        "activation": activation(config, "activation_function", "gelu_new"),
        "epsilon": config.number("layer_norm_epsilon", 1e-5),
    }


def of_tokens(config):
    """Returns whether a file's model classifies tokens, not texts."""
    return "ForTokenClassification" in str(config.take("architectures"))


def sizes(config, names):
    """Returns {option: integer} of required options."""
    refuse_other(config, COMMON)
    return {option: config.size(name) for option, name in names.items()}


def nullable(config, read, name, default=None):
    """Returns an option read by a function of Options; None if the file has null."""
    return None if config.take(name, default) is None else read(config, name, default)


def activation(config, name, default):
    """Returns sparkdl's activation function for the file's name."""
    value = config.take(name, default)
    config.need(isinstance(value, str) and value in ACTIVATIONS, name, value)
    return ACTIVATIONS[value]


def refuse_other(config, values):
    """Raises UnsupportedError that lists all options that are present with another value."""
    given = {name: config.take(name, value) for name, value in values.items()}
    others = [f"{n}={brief(v)}" for n, v in given.items() if v is not None and v != values[n]]
    if others:
        raise UnsupportedError(f"{', '.join(others)} is not supported")


def loss(config, classes):
    """Returns the loss for the problem type in a file, else for the number of classes."""
    name = config.take("problem_type")
    if name is None:
        name = "regression" if classes == 1 else "single_label_classification"
    config.need(isinstance(name, str) and name in LOSSES, "problem_type", name)
    if classes == 1 and name == "single_label_classification":
        raise UnsupportedError(
            f"problem_type={name!r} of one class is not supported, whose probability is always 1; "
            'give loss="sigmoid_cross_entropy" for yes or no, loss="mse" for a number'
        )
    return LOSSES[name]
