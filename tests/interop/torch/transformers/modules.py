"""BERT, DistilBERT and GPT-2 in plain torch with Hugging Face's names, and their folders."""

import json

WIDTH, HEADS, DEPTH, HIDDEN, TOKENS, PLACES = 16, 4, 2, 24, 30, 12
BERT = {
    "model_type": "bert",
    "vocab_size": TOKENS,
    "hidden_size": WIDTH,
    "num_hidden_layers": DEPTH,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "max_position_embeddings": PLACES,
    "hidden_act": "gelu",
    "torch_dtype": "float32",
    "use_cache": True,
}
DISTILBERT = {
    "model_type": "distilbert",
    "vocab_size": TOKENS,
    "dim": WIDTH,
    "n_layers": DEPTH,
    "n_heads": HEADS,
    "hidden_dim": HIDDEN,
    "max_position_embeddings": PLACES,
}
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": TOKENS,
    "n_positions": PLACES,
    "n_embd": WIDTH,
    "n_layer": DEPTH,
    "n_head": HEADS,
}
NAMES = {  # parts of blocks and heads: their names in BERT and in DistilBERT
    "query": ("attention.self.query", "attention.q_lin"),
    "key": ("attention.self.key", "attention.k_lin"),
    "value": ("attention.self.value", "attention.v_lin"),
    "mixed": ("attention.output.dense", "attention.out_lin"),
    "norm1": ("attention.output.LayerNorm", "sa_layer_norm"),
    "up": ("intermediate.dense", "ffn.lin1"),
    "down": ("output.dense", "ffn.lin2"),
    "norm2": ("output.LayerNorm", "output_layer_norm"),
    "block": ("encoder.layer", "transformer.layer"),
    "pooler": ("pooler.dense", "pre_classifier"),
}


def attend(q, k, v, mask, causal=False):
    """Returns softmax(q k / sqrt(d)) v of each head, by torch's own function."""
    import torch

    def heads(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    seen = mask[:, None, None, :].bool()
    if causal:
        steps = mask.shape[1]
        seen = seen & torch.ones(steps, steps, dtype=torch.bool).tril()
    y = torch.nn.functional.scaled_dot_product_attention(*map(heads, (q, k, v)), attn_mask=seen)
    return y.transpose(1, 2).flatten(2)


class Weights(dict):
    """{name in the file: tensor}, drawn on first use, and the layers that use them."""

    def draw(self, name, *shape):
        import torch

        if name not in self:
            seeded = torch.Generator().manual_seed(len(self))
            self[name] = torch.randn(shape, generator=seeded) * 0.5
        return self[name]

    def linear(self, x, name, units):
        weight = self.draw(f"{name}.weight", units, x.shape[-1])
        return x @ weight.T + self.draw(f"{name}.bias", units)

    def conv1d(self, x, name, units):
        """GPT-2's variant of a Linear, with a transposed weight."""
        weight = self.draw(f"{name}.weight", x.shape[-1], units)
        return x @ weight + self.draw(f"{name}.bias", units)

    def norm(self, x, name, epsilon):
        import torch

        parts = self.draw(f"{name}.weight", WIDTH), self.draw(f"{name}.bias", WIDTH)
        return torch.nn.functional.layer_norm(x, (WIDTH,), *parts, epsilon)


def encode(weights, ids, mask, segments, kind, prefix):
    """Returns (last hidden states, logits of two classes) of BERT, or DistilBERT if kind is 1."""
    import torch

    name = {part: names[kind] for part, names in NAMES.items()}
    tables = f"{prefix}embeddings"
    x = weights.draw(f"{tables}.word_embeddings.weight", TOKENS, WIDTH)[ids]
    x = x + weights.draw(f"{tables}.position_embeddings.weight", PLACES, WIDTH)[: x.shape[1]]
    if kind == 0:
        x = x + weights.draw(f"{tables}.token_type_embeddings.weight", 2, WIDTH)[segments]
    x = weights.norm(x, f"{tables}.LayerNorm", 1e-12)
    for number in range(DEPTH):
        block = f"{prefix}{name['block']}.{number}"
        parts = [weights.linear(x, f"{block}.{name[p]}", WIDTH) for p in ("query", "key", "value")]
        y = weights.linear(attend(*parts, mask), f"{block}.{name['mixed']}", WIDTH)
        x = weights.norm(x + y, f"{block}.{name['norm1']}", 1e-12)
        y = torch.nn.functional.gelu(weights.linear(x, f"{block}.{name['up']}", HIDDEN))
        y = weights.linear(y, f"{block}.{name['down']}", WIDTH)
        x = weights.norm(x + y, f"{block}.{name['norm2']}", 1e-12)
    pooler = f"{prefix}pooler.dense" if kind == 0 else "pre_classifier"
    pooled = weights.linear(x[:, 0], pooler, WIDTH)
    pooled = torch.relu(pooled) if kind else torch.tanh(pooled)
    return x, weights.linear(pooled, "classifier", 2)


def decode(weights, ids, mask, prefix):
    """Returns (last hidden states, logits of the next tokens) of GPT-2."""
    import torch

    table = weights.draw(f"{prefix}wte.weight", TOKENS, WIDTH)
    x = table[ids] + weights.draw(f"{prefix}wpe.weight", PLACES, WIDTH)[: ids.shape[1]]
    for number in range(DEPTH):
        block = f"{prefix}h.{number}"
        y = weights.norm(x, f"{block}.ln_1", 1e-5)
        parts = weights.conv1d(y, f"{block}.attn.c_attn", 3 * WIDTH).split(WIDTH, dim=-1)
        x = x + weights.conv1d(attend(*parts, mask, causal=True), f"{block}.attn.c_proj", WIDTH)
        y = weights.conv1d(weights.norm(x, f"{block}.ln_2", 1e-5), f"{block}.mlp.c_fc", 4 * WIDTH)
        y = torch.nn.functional.gelu(y, approximate="tanh")
        x = x + weights.conv1d(y, f"{block}.mlp.c_proj", WIDTH)
    x = weights.norm(x, f"{prefix}ln_f", 1e-5)
    return x, x @ table.T


def save(folder, config, weights, **more):
    """Writes a folder in Hugging Face's layout."""
    from safetensors.torch import save_file

    (folder / "config.json").write_text(json.dumps(config | more))
    save_file({n: w.contiguous() for n, w in weights.items()}, folder / "model.safetensors")
