"""Construction and training of tokenizers of each kind."""

from sparkdl.errors import ConfigError, needs_package
from sparkdl.spark.text.merges import Merges

KINDS = ("wordpiece", "bpe")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
GPT = "<|endoftext|>"


def load_tokenizers():
    """Returns the package tokenizers; raises ConfigError if it is not installed."""
    where = "tokenizers in each process"
    with needs_package("a Tokenizer", where, "pip install tokenizers", ConfigError):
        import tokenizers
    return tokenizers


def untrained(kind, lowercase):
    """Returns a tokenizers.Tokenizer that splits texts into words, still without tokens."""
    package = load_tokenizers()
    if kind == "wordpiece":
        tokenizer = package.Tokenizer(package.models.WordPiece(unk_token=BERT[1]))
        tokenizer.normalizer = package.normalizers.BertNormalizer(lowercase=lowercase)
        tokenizer.pre_tokenizer = package.pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = package.decoders.WordPiece()
        return tokenizer
    tokenizer = package.Tokenizer(package.models.BPE())
    if lowercase:
        tokenizer.normalizer = package.normalizers.Lowercase()
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = package.decoders.ByteLevel()
    return tokenizer


def train(tokenizer, kind, words, size, least):
    """Returns the tokenizer.json text with the tokens learned from {word: count}."""
    package = load_tokenizers()
    special = BERT if kind == "wordpiece" else (GPT,)
    letters = () if kind == "wordpiece" else sorted(package.pre_tokenizers.ByteLevel.alphabet())
    learned = Merges(words, [*special, *letters], "##" if kind == "wordpiece" else "")
    learned.grow(size, least)
    if kind == "wordpiece":
        tokenizer.model = package.models.WordPiece(learned.vocabulary, unk_token=BERT[1])
        framed = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}
        ends = [(name, learned.vocabulary[name]) for name in ("[CLS]", "[SEP]")]
        post = package.processors.TemplateProcessing(**framed, special_tokens=ends)
        tokenizer.post_processor = post
    else:
        tokenizer.model = package.models.BPE(learned.vocabulary, learned.merges)
    tokenizer.add_special_tokens([*special])
    return tokenizer.to_str()
