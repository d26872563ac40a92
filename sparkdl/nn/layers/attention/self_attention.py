"""Self-attention of a sequence, and attention of learned queries to a sequence."""

from sparkdl.config import Boolean, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.attention.base import WEIGHTS, Attention
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class SelfAttention(Attention):
    """Self-attention: softmax(Q K^T / sqrt(d)) V in each head, over all steps of a sequence.

    Shapes
    ------
    x (batch, T, F), y (batch, T, units), Wq, Wk, Wv (F, H d), Wo (H d, units)

    References
    ----------
    DL4J SelfAttentionLayer is this with bias=False.
    """

    project: bool = option(
        Boolean(),
        "Whether to use weights. Without them queries, keys and values are the sequence itself, "
        "with one head of its width.",
        default=True,
    )

    def validate(self) -> None:
        super().validate()
        if not self.project:
            require(self, "heads", self.heads == 1, "1 where nothing is projected")
            for name in ("head_size", "units"):
                require(self, name, getattr(self, name) is None, "None where nothing is projected")

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        return WEIGHTS if self.project else ()

    def out_shape(self, in_shape: Shape) -> Shape:
        steps, features = self.sequence(in_shape)
        self.width(in_shape)
        return (steps, self.units or features)

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return self.projections(*[self.sequence(in_shape)] * 3) if self.project else {}

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.attend(params, x, x, x, run.mask, run)


@dataclass(frozen=True, kw_only=True)
class LearnedSelfAttention(SelfAttention):
    """A fixed number of learned queries attend to a sequence of any length, and so summarize it.

    Shapes
    ------
    x (batch, T, F), y (batch, queries, units), Q (queries, F), the weights as SelfAttention

    References
    ----------
    DL4J LearnedSelfAttentionLayer is this with bias=False.
    """

    queries: int = option(Size(minimum=1), "Number of learned queries.")

    def validate(self) -> None:
        super().validate()
        require(self, "causal", not self.causal, "False: a query has no place in the sequence")

    def out_shape(self, in_shape: Shape) -> Shape:
        return (self.queries, super().out_shape(in_shape)[1])

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        return None

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"Q": (self.queries, in_shape[1]), **super().param_shapes(in_shape)}

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        queries = ops.cast(params["Q"], x.dtype)
        queries = ops.broadcast_to(queries, (x.shape[0], *queries.shape))
        return self.attend(params, queries, x, x, run.mask, run)
