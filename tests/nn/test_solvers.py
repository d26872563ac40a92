"""Solvers against scipy, and on functions with a known minimum."""

import numpy as np
import pytest
from scipy import optimize

from sparkdl.errors import ConfigError
from sparkdl.nn.solvers import ConjugateGradient, Lbfgs, LineDescent, Solver
from sparkdl.nn.solvers.conjugate_gradient import PreviousStep
from tests.nn.support import label

KINDS = list(Solver.members.values())
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def rosenbrock(x):
    return optimize.rosen(x), optimize.rosen_der(x)


def logistic(rng, n=60, features=4):
    """Returns the loss and gradient of regularized logistic regression."""
    x, y = rng.normal(size=(n, features)), rng.integers(0, 2, n) * 2.0 - 1

    def function(w):
        margin = y * (x @ w)
        share = 1 / (1 + np.exp(margin))
        value = np.logaddexp(0, -margin).mean() + 0.05 * w @ w
        return value, -(x * (y * share)[:, None]).mean(axis=0) + 0.1 * w

    return function


@kinds
def test_logistic_regression_ends_where_scipy_ends(kind, rng):
    function = logistic(rng)
    ours = kind(tolerance=1e-8, iterations=500).minimize(function, np.zeros(4))
    theirs = optimize.minimize(
        function, np.zeros(4), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-15}
    )
    assert ours.converged
    np.testing.assert_allclose(ours.params, theirs.x, atol=1e-7)
    np.testing.assert_allclose(ours.value, theirs.fun, rtol=1e-12)


@pytest.mark.parametrize("kind", [Lbfgs, ConjugateGradient], ids=lambda kind: kind.__name__)
def test_the_valley_of_rosenbrock(kind):
    start = np.array([-1.2, 1.0, -0.5, 2.0, 0.3])
    ours = kind(tolerance=1e-6, iterations=300).minimize(rosenbrock, start)
    assert ours.converged
    np.testing.assert_allclose(ours.params, 1, atol=1e-5)
    np.testing.assert_array_equal(start, [-1.2, 1.0, -0.5, 2.0, 0.3])


def test_lbfgs_takes_no_more_evaluations_than_scipy_by_far():
    start = np.array([-1.2, 1.0])
    ours = Lbfgs().minimize(rosenbrock, start)
    options = {"gtol": 1e-5, "ftol": 0}
    theirs = optimize.minimize(rosenbrock, start, jac=True, method="L-BFGS-B", options=options)
    assert ours.converged and ours.evaluations <= 1.5 * theirs.nfev


def test_the_memory_of_lbfgs_is_the_inverse_of_a_quadratic(rng):
    a = rng.normal(size=(4, 4))
    a = a @ a.T + np.eye(4)
    memory = Lbfgs(history=4).memory()
    # n conjugate directions make BFGS exact in n dimensions
    for step in np.linalg.eigh(a)[1].T:
        memory.add(step, a @ step)
    grad = rng.normal(size=4)
    np.testing.assert_allclose(memory.direction(grad), -np.linalg.solve(a, grad), rtol=1e-9)


def test_lbfgs_forgets_the_oldest_step(rng):
    memory, fresh = Lbfgs(history=2).memory(), Lbfgs(history=2).memory()
    steps = rng.normal(size=(3, 5))
    for i, step in enumerate(steps):
        memory.add(step, 2 * step)
        if i:
            fresh.add(step, 2 * step)
    grad = rng.normal(size=5)
    np.testing.assert_array_equal(memory.direction(grad), fresh.direction(grad))


def test_conjugate_gradient_knows_the_step_after_a_direction_that_rose(monkeypatch):
    class Rising:
        def direction(self, grad):
            return grad

    fresh = PreviousStep()
    memories = iter([Rising(), fresh])
    monkeypatch.setattr(ConjugateGradient, "memory", lambda self: next(memories))
    ConjugateGradient(iterations=1).minimize(rosenbrock, np.array([-1.2, 1.0]))
    np.testing.assert_array_equal(fresh.along, -rosenbrock([-1.2, 1.0])[1])


@kinds
def test_the_value_never_grows(kind):
    values = [rosenbrock(np.array([-1.2, 1.0]))[0]]
    for iterations in range(1, 15):
        solution = kind(iterations=iterations).minimize(rosenbrock, [-1.2, 1.0])
        assert solution.iterations == iterations and not solution.converged
        values.append(solution.value)
    assert values == sorted(values, reverse=True)


@kinds
def test_a_start_that_is_flat_is_the_end(kind):
    solution = kind().minimize(lambda x: (x @ x, 2 * x), np.zeros(3))
    assert solution.converged
    assert (solution.iterations, solution.evaluations) == (0, 1)


@kinds
def test_a_step_into_infinity_is_taken_back(kind):
    def barrier(x):
        if x[0] >= 1:
            return np.inf, np.full(1, np.nan)
        return -x[0] - 0.1 * np.log(1 - x[0]), np.array([-1 + 0.1 / (1 - x[0])])

    solution = kind(tolerance=1e-7).minimize(barrier, [-5.0])
    np.testing.assert_allclose(solution.params, 0.9, atol=1e-6)


@kinds
def test_a_gradient_that_lies_ends_the_search(kind):
    solution = kind().minimize(lambda x: (x @ x, -2 * x), np.ones(2))
    assert not solution.converged
    np.testing.assert_array_equal(solution.params, 1)


REFUSED = [
    (lambda: Lbfgs(history=0), "Lbfgs.history must be an integer >= 1, got 0"),
    (lambda: Lbfgs(iterations=0), "Lbfgs.iterations must be an integer >= 1, got 0"),
    (lambda: LineDescent(tolerance=-1), "LineDescent.tolerance must be a number >= 0, got -1"),
    (lambda: ConjugateGradient(line_steps=1.5), "line_steps must be an integer >= 1, got 1.5"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
