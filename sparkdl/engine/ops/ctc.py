"""Connectionist temporal classification: the loss of unaligned sequences, over all alignments.

N examples, T steps, C classes, L labels, S = 2 L + 1 states: the labels with blanks between and
around them. Everything is computed in log space, for the whole batch at once, step by step.

References
----------
Graves, Fernández, Gomez and Schmidhuber, Connectionist temporal classification (2006), eq. 5 to 16.
"""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.autodiff import pullback
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops import ctc_steps
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.softmax import LogSoftmaxOp
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class CtcLossOp(Op):
    """-log of the probability that softmax(logits) gives to the labels, one number per example.

    A blank must separate two equal labels. If there are too few steps for the labels, the loss is
    infinite and its gradient 0.

    Shapes
    ------
    logits (N, T, C) float; labels (N, L) int in [0, C) other than `blank`, padded with -1 at the
    end; mask (N, T), 1 for steps that count and 0 for others; loss (N,)
    """

    floating = True
    blank: int = 0

    def shape(self, logits, labels, mask):
        if len(logits.shape) != 3 or len(labels.shape) != 2:
            raise ShapeError(
                f"ctc_loss takes (N, T, C) and (N, L), got {logits.shape} and {labels.shape}"
            )
        if not logits.shape[1]:
            raise ShapeError(f"ctc_loss needs a step, got {logits.shape}")
        if labels.shape[0] != logits.shape[0] or mask.shape != logits.shape[:2]:
            needs = (logits.shape[0], "L"), logits.shape[:2]
            raise ShapeError(f"ctc_loss needs {needs}, got {labels.shape} and {mask.shape}")
        if np.dtype(labels.dtype).kind not in "iu":
            raise ShapeError(f"labels need an integer type, got {labels.dtype}")
        if not 0 <= self.blank < logits.shape[2]:
            raise ShapeError(f"the blank {self.blank} is none of {logits.shape[2]} classes")
        return Spec(labels.shape[:1], logits.dtype)

    def reference(self, logits, labels, mask):
        return Trellis(self.blank, logits, labels, mask).loss

    def decompose(self, logits, labels, mask):
        return ctc_steps.loss(logits, labels, mask, self.blank)

    def gradient(self, gy, logits, labels, mask, loss):
        return CtcLossGradOp(self.blank)(gy, logits, labels, mask), None, None


@register
@dataclass(frozen=True)
class CtcLossGradOp(CtcLossOp):
    """gy (N,) times the gradient of CtcLossOp with respect to the logits, (N, T, C)."""

    def shape(self, gy, logits, labels, mask):
        super().shape(logits, labels, mask)
        return logits

    def reference(self, gy, logits, labels, mask):
        return gy[:, None, None] * Trellis(self.blank, logits, labels, mask).gradient

    def decompose(self, gy, logits, labels, mask):
        """Returns the derivative with unrolled steps, so that it can be differentiated again."""
        spelled = CtcLossOp(self.blank)
        return pullback(lambda x: spelled.decompose(x, labels, mask), (logits,), gy)[0]

    def gradient(self, gz, *inputs_and_z):
        return NotImplemented


class Trellis:
    """The states along the labels, and the log probabilities of paths through them."""

    def __init__(self, blank, logits, labels, mask):
        self.logp, self.counts = LogSoftmaxOp().reference(logits), mask != 0
        n, length = labels.shape
        self.states = np.full((n, 2 * length + 1), blank)
        self.states[:, 1::2] = labels
        known = np.maximum(self.states, 0)[:, None, :]
        self.emitted = np.take_along_axis(self.logp, known, axis=2)  # (N, T, S)
        self.skips = np.zeros(self.states.shape, bool)  # states reachable from two before
        self.skips[:, 2:] = self.states[:, 2:] != self.states[:, :-2]
        self.skips[:, ::2] = False
        last = 2 * (labels >= 0).sum(axis=1, keepdims=True)
        at = np.arange(2 * length + 1)
        self.ends = (at == last) | (at == last - 1)
        self.forward = self.walk_forward()
        self.loss = -add(np.where(self.ends, self.forward[-1], -np.inf), axis=1)

    def walk_forward(self):
        """Returns log alpha, (T, N, S): paths up to and including each step."""
        alpha = np.full(self.states.shape, -np.inf, self.logp.dtype)
        alpha[:, 0] = 0
        result = []
        for t in range(self.logp.shape[1]):
            skipped = np.where(self.skips, shift_columns(alpha, 2), -np.inf)
            after = add([alpha, shift_columns(alpha, 1), skipped]) + self.emitted[:, t]
            alpha = np.where(self.counts[:, t, None], after, alpha)
            result.append(alpha)
        return np.stack(result)

    def walk_backward(self):
        """Returns log beta, (T, N, S): paths after each step."""
        beta = np.where(self.ends, np.zeros((), self.logp.dtype), -np.inf)
        skips = shift_columns(self.skips, -2, False)
        result = [beta]
        for t in range(self.logp.shape[1] - 1, 0, -1):
            ahead = beta + self.emitted[:, t]
            skipped = np.where(skips, shift_columns(ahead, -2), -np.inf)
            before = add([ahead, shift_columns(ahead, -1), skipped])
            beta = np.where(self.counts[:, t, None], before, beta)
            result.append(beta)
        return np.stack(result[::-1])

    @property
    def gradient(self):
        """softmax minus the share of paths that emit a class at a step, (N, T, C)."""
        possible = np.isfinite(self.loss)
        known = np.where(possible, self.loss, 0)[None, :, None]
        share = np.exp(self.forward + self.walk_backward() + known).transpose(1, 0, 2)
        classes = np.arange(self.logp.shape[2])
        emits = (self.states[:, :, None] == classes).astype(self.logp.dtype)
        inside = self.counts & possible[:, None]
        return (np.exp(self.logp) - share @ emits) * inside[:, :, None]


def shift_columns(x, by, fill=-np.inf):
    """Shifts the columns of x (N, S) right by `by`, left if negative, filling with `fill`."""
    result = np.full_like(x, fill)
    if by > 0:
        result[:, by:] = x[:, :-by]
    else:
        result[:, :by] = x[:, -by:]
    return result


def add(logs, axis=0):
    """Returns the log of the sum of exp(logs)."""
    return np.logaddexp.reduce(logs, axis=axis)


def ctc_loss(logits, labels, mask=None, blank=0):
    """Returns the CTC loss (N,) of logits (N, T, C), labels (N, L) and a mask (N, T).

    Labels are padded with -1.
    """
    mask = np.ones(logits.shape[:2], logits.dtype) if mask is None else mask
    return CtcLossOp(int(blank))(logits, labels, mask)
