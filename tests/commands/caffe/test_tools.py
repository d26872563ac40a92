"""sparkdl caffe time and device_query."""

import pytest

NET = """
name: 'deploy' layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 6 } } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
        inner_product_param { num_output: 3 } }
layer { name: 'more' type: 'InnerProduct' bottom: 'ip' top: 'more' include { stage: 'deep' }
        inner_product_param { num_output: 2 } }
"""


@pytest.mark.parametrize("text, size", [("-conf solver.prototxt", 8), ("-model net.prototxt", 8)])
def test_time_of_the_net_that_is_trained(run, text, size):
    code, out, err = run(f"time {text} -iterations 2")
    assert (code, err) == (0, "")
    assert "ip" in out and f"a step of {size} examples" in out


def test_time_of_a_net_in_a_phase_and_stage(run, made):
    made.write("deploy.prototxt", NET)
    code, out, _ = run("time -model deploy.prototxt -phase TEST -stage deep,a -iterations 1")
    assert (code, "more" in out, "a step of 4 examples" in out) == (0, True, True)
    assert "more" not in run("time -model deploy.prototxt -iterations 1")[1]


def test_time_without_the_data(run, made):
    made.write("far.prototxt", (made.folder / "net.prototxt").read_text().replace("lmdb'", "gone'"))
    code, _, err = run("time -model far.prototxt -iterations 1")
    assert code == 2
    assert f"far.prototxt, line 3, layer 'd': {made.folder}/gone is not there, and" in err
    assert "(-shapes data:CHANNELS,HEIGHT,WIDTH)" in err
    code, out, _ = run("time -model far.prototxt -iterations 1 -shapes data:1,4,4")
    assert (code, "a step of 8 examples" in out) == (0, True)
    code, _, err = run("time -model far.prototxt -iterations 1 -shapes data:1,4,4,dat:2")
    assert code == 2 and "shapes must be of blobs of data (data), got 'dat'" in err


MISTAKES = {
    "time": "-model is missing; it names the net's prototxt, or -conf the solver's",
    "time -model net.prototxt -iterations 0": "-iterations must be an integer >= 1, got 0",
    "time -model net.prototxt -phase TEXT": "phase must be one of ['TRAIN', 'TEST']",
    "time -model net.prototxt -conf solver.prototxt": "-conf must be left out with -model",
    "time -conf solver.prototxt -phase TEST": "-phase must be left out with -conf, got 'TEST'",
    "time -conf solver.prototxt -stage a": "-stage must be left out with -conf, got 'a'",
    "time -model net.prototxt -test": "-test must be left out with time, which neither trains",
    "device_query -train": "-train must be left out with device_query",
    "time -model net.prototxt -gpu 0": "-gpu is not supported",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes(run, text):
    code, out, err = run(text)
    assert (code, out) == (2, "")
    assert MISTAKES[text] in err


def test_device_query_says_what_is_here(run):
    code, out, _ = run("device_query -gpu all")
    assert code == 0
    for part in ("processor: ", "cores: ", "memory: ", "GFLOP/s", "GPU"):
        assert part in out


def test_gpus_as_the_driver_says_them(run, made, monkeypatch):
    program = made.folder / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, NVIDIA H100, 81559 MiB, 9.0, 580.1'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(made.folder), prepend=":")
    expected = "GPU 0, name NVIDIA H100, memory 81559 MiB, compute capability 9.0, driver 580.1"
    assert expected in run("device_query")[1]
