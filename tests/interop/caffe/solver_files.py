"""A small net, its solver and its data, as a Caffe user's files."""

import numpy as np

from sparkdl.data import Batch, write_lmdb

NET = """
name: 'small'
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN }
        data_param { source: '%(data)s' backend: LMDB batch_size: 4 }
        transform_param { scale: 0.01 } }
layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TEST }
        data_param { source: '%(data)s' backend: LMDB batch_size: 5 }
        transform_param { scale: 0.01 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy'
        include { phase: TEST } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
"""
RECORDS = 46


def write_solver(folder, text="", net=NET):
    """Writes a solver with additional fields, its net and seeded random data; returns its path."""
    rng = np.random.default_rng(4)
    columns = {"features": rng.integers(0, 255, (RECORDS, 1, 3, 3), np.uint8)}
    columns["labels"] = (columns["features"][:, 0, 0, :].argmax(1)).astype(np.int32)
    if not (folder / "lmdb").exists():
        write_lmdb(folder / "lmdb", [Batch(columns=columns, ids=np.arange(RECORDS))])
    (folder / "net.prototxt").write_text(net % {"data": folder / "lmdb"})
    solver = f"""net: '{folder}/net.prototxt' snapshot_prefix: '{folder}/at'
        base_lr: 0.1 lr_policy: 'inv' gamma: 0.1 power: 0.75 momentum: 0.9 weight_decay: 0.01
        random_seed: 3 {text}"""
    (folder / "solver.prototxt").write_text(solver)
    return folder / "solver.prototxt"
