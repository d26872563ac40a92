"""Modules on a test double of a GPU, whose memory torch shares with the backend's programs."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.errors import ConfigError
from sparkdl.interop.torch import module_device
from sparkdl.nn import Adam, ClipNorm
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.torch.host_gpu import HostGpu, OnHostGpu
from tests.interop.torch.modules import Partitions, lenet, model
from tests.support.cuda.on_host import require_compiler, use_host

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")

NCCL = "tests.support.cuda.nccl_backend"


def normed():
    """Has buffers but no dropout, as the double does not draw a GPU's random numbers."""
    return lenet(norm=True)


OPTIMIZERS = {
    "ours": {"optimizer": Adam(learning_rate=0.01, epsilon=1e-3)},
    "torch's, with counts of steps": {
        "torch_optimizer": lambda module: torch.optim.AdamW(module.parameters(), 0.01, eps=1e-3)
    },
    "torch's, without state": {
        "torch_optimizer": lambda module: torch.optim.SGD(module.parameters(), lr=0.1)
    },
    "torch's, after clipping": {
        "torch_optimizer": lambda module: torch.optim.SGD(module.parameters(), lr=0.5),
        "clipping": ClipNorm(limit=0.05),
    },
}
MODULES = {"lenet": normed, "transformer": None}


@pytest.fixture
def gpu(monkeypatch):
    """Gives this process a GPU on which torch computes."""
    use_host(monkeypatch)
    monkeypatch.setattr(module_device, "Gpu", HostGpu)


def replicas(conf):
    """Returns a replica on the GPU and one on the CPU."""
    return [conf.replica_class(conf, backend) for backend in ("cuda", "auto")]


def batches(kind):
    data = Partitions(kind, [24, 24, 7])
    return [batch for split in data.splits() for batch in data.read(split)]


def assert_near(one, other, limit=1e-5):
    for name in ("params", "buffers", "slots"):
        found, expected = np.array(getattr(one, name)), np.array(getattr(other, name))
        np.testing.assert_allclose(found, expected, rtol=limit, atol=limit, err_msg=name)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", MODULES)
def test_steps_are_those_of_the_processor(kind, optimizer, gpu):
    conf = model(kind, MODULES[kind], **OPTIMIZERS[optimizer])
    one, other = replicas(conf)
    for t, batch in enumerate(batches(kind), 1):
        losses = [float(each.step(batch, conf.rate_at(t, 0), t)) for each in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        found = [each.forward(batch.columns["features"])["output"] for each in (one, other)]
        np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    assert_near(one, other)
    assert np.abs(np.array(one.params) - conf.replica_class(conf).params).max() > 1e-3


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_vectors_that_the_host_writes_are_the_modules(optimizer, gpu):
    """As after an average of parameters, or at the start of a resumed fit."""
    conf = model("lenet", normed, **OPTIMIZERS[optimizer])
    one, other = replicas(conf)
    first, second, *_ = batches("lenet")
    for t in (1, 2):
        other.step(first, conf.rate_at(t, 0), t)
    for each in (one, conf.replica_class(conf, "cuda")):  # the second is new
        each.load(*(np.array(v) for v in (other.params, other.buffers, other.slots)))
    one.step(first, conf.rate_at(9, 0), 9)
    one.load(other.params, other.buffers, other.slots)
    for each in (one, other):
        each.step(second, conf.rate_at(3, 0), 3)
    assert_near(one, other)


def test_a_prediction_changes_nothing(gpu):
    one = replicas(model("lenet", normed))[0]
    before = np.array(one.params), np.array(one.buffers)
    one.forward(batches("lenet")[0].columns["features"])
    np.testing.assert_array_equal(one.params, before[0])
    np.testing.assert_array_equal(one.buffers, before[1])


def test_marks_come_behind_the_gradients_that_they_stand_for(gpu):
    """Waiting for a mark is enough to see final gradients; unused parameters have marks, too."""
    conf = model("transformer")
    one, other = replicas(conf)
    batch, *_ = batches("transformer")
    names = [name for name, _ in conf.params_layout.entries]
    groups, marks = [names[:3], names[3:9], names[9:]], {}
    queued = [(group, lambda mark, i=i: marks.update({i: mark})) for i, group in enumerate(groups)]
    one.gradient(batch, queued=queued)
    other.gradient(batch)
    assert sorted(marks) == [0, 1, 2]
    driver = base.get("cuda").device.driver
    memory = HostGpu(one._device._lent, False).tensor("grad", None)
    for place, group in enumerate(groups):
        driver.synchronize(marks[place])
        for name in group:
            found = memory[conf.params_layout.slices[name]].numpy()
            expected = other.grad[conf.params_layout.slices[name]]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6, err_msg=name)


def test_marks_are_put_while_no_other_thread_puts_work_on_the_device(gpu):
    """Another thread might be capturing a graph, for example."""
    conf, owned = model("transformer"), []
    one, _ = replicas(conf)
    lock, make = base.get("cuda").device.lock, one._device.mark
    one._device.mark = lambda: (owned.append(lock._is_owned()), make())[1]
    names = [name for name, _ in conf.params_layout.entries]
    queued = [([name], lambda mark: None) for name in names]
    one.gradient(batches("transformer")[0], queued=queued)
    assert owned == [True] * len(names)


def test_functions_for_final_gradients_find_them_on_the_host(gpu):
    conf = model("lenet", normed)
    one, other = replicas(conf)
    batch, *_ = batches("lenet")
    seen, views = {}, conf.params_layout.views

    def note(name):
        seen[name] = np.array(views(one.grad)[name])

    one.gradient(batch, after={name: (lambda n=name: note(n)) for name in views(one.grad)})
    other.gradient(batch)
    assert seen.keys() == views(other.grad).keys()
    for name, expected in views(other.grad).items():
        np.testing.assert_allclose(seen[name], expected, rtol=1e-4, atol=1e-6)


class OnGpus(Partitions):
    transform = OnHostGpu(NCCL)


@pytest.mark.slow  # spawns processes
def test_gradients_that_stay_on_gpus_give_the_weights_of_processors(spawned, monkeypatch):
    require_compiler()
    monkeypatch.setitem(base.MODULES, "cuda", NCCL)
    states = []
    with LocalWorkers(2) as workers:
        for options in ({"device": "cuda", "exchange": "nccl"}, {"device": "cpu"}):
            network = Network(
                model("lenet", normed, optimizer=Adam(learning_rate=0.01, epsilon=1e-3))
            )
            master = replace(AllReduceSGD(batch_size_per_worker=8), **options)
            network.fit(OnGpus("lenet", [24, 16]), 2, master, workers)
            states.append(network.state)
    assert_near(*states)


def test_torch_without_a_gpu_is_refused():
    assert not torch.cuda.is_available(), "this machine has a GPU: the tests of GPUs are others"
    with pytest.raises(ConfigError, match='device must be "cpu" for a TorchModel where torch'):
        module_device.device_of(SimpleNamespace(number=0), tf32=False)


def test_memory_of_a_device_is_told_by_cudas_interface():
    memory = SimpleNamespace(size=5, address=4096)
    found = module_device.cuda_array(memory)
    interface = found.__cuda_array_interface__
    assert interface == {"shape": (5,), "typestr": "<f4", "data": (4096, False), "version": 3}
    assert found.memory is memory  # which thus lives as long as the tensor


def rounded():
    """Returns torch's precision settings for products, convolutions and recurrent layers."""
    backends = torch.backends
    places = backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn
    return [place.fp32_precision for place in places]


def of_old(value):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = value


def of_products():
    torch.backends.cuda.matmul.fp32_precision = "tf32"


def of_all():
    torch.backends.fp32_precision = "tf32"


@pytest.fixture
def telling():
    """Restores torch's precision settings after a test."""
    yield
    torch.backends.fp32_precision = "none"
    of_old(False)
    of_old(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.fp32_precision = "none"


TOLD = {
    "nothing": lambda: None,
    "allowed": lambda: of_old(True),
    "forbidden": lambda: of_old(False),
    "products": of_products,
    "all": of_all,
}


@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize("told", TOLD)
def test_products_are_rounded_where_the_network_lets_them(told, tf32, telling):
    TOLD[told]()
    backends, before = torch.backends, rounded()
    with module_device.rounding(tf32):
        assert backends.cuda.matmul.allow_tf32 is backends.cudnn.allow_tf32 is tf32
        assert rounded() == ["tf32" if tf32 else "ieee"] * 3
        assert backends.cudnn.deterministic
    assert before == rounded()
    assert not backends.cudnn.deterministic
