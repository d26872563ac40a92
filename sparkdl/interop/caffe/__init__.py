"""Caffe's and CaffeOnSpark's files: nets, solvers, weights, snapshots, means."""

from sparkdl.interop.caffe.captions import Vocab, coco_captions
from sparkdl.interop.caffe.checkpoints.snapshots import load_snapshot, save_snapshot
from sparkdl.interop.caffe.checkpoints.solver_state import (
    SolverState,
    read_solver_state,
    write_solver_state,
)
from sparkdl.interop.caffe.checkpoints.transfer import (
    LoadReport,
    load_weights,
    save_weights,
)
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.datasets.sources import source_of
from sparkdl.interop.caffe.evaluation.scoring import blobs_to_score, scores_of
from sparkdl.interop.caffe.graphs.net import CaffeNet, load_net, read_net
from sparkdl.interop.caffe.layers.data import Data
from sparkdl.interop.caffe.layers.python import register_python
from sparkdl.interop.caffe.layers.scores import Score, WrittenBlobs
from sparkdl.interop.caffe.messages.blobs import read_blob, read_mean, write_blob, write_mean
from sparkdl.interop.caffe.solvers.caffe_solver import CaffeSolver
from sparkdl.interop.caffe.solvers.job import SolverJob, read_job, read_tests
from sparkdl.interop.caffe.solvers.solver import CaffeSolverConf, read_solver
