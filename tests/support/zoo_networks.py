"""The zoo's networks by kind: those on ids have embedding tables, which GPUs do not support."""

from sparkdl.nn import zoo

OF_IDS = {"deep_fm", "dlrm", "factorization_machine", "wide_deep"}
OF_WORDS = {"bert", "gpt2"}  # large; of the layers of "transformer", which stands for them
OF_ARRAYS = [name for name in zoo.__all__ if name not in OF_IDS | OF_WORDS]
