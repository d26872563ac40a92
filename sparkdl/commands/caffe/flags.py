"""Flags of sparkdl caffe: those of CaffeOnSpark, and of Caffe's own time and device_query.

Imported by every command, so it must import nothing heavy.
"""

import argparse
from dataclasses import dataclass

METAVARS = {int: "N", str: "TEXT"}
TOOLS = ("time", "device_query")
FORMATS = ("json", "parquet", "orc")
CONNECTIONS = ("ethernet", "infiniband", "none")
CAPTIONS = (
    "coco_captions and Vocab of sparkdl.interop.caffe convert captions; write Parquet with a column"
    " for each blob"
)
CONVERT = 'images become an LMDB by sparkdl convert --data "{type: Images, path: ...}"'


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag: its meaning, its default, and the type of its value (None: it takes no value).

    A flag with a `cure` is recognized, but refused with that advice.
    """

    name: str
    meaning: str = ""
    default: object = None
    kind: object = None
    cure: str = ""

    def add(self, parser):
        """Adds the flag to a parser, with one dash or two."""
        names, text = (f"-{self.name}", f"--{self.name}"), self.meaning or argparse.SUPPRESS
        if self.name in MODES:
            of_mode = {"nargs": None, "metavar": "BLOBS"} if self.kind else {"nargs": 0}
            return parser.add_argument(*names, action=Mode, help=text, **of_mode)
        if self.cure:
            return parser.add_argument(*names, nargs="?", const="", help=argparse.SUPPRESS)
        if self.kind is None:
            return parser.add_argument(*names, action="store_true", help=text)
        about = {"type": self.kind, "default": self.default, "help": text}
        return parser.add_argument(*names, metavar=METAVARS[self.kind], **about)


class Mode(argparse.Action):
    """Records the modes in the order given, as the later of -test and -features wins."""

    def __call__(self, parser, namespace, value, name=None):
        namespace.modes = [*getattr(namespace, "modes", []), self.dest]
        setattr(namespace, self.dest, value or True)


MODES = ("train", "test", "features")
FLAGS = (
    Flag(name="conf", kind=str, meaning="the solver's prototxt, local or a URI"),
    Flag(name="train", meaning="train; tests are interleaved where the solver has test_interval"),
    Flag(name="test", meaning="write the means of the test net's outputs to -output as JSON"),
    Flag(name="features", kind=str, meaning="write these blobs, as fc7,prob, for each test record"),
    Flag(name="label", kind=str, meaning="blob of labels to add to -features"),
    Flag(
        name="outputFormat",
        kind=str,
        default="json",
        meaning="format of -features and of tests during training: json, parquet or orc",
    ),
    Flag(
        name="model",
        kind=str,
        meaning="with -train the file for the model, with snapshots beside it; else the model to"
        " use. With time: the net",
    ),
    Flag(
        name="output",
        kind=str,
        meaning="file of -test, or folder of -features (output); with -train alone a folder for the"
        " results of tests during training",
    ),
    Flag(
        name="devices",
        kind=int,
        default=1,
        meaning="replicas per executor, each with its own GPU (1)",
    ),
    Flag(name="persistent", meaning="keep the training records on disk only"),
    Flag(name="snapshot", kind=str, meaning="a .solverstate to resume from"),
    Flag(
        name="weights",
        kind=str,
        meaning="a .caffemodel to start from, or several, as a,b; with -snapshot, its model",
    ),
    Flag(
        name="connection",
        kind=str,
        meaning="ethernet or infiniband: executors sum gradients over sockets; none: the driver"
        " averages parameters after each minibatch",
    ),
    Flag(name="resize", meaning="resize images to the height and width given in the net"),
    Flag(name="clusterSize", kind=int, meaning="number of executors (all)"),
    Flag(name="lmdb_partitions", kind=int, meaning="number of splits of an LMDB"),
    Flag(
        name="shapes",
        kind=str,
        meaning="shapes of an example for blobs whose data is not available:"
        " data:3,227,227, or several, as data:3,227,227,words:20",
    ),
    # Flags of Caffe's own tools
    Flag(name="iterations", kind=int, default=50, meaning="with time: number of steps (50)"),
    Flag(name="phase", kind=str, default="TRAIN", meaning="with time: TRAIN or TEST (TRAIN)"),
    Flag(name="level", kind=int, default=0, meaning="with time: level of the net (0)"),
    Flag(name="stage", kind=str, default="", meaning="with time: stages of the net, as a,b"),
    # Recognized, but refused
    Flag(name="solver", cure="give it as -conf"),
    Flag(name="gpu", cure="-devices says how many replicas an executor has"),
    Flag(name="sigint_effect", cure="an interrupted training ends; snapshots are kept"),
    Flag(name="sighup_effect", cure="the solver's `snapshot` says when snapshots are written"),
    Flag(name="imageRoot", cure=CONVERT),
    Flag(name="labelFile", cure=CONVERT),
    *(
        Flag(name=name, cure=CAPTIONS)
        for name in (
            "captionFile",
            "captionLength",
            "vocabSize",
            "vocabDir",
            "imageCaptionDFDir",
            "embeddingDFDir",
        )
    ),
)


def add_flags(parser):
    """Adds all flags, the optional tool and --master to a parser."""
    parser.add_argument(
        "tool", nargs="?", metavar="time | device_query", help="one of Caffe's tools"
    )
    for flag in FLAGS:
        flag.add(parser)
    place = "where Spark runs (a local-cluster of -clusterSize executors)"
    parser.add_argument("--master", help=place)
