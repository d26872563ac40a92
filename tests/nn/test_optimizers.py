"""Optimizers over 20 steps against optax, or by hand where optax's definition differs."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.optimizers import (
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AdamHat,
    AdamW,
    AMSGrad,
    Ftrl,
    Lamb,
    Lars,
    Momentum,
    Nadam,
    Nesterov,
    Optimizer,
    RmsProp,
    Sgd,
)
from sparkdl.nn.optimizers.adam import one_minus_power
from sparkdl.nn.schedules import StepSchedule
from tests.nn.support import label, run_as_graph

RATE = 0.05

# ours, and optax's optimizer of the same definition
OPTAX = [
    (Sgd(learning_rate=RATE), optax.sgd(RATE)),
    (Momentum(learning_rate=RATE, momentum=0.8), optax.sgd(RATE, momentum=0.8)),
    (Nesterov(learning_rate=RATE, momentum=0.8), optax.sgd(RATE, momentum=0.8, nesterov=True)),
    (RmsProp(learning_rate=RATE, decay=0.7), optax.rmsprop(RATE, decay=0.7, eps_in_sqrt=False)),
    (
        RmsProp(learning_rate=RATE, epsilon=0.1, epsilon_in_root=True),
        optax.rmsprop(RATE, decay=0.9, eps=0.1),
    ),
    (
        AdaGrad(learning_rate=RATE, initial_accumulator=0.3, epsilon=0.1, epsilon_in_root=True),
        optax.adagrad(RATE, initial_accumulator_value=0.3, eps=0.1),
    ),
    (Adam(learning_rate=RATE), optax.adam(RATE)),
    (
        Adam(learning_rate=RATE, beta1=0.0, beta2=0.5, epsilon=1e-3),
        optax.adam(RATE, b1=0.0, b2=0.5, eps=1e-3),
    ),
    (AdamHat(learning_rate=RATE, epsilon=1e-15), optax.adam(RATE, eps=1e-15)),
    (AdamW(learning_rate=RATE), optax.adam(RATE)),  # test_update.py covers its decay
    (
        Lars(learning_rate=RATE, momentum=0.8),
        optax.sgd(RATE, momentum=0.8),
    ),  # test_update.py covers the trust ratios of both
    (Lamb(learning_rate=RATE), optax.adam(RATE, eps=1e-6)),
    (AdaDelta(learning_rate=RATE), optax.adadelta(RATE, rho=0.95, eps=1e-6)),
    (AdaDelta(decay=0.5, epsilon=0.1), optax.adadelta(1.0, rho=0.5, eps=0.1)),
    (AdaMax(learning_rate=RATE), optax.adamax(RATE)),
    (
        AdaMax(learning_rate=RATE, beta1=0.5, beta2=0.5, epsilon=0.1),
        optax.adamax(RATE, 0.5, 0.5, 0.1),
    ),
    (Nadam(learning_rate=RATE), optax.nadam(RATE)),
    (
        Nadam(learning_rate=RATE, beta1=0.5, beta2=0.5, epsilon=0.1),
        optax.nadam(RATE, 0.5, 0.5, 0.1),
    ),
    (AMSGrad(learning_rate=RATE), optax.amsgrad(RATE)),
    (
        AMSGrad(learning_rate=RATE, beta1=0.5, beta2=0.5, epsilon=0.1),
        optax.amsgrad(RATE, 0.5, 0.5, 0.1),
    ),
    (AdaBelief(learning_rate=RATE), optax.adabelief(RATE, eps=1e-14, eps_root=1e-14)),
    (
        AdaBelief(learning_rate=RATE, beta1=0.5, beta2=0.5, epsilon=0.1),
        optax.adabelief(RATE, 0.5, 0.5, eps=0.1, eps_root=0.1),
    ),
    # a tiny epsilon is negligible, wherever it is
    (
        AdaGrad(learning_rate=RATE, initial_accumulator=0.3, epsilon=1e-15),
        optax.adagrad(RATE, initial_accumulator_value=0.3, eps=1e-15),
    ),
]


def slots_of(optimizer, n, dtype=np.float64):
    return {
        name: np.full(n, optimizer.slot_start.get(name, 0), dtype) for name in optimizer.slot_names
    }


def steps_of(optimizer, grads, rates=None):
    """Returns the steps that `optimizer` takes for a list of gradients."""
    slots, steps = slots_of(optimizer, len(grads[0]), grads[0].dtype), []
    for t, grad in enumerate(grads, start=1):
        rate = optimizer.rate_at(t - 1, 0) if rates is None else rates[t - 1]
        step, slots = optimizer.update(grad, slots, rate, t)
        steps.append(step)
    return steps


def test_every_optimizer_is_compared():
    assert {type(ours) for ours, _ in OPTAX} | {Ftrl} == set(Optimizer.members.values())


@pytest.mark.parametrize("l1, l2, beta, start", [(0, 0, 1, 0), (2, 0.5, 0.3, 0), (0.7, 0, 0, 0.1)])
def test_ftrl_is_that_of_the_paper(l1, l2, beta, start, rng):
    """Algorithm 1 of McMahan et al. (2013), coordinate by coordinate."""
    ours = Ftrl(learning_rate=RATE, l1=l1, l2=l2, beta=beta, initial_accumulator=start)
    params, slots = np.zeros(5), slots_of(ours, 5)
    w, z, n = np.zeros(5), np.zeros(5), np.full(5, float(start))
    for t in range(1, 21):
        grad = rng.normal(size=5)
        step, slots = ours.move(params, grad, slots, RATE, t, None)
        params = params + step
        for i, g in enumerate(grad):
            sigma = (np.sqrt(n[i] + g * g) - np.sqrt(n[i])) / RATE
            z[i], n[i] = z[i] + g - sigma * w[i], n[i] + g * g
            scale = (beta + np.sqrt(n[i])) / RATE + l2
            w[i] = 0 if abs(z[i]) <= l1 else -(z[i] - np.sign(z[i]) * l1) / scale
        np.testing.assert_allclose(params, w, rtol=1e-9, atol=1e-12)
        assert ((params == 0) == (w == 0)).all()


@pytest.mark.parametrize("rate", [0.0, np.float32(0), np.array([0.0, RATE, 0.0, RATE, RATE])])
@pytest.mark.parametrize("as_graph", [False, True])
def test_ftrl_moves_nothing_where_the_rate_is_0(as_graph, rate, rng):
    ours = Ftrl(learning_rate=RATE, l1=0.01, l2=0.5, initial_accumulator=0.1)
    arrays = [*rng.normal(size=(2, 5)), rng.normal(size=5), rng.uniform(1, 2, 5), np.full(5, 0.3)]
    params, _, linear, square, _ = arrays

    def move(params, grad, linear, square, decay, rate):
        slots = {"linear": linear, "square": square}
        step, new = ours.move(params, grad, slots, rate, 1.0, None, decay)
        return step, new["linear"], new["square"]

    with np.errstate(all="raise"):
        found = run_as_graph(move, *arrays, np.asarray(rate)) if as_graph else move(*arrays, rate)
    wanted = move(*arrays, RATE)
    for got, kept, moved in zip(found, (0 * params, linear, square), wanted, strict=True):
        np.testing.assert_allclose(got, np.where(np.asarray(rate) > 0, moved, kept), rtol=1e-9)


@pytest.mark.parametrize("ours, theirs", OPTAX, ids=[str(ours) for ours, _ in OPTAX])
def test_twenty_steps_equal_optax(ours, theirs, rng, x64):
    grads = [rng.normal(size=5) for _ in range(20)]
    params = jnp.zeros(5)
    state = theirs.init(params)
    for step, grad in zip(steps_of(ours, grads), grads, strict=True):
        expected, state = theirs.update(jnp.asarray(grad), state, params)
        np.testing.assert_allclose(step, expected, rtol=1e-7, atol=1e-12)


def test_adagrad_has_its_epsilon_outside_the_root(rng):
    grads, total = [rng.normal(size=5) for _ in range(20)], np.zeros(5)
    for step, grad in zip(
        steps_of(AdaGrad(learning_rate=RATE, epsilon=0.1), grads), grads, strict=True
    ):
        total += grad**2
        np.testing.assert_allclose(step, -RATE * grad / (np.sqrt(total) + 0.1), rtol=1e-12)


def test_adam_hat_adds_epsilon_before_the_correction(rng):
    grads, mean, square = [rng.normal(size=5) for _ in range(20)], np.zeros(5), np.zeros(5)
    steps = steps_of(AdamHat(learning_rate=RATE, beta1=0.8, beta2=0.9, epsilon=0.1), grads)
    for t, (step, grad) in enumerate(zip(steps, grads, strict=True), start=1):
        mean, square = 0.8 * mean + 0.2 * grad, 0.9 * square + 0.1 * grad**2
        rate = RATE * np.sqrt(1 - 0.9**t) / (1 - 0.8**t)
        np.testing.assert_allclose(step, -rate * mean / (np.sqrt(square) + 0.1), rtol=1e-9)


@pytest.mark.parametrize("kind", [Momentum, Nesterov])
def test_momentum_keeps_the_rate_that_a_gradient_came_with(kind):
    # Caffe: v = 0.5 v + rate g; a lower rate does not shrink the existing velocity
    steps = steps_of(kind(momentum=0.5), [np.ones(1), np.ones(1)], rates=[1.0, 0.1])
    velocity = -1.0, -0.5 - 0.1
    wanted = velocity if kind is Momentum else (0.5 * velocity[0] - 1, 0.5 * velocity[1] - 0.1)
    np.testing.assert_allclose(np.ravel(steps), wanted, rtol=1e-12)


@pytest.mark.parametrize("optimizer", [optimizer for optimizer, _ in OPTAX], ids=str)
def test_tensors_give_what_arrays_give(optimizer, rng):
    grad, rate, t = rng.normal(size=5), np.array(0.1), np.array(3.0)
    slots = {name: rng.uniform(1, 2, 5) for name in optimizer.slot_names}
    step, after = optimizer.update(grad, slots, rate, t)

    def flat(grad, rate, t, *values):
        step, after = optimizer.update(grad, dict(zip(slots, values, strict=True)), rate, t)
        return [step, *(after[name] for name in slots)]

    arrays = [grad, rate, t, *slots.values()]
    wanted = [step, *(after[name] for name in slots)]
    for got, value in zip(run_as_graph(flat, *arrays), wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-12)


@pytest.mark.parametrize("optimizer", [optimizer for optimizer, _ in OPTAX], ids=str)
def test_float32_stays_float32(optimizer):
    grad = np.ones(3, np.float32)
    slots = slots_of(optimizer, 3, np.float32)
    step, slots = optimizer.update(grad, slots, np.float32(0.1), np.float32(1))
    assert {step.dtype, *(slot.dtype for slot in slots.values())} == {np.dtype(np.float32)}


@pytest.mark.parametrize("optimizer", [optimizer for optimizer, _ in OPTAX], ids=str)
def test_a_gradient_of_zeros_makes_no_step(optimizer):
    step, _ = optimizer.update(np.zeros(3), slots_of(optimizer, 3), 0.1, 1)
    np.testing.assert_array_equal(step, 0)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.999, 0.99999])
def test_one_minus_power_is_precise_in_float32(beta):
    for t in (1, 2, 10, 1000, 10**6):
        exact = 1 - np.float64(beta) ** t
        assert one_minus_power(beta, np.float32(t)) == pytest.approx(exact, rel=1e-6)


def test_the_rate_comes_from_the_schedule():
    assert Sgd(learning_rate=0.5).rate_at(100, 3) == 0.5
    assert Sgd(learning_rate=StepSchedule(initial=1.0, gamma=0.1, step=10)).rate_at(
        10, 0
    ) == pytest.approx(0.1)


REFUSED = [
    (
        lambda: Sgd(learning_rate=0),
        "Sgd.learning_rate must be a number above 0 or a Schedule, got 0",
    ),
    (
        lambda: Sgd(learning_rate=-0.1),
        "Sgd.learning_rate must be a number above 0 or a Schedule, got -0.1",
    ),
    (
        lambda: Sgd(learning_rate=float("nan")),
        "Sgd.learning_rate must be a number above 0 or a Schedule, got nan",
    ),
    (
        lambda: Adam(learning_rate=float("inf")),
        "Adam.learning_rate must be a number above 0 or a Schedule, got inf",
    ),
    (
        lambda: Sgd(learning_rate=True),
        "Sgd.learning_rate must be a number above 0 or one of 15 names, got ",
    ),
    (
        lambda: Sgd(learning_rate=None),
        "Sgd.learning_rate must be a number above 0 or one of 15 names, got ",
    ),
    (lambda: Sgd(weight_decay=-1), "Sgd.weight_decay must be a number >= 0, got -1"),
    (lambda: Sgd(ema_decay=1.0), "Sgd.ema_decay must be a number in (0, 1) or None, got 1.0"),
    (lambda: Adam(ema_decay=True), "Adam.ema_decay must be a number in (0, 1) or None, got True"),
    (lambda: Momentum(momentum=1.0), "Momentum.momentum must be a number in [0, 1), got 1.0"),
    (lambda: Nesterov(momentum=-0.1), "Nesterov.momentum must be a number in [0, 1), got -0.1"),
    (lambda: Adam(beta1=1), "Adam.beta1 must be a number in [0, 1), got 1"),
    (lambda: Adam(beta2="0.9"), "Adam.beta2 must be a number in [0, 1), got '0.9'"),
    (lambda: Adam(epsilon=0), "Adam.epsilon must be a number above 0, got 0"),
    (lambda: RmsProp(decay=float("nan")), "RmsProp.decay must be a number in [0, 1), got nan"),
    (lambda: RmsProp(epsilon=0), "RmsProp.epsilon must be a number above 0, got 0"),
    (lambda: AdamW(weight_decay=-1), "AdamW.weight_decay must be a number >= 0, got -1"),
    (lambda: Lars(trust=0), "Lars.trust must be a number above 0, got 0"),
    (lambda: Lars(weight_decay=-1), "Lars.weight_decay must be a number >= 0, got -1"),
    (lambda: Lars(vectors=1), "Lars.vectors must be True or False, got 1"),
    (lambda: Lamb(weight_decay=-1), "Lamb.weight_decay must be a number >= 0, got -1"),
    (lambda: Lamb(vectors="no"), "Lamb.vectors must be True or False, got 'no'"),
    (lambda: AdaDelta(decay=1.0), "AdaDelta.decay must be a number in [0, 1), got 1.0"),
    (lambda: AdaDelta(epsilon=0), "AdaDelta.epsilon must be a number above 0, got 0"),
    (lambda: AdaMax(beta2=1.0), "AdaMax.beta2 must be a number in [0, 1), got 1.0"),
    (lambda: Nadam(beta1=-0.1), "Nadam.beta1 must be a number in [0, 1), got -0.1"),
    (lambda: AMSGrad(epsilon=0), "AMSGrad.epsilon must be a number above 0, got 0"),
    (lambda: AdaBelief(epsilon=-1), "AdaBelief.epsilon must be a number above 0, got -1"),
    (lambda: AdaGrad(epsilon=0), "AdaGrad.epsilon must be a number above 0, got 0"),
    (
        lambda: AdaGrad(initial_accumulator=-1),
        "AdaGrad.initial_accumulator must be a number >= 0, got -1",
    ),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
