"""Keras models with their vectors on a test double of a GPU; Keras itself runs on the CPU."""

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.errors import ConfigError
from sparkdl.interop.keras.live import backends
from sparkdl.interop.keras.live.keras_replica import KerasReplica
from sparkdl.nn import Adam
from tests.interop.keras.live.models import Partitions, cnn, model
from tests.interop.keras.models import keras
from tests.support.cuda.on_host import use_host


def normed():
    return cnn(norm=True)


OPTIMIZERS = {
    "ours": {"optimizer": Adam(learning_rate=0.01, epsilon=1e-3)},
    "Keras's": {"keras_optimizer": lambda: keras.optimizers.Adam(0.01, epsilon=1e-3)},
}


@pytest.fixture
def gpu(monkeypatch):
    """Gives this process a GPU, in whose place Keras uses the CPU; a list of requested GPUs."""
    use_host(monkeypatch)
    asked, functions_of = [], backends.functions_of

    def on_processor(model, backend, gpu):
        asked.append(gpu)
        return functions_of(model, backend)

    monkeypatch.setattr(f"{KerasReplica.__module__}.functions_of", on_processor)
    return asked


def batches():
    data = Partitions([24, 7])
    return [batch for split in data.splits() for batch in data.read(split)]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_those_of_the_processor(optimizer, gpu):
    conf = model(normed, **OPTIMIZERS[optimizer])
    one, other = (KerasReplica(conf, backend) for backend in ("cuda", "auto"))
    assert gpu == [0, None]
    for t, batch in enumerate(batches(), 1):
        losses = [float(each.step(batch, conf.rate_at(t, 0), t)) for each in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        found = [each.forward(batch.columns["features"])["output"] for each in (one, other)]
        np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    for name in ("params", "buffers", "slots"):
        found, expected = np.array(getattr(one, name)), np.array(getattr(other, name))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_a_mark_comes_behind_the_gradient(gpu):
    conf, marks = model(normed), []
    one, other = (KerasReplica(conf, backend) for backend in ("cuda", "auto"))
    [batch, _] = batches()
    names = [name for name, _ in conf.params_layout.entries]
    one.gradient(batch, queued=[(names[:1], marks.append), (names[1:], marks.append)])
    other.gradient(batch)
    assert len(marks) == 2
    device = base.get("cuda").device
    device.driver.synchronize(marks[0])
    memory = one._vectors["grad"].memory
    host = np.empty(memory.nbytes, np.uint8)
    device.driver.download(host, memory, device.stream)
    device.wait()
    np.testing.assert_allclose(host.view(np.float32), other.grad, rtol=1e-5, atol=1e-6)


def test_keras_without_a_gpu_is_refused():
    built = normed()
    with pytest.raises(ConfigError, match='device must be "cpu" for a KerasModel where'):
        backends.functions_of(built, keras.backend.backend(), 0)
