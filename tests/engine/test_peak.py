"""The measured speed of a large matrix product."""

from sparkdl.engine.peak import peak, product


def test_a_product_counts_its_flops():
    program = product(side=8)
    assert program.graph.flops == 2 * 8**3
    assert (program.run()["z"] == 8).all()


def test_the_best_of_several_counts(monkeypatch):
    seconds = iter([4, 2, 3])
    monkeypatch.setattr("sparkdl.engine.program.Program._time_steps", lambda *_: [next(seconds)])
    assert peak(side=8, repeats=3) == 2 * 8**3 / 2
