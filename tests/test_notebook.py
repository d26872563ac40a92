"""The notebooks run from top to bottom, and are stored with their outputs."""

import re
from pathlib import Path

import nbclient
import nbformat
import pytest
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 240  # seconds for a cell, and for the kernel to start
SMALL = {"BLOCKS": 1, "EPOCHS": 1, "FOLDS": 2, "RECORDS": 640, "TRIALS": 5}
# All notebooks share one Spark: starting another takes as long as most of them train. On so few
# rows, interpreting a query is faster than compiling it.
ONE_SPARK = """
from functools import partial
from sparkdl.spark import session
config = {"spark.sql.codegen.wholeStage": False, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
shared = session.start(config=config | {"spark.sql.shuffle.partitions": 2})
session.stop_shared = partial(session.stop, shared)
session.stop = lambda spark: spark.catalog.clearCache()
"""
FORGET = "%reset -f\n__spec__ = None"  # which processes that a notebook spawns look up
NO_SPARK = "from sparkdl.spark import session; session.stop_shared()"
FIGURE = r"0\.\d+"
# Patterns in the output of each notebook when it runs with SMALL, and its number of pictures.
NOTEBOOKS = {
    "01_quickstart": (["where time went", rf"accuracy {FIGURE}"], 4),
    "02_pipeline_and_cross_validation": (
        [rf"32 units: area under ROC {FIGURE}", rf"network +area under ROC {FIGURE}, accuracy"],
        1,
    ),
    "03_search_and_ensemble": ([r"COMPLETE", rf"ensemble: {FIGURE} on 599 digits"], 1),
    "04_text": ([rf"accuracy {FIGURE} on \d+ sentences", "dull and far too long"], 2),
    "05_images_from_hdfs": (["test 450 images\nin ", rf"accuracy {FIGURE} on 450 images"], 2),
    "06_choose_a_master": (
        [rf"steps, 1 bit +accuracy {FIGURE} +\d+\.\d\d MB", r"AllReduceSGD +OneBit"],
        1,
    ),
    "07_faults": ([r"ExecutorLost.* 2 workers go on from epoch", "same weights: True"], 1),
    "08_batch_inference": (
        [rf"9 of 450 rows failed; accuracy {FIGURE}", r"largest difference \de-0[678]"],
        1,
    ),
    "09_words_and_numbers": (
        [
            rf"network +area under ROC {FIGURE} on \d+ people",
            rf"regression +area under ROC {FIGURE}",
        ],
        2,
    ),
    "10_from_elephas": (
        [rf"Keras: accuracy {FIGURE} on 2000 digits", r"largest difference .* \de-0[678]"],
        1,
    ),
    "11_bring_your_model": (
        [
            r"largest difference to Keras \de-0[678]",
            r"largest difference to scikit-learn \de-0[678]",
            rf"ONNX +accuracy {FIGURE} before, {FIGURE} after",
            r"(written and computed there: largest difference \de-0[678]\s+\S*\s*){3}",
            rf"odd or even: accuracy {FIGURE}",
        ],
        2,
    ),
    "12_from_caffeonspark": (
        [rf"test net 0: 1000 records\s+accuracy = {FIGURE}", r"to OpenCV \de-0[678]"],
        1,
    ),
    "13_from_deeplearning4j": (
        [r"to Deeplearning4j \de-0[678]", r"after the next update \de-0[678]"],
        1,
    ),
    "14_from_horovod_and_torchdistributor": (
        [
            rf"TorchDistributor: accuracy {FIGURE}\s+sparkdl: accuracy {FIGURE}",
            r"to sparkdl's predictions \de-0[678]",
        ],
        1,
    ),
    "15_fine_tune_an_encoder": (
        ["drawn, to be trained: output/W output/b", rf"accuracy {FIGURE} on \d+ sentences"],
        0,
    ),
    "16_streams": ([r"all available data has been trained on", r"\d+ digits of \d+"], 1),
    "17_clusters": (
        [r"sparkdl is missing on executor \d", r"--master k8s://", r"worker +examples +reading"],
        1,
    ),
    "18_gpus": (
        [
            r"cuda: (trained on|UnsupportedError: .* needs)",
            r"1 GPU +16 tasks read at once, 4 train",
        ],
        2,
    ),
    "19_write_your_own": (
        [
            rf"with Lion: accuracy (1\.000|{FIGURE})",
            r"8 bits +accuracy .* MB sent",
            rf"workers in a ring: accuracy (1\.000|{FIGURE})",
            r"type: Radial",
        ],
        2,
    ),
}
NEEDS = {"14_from_horovod_and_torchdistributor": "torch"}  # python build.py test --torch


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a notebook with SMALL: `run(notebook)` returns the working folder of its kernel.

    All share one kernel and one Spark, which take longer to start than most cells to run. No
    notebook sees the names of those before it.
    """
    folder = tmp_path_factory.mktemp("notebooks")
    # Another process may take a free port before the kernel does, so the kernel uses IPC.
    line = {"transport": "ipc", "ip": str(tmp_path_factory.mktemp("line") / "to")}
    options = {"config": Config(KernelManager=line), "timeout": LIMIT, "startup_timeout": LIMIT}
    resources = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(nbformat.v4.new_notebook(), resources=resources, **options)

    def execute(notebook, before=FORGET):
        notebook.cells.insert(0, nbformat.v4.new_code_cell(before))
        client.nb = notebook
        client.execute(cleanup_kc=False)
        return folder

    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setenv(f"SPARKDL_{name}", str(value))
        patch.setenv("SPARKDL_NOTEBOOKS", str(ROOT / "notebooks"))  # where their data files are
        execute(nbformat.v4.new_notebook(), ONE_SPARK)
        yield execute
        execute(nbformat.v4.new_notebook(), NO_SPARK)
        client._cleanup_kernel()


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(notebook):
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    return "".join(output.text for output in outputs if output.get("name") == "stdout")


def pictures(notebook):
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    return [output for output in outputs if "image/png" in output.get("data", {})]


def test_each_notebook_is_tested():
    assert [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] == [*NOTEBOOKS]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_stored_with_its_outputs(name):
    notebook = read(name)
    nbformat.validate(notebook)
    code = code_of(notebook)
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    kinds = {output.output_type for cell in code for output in cell.outputs}
    assert kinds <= {"stream", "display_data", "execute_result"}
    texts, count = NOTEBOOKS[name]
    assert all(re.search(text, printed(notebook)) for text in texts)
    assert len(pictures(notebook)) == count
    streams = {o.name for cell in code for o in cell.outputs if o.output_type == "stream"}
    assert streams <= {"stdout"}
    assert not re.search(r"/(home|root|tmp|work)/", str(notebook.cells))


def test_the_ensemble_is_better_than_each_of_its_members():
    text = printed(read("03_search_and_ensemble"))
    members = [float(n) for n in re.search(r"members: (.*)", text)[1].split(",")]
    ensemble = float(re.search(r"ensemble: (\S+)", text)[1])
    assert len(members) == 5 and ensemble > max(members)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.filterwarnings("default")  # Jupyter's own
def test_notebook_runs(name, request):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="python build.py test --torch has it")
    run, notebook = request.getfixturevalue("run"), read(name)
    for cell in code_of(notebook):
        cell.outputs, cell.execution_count = [], None
    folder = run(notebook)
    texts, count = NOTEBOOKS[name]
    assert all(re.search(text, printed(notebook)) for text in texts)
    assert len(pictures(notebook)) == count
    assert not list(folder.iterdir())
