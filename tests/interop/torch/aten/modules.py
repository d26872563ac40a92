"""Modules of many kinds, with the shapes of their inputs; "ids" are whole numbers."""

from tests.interop.torch.weights import modules


def functional(parts, run):
    """Returns a module of {name: module} that computes `run(module, inputs)`."""
    from torch import nn

    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, *inputs):
            return run(self, *inputs)

    return Functional()


def texts():
    """An embedding, a convolution over time, and the mean over the steps."""
    from torch import nn

    steps = nn.Conv1d(8, 6, 3, padding="same"), nn.BatchNorm1d(6), nn.ELU(0.5), nn.MaxPool1d(2)
    parts = {"embedding": nn.Embedding(20, 8), "steps": nn.Sequential(*steps)}
    parts["head"] = nn.Linear(6, 3)
    return functional(
        parts, lambda m, ids: m.head(m.steps(m.embedding(ids).transpose(1, 2)).mean(-1))
    )


def gated():
    """A MobileNet block: depthwise convolution, a gate per channel, ReLU6, a shortcut."""
    from torch import nn

    gate = nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid()
    parts = {
        "wide": nn.Sequential(nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()),
        "deep": nn.Conv2d(8, 8, 3, padding=1, groups=8),
        "gate": nn.Sequential(*gate),
        "narrow": nn.Conv2d(8, 4, 1),
        "head": nn.Linear(4 * 6 * 6, 3),
    }

    def run(m, x):
        y = m.deep(m.wide(x))
        y = x + m.narrow(y * m.gate(y))
        return m.head(y.view(x.shape[0], -1)) * 0.5 - 1

    return functional(parts, run)


def autoencoder():
    from torch import nn

    down = nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Flatten()
    up = nn.Unflatten(1, (4, 4, 4)), nn.ConvTranspose2d(4, 1, 3, 2, 1, output_padding=1)
    return nn.Sequential(*down, nn.Linear(64, 64), nn.PReLU(), *up, nn.Tanh())


def joined():
    """A DenseNet block: each layer's output is concatenated to its input."""
    from torch import cat, nn

    parts = {f"conv{i}": nn.Conv2d(3 + 2 * i, 2, 3, padding=1) for i in range(3)}
    parts |= {"pool": nn.AvgPool2d(3, 2, 1), "head": nn.Linear(9, 4), "dropout": nn.Dropout(0.5)}

    def run(m, x):
        for conv in (m.conv0, m.conv1, m.conv2):
            x = cat([x, conv(nn.functional.relu(x))], 1)
        return m.head(m.dropout(m.pool(x).mean(dim=(2, 3)))).softmax(-1)

    return functional(parts, run)


def mixer():
    """An MLP-Mixer block after learned positions."""
    import torch
    from torch import nn

    parts = {"norm1": nn.LayerNorm(6), "norm2": nn.LayerNorm(6), "over": nn.Linear(5, 5)}
    parts |= {"up": nn.Linear(6, 12), "down": nn.Linear(12, 6), "head": nn.Linear(6, 3)}

    def run(m, x):
        x = x + m.places
        x = x + m.over(m.norm1(x).transpose(1, 2)).permute(0, 2, 1)
        x = x + m.down(nn.functional.gelu(m.up(m.norm2(x)), approximate="tanh"))
        return m.head(x[:, 0])

    module = functional(parts, run)
    module.places = nn.Parameter(torch.randn(1, 5, 6))
    return module


def two_inputs():
    from torch import cat, nn

    parts = {"ids": nn.Embedding(20, 4), "rows": nn.Linear(3, 4), "head": nn.Linear(20, 2)}
    return functional(
        parts, lambda m, ids, x: m.head(cat([m.ids(ids).flatten(1), m.rows(x).tanh()], -1))
    )


def encoder():
    """Two transformer blocks, the second with a causal mask, and cross-attention."""
    import torch
    from torch import nn

    block = {"dim_feedforward": 16, "dropout": 0.0, "batch_first": True}
    parts = {"embedding": nn.Embedding(20, 8), "head": nn.Linear(8, 3)}
    parts |= {"one": nn.TransformerEncoderLayer(8, 2, activation="gelu", **block)}
    parts |= {"two": nn.TransformerEncoderLayer(8, 4, norm_first=True, **block)}
    parts |= {"across": nn.MultiheadAttention(8, 2, bias=False, batch_first=True)}

    def run(m, ids):
        x = m.embedding(ids)
        y = m.two(m.one(x), src_mask=m.later)
        return m.head((y + m.across(y, x, x)[0])[:, -1])

    module = functional(parts, run)
    module.register_buffer("later", torch.ones(4, 4, dtype=torch.bool).triu(1))
    return module


def gpt():
    """Attention written by hand: one projection to q, k and v, a mask in a buffer, a softmax."""
    import torch
    from torch import nn

    parts = {"tokens": nn.Embedding(20, 8), "places": nn.Embedding(4, 8), "norm": nn.LayerNorm(8)}
    parts |= {"qkv": nn.Linear(8, 24), "out": nn.Linear(8, 8), "head": nn.Linear(8, 3)}
    parts |= {"up": nn.Linear(8, 16), "down": nn.Linear(16, 8)}

    def run(m, ids):
        n, steps = ids.shape
        x = m.tokens(ids) + m.places(torch.arange(steps))
        q, k, v = m.qkv(m.norm(x)).split(8, dim=2)
        q, k, v = (one.view(n, steps, 2, 4).transpose(1, 2) for one in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) / 4**0.5
        scores = scores.masked_fill(m.seen[:, :, :steps, :steps] == 0, float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        x = x + m.out(y.transpose(1, 2).contiguous().view(n, steps, 8))
        x = x + m.down(nn.functional.gelu(m.up(x)))
        return m.head(x[:, -1, :])

    module = functional(parts, run)
    module.register_buffer("seen", torch.tril(torch.ones(4, 4)).view(1, 1, 4, 4))
    return module


def bert():
    """Bidirectional attention by torch's function, BERT's own gelu, and the first step."""
    import torch
    from torch import nn

    parts = {"tokens": nn.Embedding(20, 8), "norm": nn.LayerNorm(8), "head": nn.Linear(8, 3)}
    parts |= {name: nn.Linear(8, 8) for name in ("q", "k", "v", "out", "up")}

    def run(m, ids):
        n, steps = ids.shape
        x = m.tokens(ids)
        heads = [part(x).view(n, steps, 2, 4).permute(0, 2, 1, 3) for part in (m.q, m.k, m.v)]
        y = nn.functional.scaled_dot_product_attention(*heads)
        x = m.norm(x + m.out(y.permute(0, 2, 1, 3).reshape(n, steps, 8)))
        x = m.up(x)
        x = x * 0.5 * (1.0 + torch.erf(x / 2**0.5))
        return m.head(torch.tanh(x[:, 0]))

    return functional(parts, run)


def causal():
    """torch's attention with is_causal and with a boolean mask; RMSNorm written by hand."""
    import torch
    from torch import nn

    def run(m, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * m.weight
        attend = nn.functional.scaled_dot_product_attention
        y = attend(m.q(x), m.k(x), x, is_causal=True)
        one, two = (y - attend(x, x, y, attn_mask=m.seen, scale=0.7)).chunk(2, dim=-1)
        return m.head(torch.where(m.seen[:, :3], one * torch.sigmoid(two), 0.5))

    parts = {name: nn.Linear(6, 6) for name in "qk"} | {"head": nn.Linear(3, 2)}
    module = functional(parts, run)
    module.weight = nn.Parameter(torch.rand(6))
    module.register_buffer("seen", torch.eye(4, dtype=torch.bool) | (torch.rand(4, 4) > 0.5))
    return module


def grouped():
    """Normalizations per group of channels and per channel, with and without factors."""
    from torch import nn

    norms = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.GroupNorm(4, 4, affine=False)
    first = nn.Conv2d(3, 4, 3), norms[0], nn.ReLU(), norms[1], nn.SiLU(), norms[2]
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(4 * 9, 3))


def frozen():
    """A frozen layer and a frozen BatchNorm, whose statistics still follow the batches."""
    from torch import nn

    parts = nn.Linear(4, 6), nn.BatchNorm1d(6, momentum=0.3), nn.Tanh(), nn.Linear(6, 3)
    for part in parts[:2]:
        part.requires_grad_(False)
    return nn.Sequential(*parts)


def buffered():
    """A matrix, filters and an offset in buffers."""
    import torch
    from torch import nn

    def run(m, x):
        x = torch.tanh(x @ m.matrix) - m.offset
        return m.head(nn.functional.conv2d(x.view(x.shape[0], 1, 2, 4), m.filters).flatten(1))

    module = functional({"head": nn.Linear(6, 3)}, run)
    shapes = {"matrix": (4, 8), "filters": (2, 1, 2, 2), "offset": (8,)}
    for name, shape in shapes.items():
        module.register_buffer(name, torch.randn(shape))
    return module


def padded():
    from torch import nn

    parts = {"ids": nn.Embedding(20, 8, padding_idx=3), "head": nn.Linear(8, 3)}
    return functional(parts, lambda m, ids: m.head(m.ids(ids).mean(1)))


def padded_by_numbers():
    """Its padding row is not zero, as in published weights."""
    from torch import nn

    module = padded()
    nn.init.normal_(module.ids.weight)
    return module


def typed(expand):
    """BERT's embeddings without given token types, which come from a buffer of zeros."""

    def make():
        import torch
        from torch import nn

        def run(m, ids):
            n, steps = ids.shape
            types = m.zeros[:, :steps]
            y = m.tokens(ids) + m.types(types.expand(n, steps) if expand else types)
            return m.head(m.norm(y).tanh().mean(1))

        parts = {"tokens": nn.Embedding(20, 8), "types": nn.Embedding(2, 8)}
        parts |= {"norm": nn.LayerNorm(8), "head": nn.Linear(8, 3)}
        module = functional(parts, run)
        module.register_buffer("zeros", torch.zeros((1, 9), dtype=torch.long))
        return module

    return make


def normed_twice():
    from torch import nn

    parts = {"norm": nn.BatchNorm1d(4), "layer": nn.Linear(4, 4), "head": nn.Linear(4, 3)}
    return functional(parts, lambda m, x: m.head(m.norm(m.layer(m.norm(x)).tanh())))


def tied():
    """A layer and a part of a parameter are used twice, another part once."""
    import torch
    from torch import nn

    linear = nn.functional.linear

    def run(m, x):
        x = m.again(torch.tanh(m.again(x)))
        y = torch.tanh(linear(torch.tanh(linear(x, m.parts[:4])), m.parts[:4]))
        return m.head(y * linear(x, m.parts[4:]))

    module = functional({"again": nn.Linear(4, 4), "head": nn.Linear(4, 3)}, run)
    module.parts = nn.Parameter(torch.randn(8, 4))
    return module


def single():
    """Scalar parameters, a subtracted parameter, and attention biases."""
    import torch
    from torch import nn

    def run(m, x):
        y = m.bend(m.rows(x) * m.factor + m.shift) - m.places
        y = nn.functional.scaled_dot_product_attention(y, y, y, attn_mask=m.biases)
        return m.head((y - m.offset).flatten(1))

    parts = {"bend": nn.PReLU(), "rows": nn.Linear(4, 4), "head": nn.Linear(20, 3)}
    module = functional(parts, run)
    shapes = {"factor": (), "shift": (1,), "places": (5, 4), "biases": (5, 5), "offset": ()}
    for name, shape in shapes.items():
        setattr(module, name, nn.Parameter(torch.rand(shape) + 0.5))
    return module


def with_parameters(shapes, run, **parts):
    """Returns a function that builds a module of {name: module} and parameters {name: shape}."""

    def make():
        import torch
        from torch import nn

        module = functional({name: part() for name, part in parts.items()}, run)
        for name, shape in shapes.items():
            setattr(module, name, nn.Parameter(torch.rand(shape) + 0.5))
        return module

    return make


def linear(*sizes):
    def make():
        from torch import nn

        return nn.Linear(*sizes)

    return make


def mobile():
    """MobileNetV3's gates, adaptive pooling, and a Linear on channels-last data, as in ConvNeXt."""
    from torch import nn

    parts = {"conv": nn.Conv2d(3, 8, 3), "swish": nn.Hardswish(), "gate": nn.Hardsigmoid()}
    parts |= {"pool": nn.AdaptiveAvgPool2d((3, 2)), "last": nn.Linear(8, 4)}
    parts["head"] = nn.Linear(24, 3)

    def run(m, x):
        y = m.conv(x)
        y = m.pool(m.swish(3 * y) * m.gate(4 * y)).permute(0, 2, 3, 1)
        return m.head(nn.functional.adaptive_avg_pool2d(m.last(y), (2, 4)).flatten(1))

    return functional(parts, run)


def rows_without_bias():
    from torch import nn

    return nn.Linear(4, 6, bias=False)


def vit():
    """A vision transformer: a class token, then the patches of an image."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
    parts = {"patches": nn.Conv2d(3, 8, 4, 4), "block": layer, "norm": nn.LayerNorm(8)}

    def run(m, x):
        tokens = m.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([m.token.expand(x.shape[0], -1, -1), tokens], dim=1) + m.places
        return m.head(m.norm(m.block(y))[:, 0])

    module = functional(parts | {"head": nn.Linear(8, 3)}, run)
    module.token = nn.Parameter(torch.randn(1, 1, 8))
    module.places = nn.Parameter(torch.randn(1, 5, 8))
    return module


def scaled(m, x):
    """Similarities with a temperature, as in CLIP."""
    y = m.rows(x)
    return m.head(y / y.pow(2).sum(-1, keepdim=True).sqrt()) * m.scale.exp() / m.divisor


def normalized(m, x):
    """Similarities of unit vectors."""
    from torch.nn.functional import normalize

    y = normalize(m.rows(x), dim=-1)
    return m.head(y / y.norm(p=1, dim=-1, keepdim=True) * y.norm(dim=1, keepdim=True)).exp()


def gates(m, x):
    """Factors and offsets computed from parameters: per step, per channel, and per both."""
    y = m.rows(x).clamp(max=1) * m.channels.sigmoid().clamp(min=0.1) + (
        1 + m.steps.tanh()
    ) * m.first / (m.last * m.channels)
    return m.head((y * m.steps.sigmoid()).flatten(1))


def repeated(m, x):
    """A parameter repeated for each example, added to the steps and appended to them."""
    import torch

    token = m.token.repeat(x.shape[0], 1, 1)
    return m.head(torch.cat([x + token, token * 2], 1).flatten(1))


def between(m, x):
    return m.head((x.view(-1, 3, 2, 4) * m.weight / m.weight).flatten(1))


def broadcast_to(m, x):
    """Expands a parameter and a buffer to the shape of an input; the gate starts at 0."""
    import torch

    fixed = (m.fixed.expand_as(x) + m.fixed).view(x.shape[0], 2, 2).flatten(1)
    return m.head(x + m.gate * (torch.tanh(x) * m.own.expand_as(x) + fixed))


def with_gate():
    module = with_parameters({"own": (1, 4), "gate": (4,)}, broadcast_to, head=linear(4, 3))()
    module.gate.data.zero_()
    module.register_buffer("fixed", module.own.detach() * 2)
    return module


def frozen_token():
    """A vision transformer with a constant class token, of which only the head is trained."""
    module = vit().requires_grad_(False)
    module.head.requires_grad_(True)
    return module


def zeros(m, x):
    """Normalizes rows that are mostly zero, which have no direction and no gradient."""
    from torch.nn.functional import normalize

    return m.head(normalize(m.rows(x.clamp(min=1) - 1), dim=-1)) * (1 - m.last.sigmoid()) / 2


def last_states(kind, run):
    """Returns a function that builds two recurrent layers in both directions before a head."""

    def make():
        from torch import nn

        layer = getattr(nn, kind)(3, 4, 2, batch_first=True, bidirectional=True)
        return functional({"steps": layer, "head": nn.Linear(8, 2)}, run)

    return make


def of_lstm(m, x):
    import torch

    _, (states, _) = m.steps(x)
    return m.head(torch.cat([states[-2], states[-1]], 1))


def of_gru(m, x):
    import torch

    states = m.steps(x)[1]
    return m.head(torch.cat([states[0], states[3]], 1))


def one_state():
    from torch import nn

    parts = {"steps": nn.GRU(3, 4, batch_first=True), "head": nn.Linear(4, 2)}
    return functional(parts, lambda m, x: m.head(m.steps(x)[1].squeeze(0)))


def text_cnn():
    """Convolutions of several widths, and the largest number of each over the text."""
    import torch
    from torch import nn

    def run(m, ids):
        x = m.embedding(ids).transpose(1, 2)
        pooled = torch.relu(m.three(x)).max(-1).values, torch.relu(m.two(x)).amax(2)
        means = nn.functional.avg_pool1d(m.two(x), 2, padding=1)
        most = nn.functional.adaptive_max_pool1d(m.three(x), 1).squeeze(-1)
        return m.head(torch.cat([*pooled, means.sum(2), most], 1))

    parts = {"embedding": nn.Embedding(20, 8), "head": nn.Linear(20, 3)}
    parts |= {"three": nn.Conv1d(8, 5, 3, padding=1), "two": nn.Conv1d(8, 5, 2)}
    return functional(parts, run)


def pixels():
    """Pixels that are repeated, interpolated, shuffled to channels and back."""
    from torch import cat, nn

    def run(m, x):
        y = cat([m.nearest(m.down(x)), m.linear(m.down(x)), m.around(x)[:, :, 1:, :-3]], 1)
        y = m.mix(m.unshuffle(nn.functional.celu(y, 0.5)))
        return m.head(nn.functional.logsigmoid(m.shuffle(nn.functional.glu(y, 1))).flatten(1))

    parts = {"down": nn.Conv2d(3, 4, 2, 2), "nearest": nn.Upsample(scale_factor=2)}
    parts["linear"] = nn.Upsample(scale_factor=2, mode="bilinear")
    parts |= {"around": nn.ZeroPad2d((1, 2, 0, 1)), "unshuffle": nn.PixelUnshuffle(2)}
    parts |= {"mix": nn.Conv2d(44, 16, 1), "head": nn.Linear(8 * 9, 3)}
    parts["shuffle"] = nn.Sequential(nn.ChannelShuffle(2), nn.PixelShuffle(2))
    return functional(parts, run)


def llama():
    """RMSNorm, and a pooling by attention over the steps."""
    from torch import nn

    def run(m, x):
        y = m.norm(m.rows(m.bare(x)))
        return m.head((m.score(y.tanh()).softmax(1) * y).sum(1))

    parts = {"rows": nn.Linear(6, 6), "norm": nn.RMSNorm(6, eps=1e-3)}
    parts["bare"] = nn.RMSNorm(6, elementwise_affine=False)
    return functional(parts | {"score": nn.Linear(6, 1), "head": nn.Linear(6, 3)}, run)


def padded_bert(way):
    """Returns a function that builds attention to steps that a mask of ids shows."""

    def make():
        from torch import nn

        def run(m, ids):
            x = m.tokens(ids)
            y = x.view(-1, 4, 2, 4).transpose(1, 2)
            seen = (ids != 3)[:, None, None, :]
            if way == "chosen":
                mixed = nn.functional.scaled_dot_product_attention(y, y, y, attn_mask=seen)
            else:
                low = (1.0 - seen.to(x.dtype)) * -10000.0
                scores = y @ y.transpose(-1, -2)
                filled = scores.masked_fill((ids == 3)[:, None, None, :], float("-inf"))
                mixed = (filled if way == "filled" else scores + low).softmax(-1) @ y
            return m.head(mixed.transpose(1, 2).reshape(-1, 4, 8).mean(1))

        parts = {"tokens": nn.Embedding(20, 8), "head": nn.Linear(8, 3)}
        return functional(parts, run)

    return make


def volumes():
    from torch import nn

    layers = nn.Conv3d(2, 3, 2), nn.MaxPool3d(2), nn.Flatten(), nn.Linear(3 * 8, 3)
    return nn.Sequential(*layers)


def detached():
    from torch import nn

    parts = {"one": nn.Linear(4, 3), "two": nn.Linear(4, 3)}
    return functional(parts, lambda m, x: m.one(x).tanh().detach() * m.two(x))


MODULES = {  # name: (make, shapes of the inputs)
    "perceptron": (modules.perceptron, [(4,)]),
    "lenet": (modules.lenet, [(1, 12, 12)]),
    "lstm": (modules.sequences("LSTM", num_layers=2, dropout=0.1), [(6, 3)]),
    "gru": (modules.sequences("GRU", bidirectional=True), [(6, 3)]),
    "rnn": (modules.sequences("RNN"), [(6, 3)]),
    "resnet18": (modules.resnet18, [(3, 33, 33)]),
    "texts": (texts, ["ids"]),
    "gated": (gated, [(4, 6, 6)]),
    "autoencoder": (autoencoder, [(1, 8, 8)]),
    "joined": (joined, [(3, 7, 7)]),
    "mixer": (mixer, [(5, 6)]),
    "encoder": (encoder, ["ids"]),
    "gpt": (gpt, ["ids"]),
    "bert": (bert, ["ids"]),
    "causal": (causal, [(4, 6)]),
    "grouped": (grouped, [(3, 5, 5)]),
    "frozen": (frozen, [(4,)]),
    "buffered": (buffered, [(4,)]),
    "padded": (padded, ["ids"]),
    "padded by numbers": (padded_by_numbers, ["ids"]),
    "typed": (typed(expand=False), ["ids"]),
    "typed each": (typed(expand=True), ["ids"]),
    "normed twice": (normed_twice, [(4,)]),
    "tied": (tied, [(4,)]),
    "single": (single, [(5, 4)]),
    "detached": (detached, [(4,)]),
    "mobile": (mobile, [(3, 8, 8)]),
    "vit": (vit, [(3, 8, 8)]),
    "scaled": (
        with_parameters(
            {"scale": (), "divisor": (1,)}, scaled, rows=linear(4, 6), head=linear(6, 3)
        ),
        [(4,)],
    ),
    "normalized": (
        with_parameters({}, normalized, rows=linear(4, 6), head=linear(6, 3)),
        [(4,)],
    ),
    "broadcast to": (with_gate, [(4,)]),
    "frozen token": (frozen_token, [(3, 8, 8)]),
    "zeros": (
        with_parameters({"last": ()}, zeros, rows=rows_without_bias, head=linear(6, 3)),
        [(4,)],
    ),
    "gates": (
        with_parameters(
            {"channels": (4,), "steps": (5, 1), "first": (5, 4), "last": ()},
            gates,
            rows=linear(4, 4),
            head=linear(20, 3),
        ),
        [(5, 4)],
    ),
    "repeated": (with_parameters({"token": (1, 1, 4)}, repeated, head=linear(24, 3)), [(5, 4)]),
    "last states of an LSTM": (last_states("LSTM", of_lstm), [(6, 3)]),
    "last states of a GRU": (last_states("GRU", of_gru), [(6, 3)]),
    "last state": (one_state, [(6, 3)]),
    "text CNN": (text_cnn, ["ids"]),
    **{f"padding {way}": (padded_bert(way), ["ids"]) for way in ("chosen", "filled", "added")},
    "pixels": (pixels, [(3, 6, 6)]),
    "volumes": (volumes, [(2, 5, 5, 5)]),
    "llama": (llama, [(5, 6)]),
    "between": (with_parameters({"weight": (3, 1, 4)}, between, head=linear(24, 3)), [(24,)]),
    "two inputs": (two_inputs, ["ids", (3,)]),
}
