"""A product with everything that cuBLASLt computes in the same pass."""

from dataclasses import dataclass

from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.activation import ReluOp
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.gelu import GeluGradOp, GeluOp
from sparkdl.engine.ops.matmul import MatMulOp


@dataclass(frozen=True)
class EpilogueProductOp(Op):
    """(y, before, sums) with y = activation(x w + bias + plus), of matrices.

    Parameters
    ----------
    product : MatMulOp
    dtype : numpy type of all outputs
    bias, plus : whether these inputs exist
    activation : ReluOp, GeluOp or GeluGradOp by tanh, or None
        GeluGradOp takes the product as gy, and gelu's input as the last input
    before : whether gelu's input is an output
    sums : whether the sums over rows are an output: of y with GeluGradOp, else of w

    Shapes
    ------
    x, w as `product` takes them, bias (n,), plus (m, n), gelu's input (m, n); y (m, n),
    before (m, n), sums (n,)
    """

    product: MatMulOp
    dtype: str
    bias: bool = False
    plus: bool = False
    activation: Op | None = None
    before: bool = False
    sums: bool = False

    @classmethod
    def of(cls, node):
        """Returns a node as an EpilogueProductOp with the same inputs, or None."""
        if node is None or len(node.outputs[0].shape) != 2:
            return None
        if isinstance(node.op, MatMulOp):
            return cls(node.op, node.outputs[0].spec.dtype)
        return node.op if isinstance(node.op, cls) and len(node.outputs) == 1 else None

    @property
    def bare(self):
        return not (self.bias or self.plus or self.activation)

    @property
    def label(self):
        names = {"AddBias": self.bias, "Add": self.plus, "Sum": self.sums}
        parts = ["MatMul", *(n for n in ("AddBias", "Add") if names[n])]
        parts += [self.activation.kind] if self.activation else []
        return "+".join(parts + ["Sum"] * self.sums)

    def shape(self, x, w, *rest):
        m, n = self.product.shape(x, w).shape
        y = Spec((m, n), self.dtype)
        outputs = (y, *(y,) * self.before, *(Spec((n,), self.dtype),) * self.sums)
        return outputs if len(outputs) > 1 else y

    def flops(self, x, w, *rest):
        return self.product.flops(x, w)

    def by_name(self, inputs, outputs):
        """Returns {name: value} of all inputs and outputs except the factors."""
        has = {
            "bias": self.bias,
            "plus": self.plus,
            "kept": isinstance(self.activation, GeluGradOp),
        }
        by_name = dict(zip([n for n, present in has.items() if present], inputs[2:], strict=True))
        output_names = ["y", *["kept"] * self.before, *["sums"] * self.sums]
        return by_name | dict(zip(output_names, outputs, strict=True))


def has_epilogue(activation):
    """Returns whether cuBLASLt supports an activation, or its gradient."""
    by_tanh = isinstance(activation, GeluOp | GeluGradOp) and activation.approximate
    return by_tanh or isinstance(activation, ReluOp)
