"""The flags of sparkdl caffe: those of CaffeOnSpark, and of Caffe's own time and device_query.

Loaded whenever the command line is, so nothing heavy is imported here.
"""

import argparse
from dataclasses import dataclass

METAVARS = {int: "N", str: "TEXT"}
TOOLS = ("time", "device_query")
FORMATS = ("json", "parquet", "orc")
CONNECTIONS = ("ethernet", "infiniband", "none")
CAPTIONS = "captions are not converted here; write Parquet with a column for each blob"
CONVERT = 'images become an LMDB by sparkdl convert --data "{type: Images, path: ...}"'


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag: what it means, its default, and how a value is read (None: it takes no value).

    A flag with a `cure` is one that is known, but not taken.
    """

    name: str
    meaning: str = ""
    default: object = None
    kind: object = None
    cure: str = ""

    def add(self, parser):
        """Makes a parser understand it, with one dash or two."""
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
    """Notes the modes in the order in which they were given: the later of two may win."""

    def __call__(self, parser, namespace, value, name=None):
        namespace.modes = [*getattr(namespace, "modes", []), self.dest]
        setattr(namespace, self.dest, value or True)


MODES = ("train", "test", "features")
FLAGS = (
    Flag(name="conf", kind=str, meaning="the solver's prototxt, local or a URI"),
    Flag(name="train", meaning="train; tests are interleaved where the solver has test_interval"),
    Flag(name="test", meaning="write the means of the test net's outputs to -output, as JSON"),
    Flag(name="features", kind=str, meaning="blobs, as fc7,prob: write them for each test record"),
    Flag(name="label", kind=str, meaning="the blob of labels, one more column of -features"),
    Flag(
        name="outputFormat",
        kind=str,
        default="json",
        meaning="of -features and of tests in between: json, parquet or orc",
    ),
    Flag(
        name="model",
        kind=str,
        meaning="with -train where the model goes, and snapshots beside it; else the model to use."
        " Of time: the net",
    ),
    Flag(
        name="output",
        kind=str,
        meaning="of -test a file, of -features a folder (output); of -train alone a folder for what"
        " the tests in between show",
    ),
    Flag(
        name="devices",
        kind=int,
        default=1,
        meaning="replicas in each executor, a GPU each (1)",
    ),
    Flag(name="persistent", meaning="keep the records that are trained on on disk alone"),
    Flag(name="snapshot", kind=str, meaning="a .solverstate to go on from"),
    Flag(
        name="weights",
        kind=str,
        meaning="a .caffemodel to start from, or several, as a,b; or that of -snapshot",
    ),
    Flag(
        name="connection",
        kind=str,
        meaning="ethernet or infiniband: executors sum gradients over sockets; none: parameters"
        " are averaged through the driver after each minibatch",
    ),
    Flag(name="resize", meaning="resize images to the height and width that the net says"),
    Flag(name="clusterSize", kind=int, meaning="executors; all that there are unless given"),
    Flag(name="lmdb_partitions", kind=int, meaning="pieces in which an LMDB is read"),
    Flag(
        name="shapes",
        kind=str,
        meaning="of an example of blobs of data that are not there to be looked at:"
        " data:3,227,227, or several, as data:3,227,227,words:20",
    ),
    # Caffe's own tools
    Flag(name="iterations", kind=int, default=50, meaning="of time: steps (50)"),
    Flag(name="phase", kind=str, default="TRAIN", meaning="of time: TRAIN or TEST (TRAIN)"),
    Flag(name="level", kind=int, default=0, meaning="of time: the net's level (0)"),
    Flag(name="stage", kind=str, default="", meaning="of time: the net's stages, as a,b"),
    # Known, but not taken
    Flag(name="solver", cure="give it as -conf"),
    Flag(name="gpu", cure="-devices says how many replicas an executor has"),
    Flag(name="sigint_effect", cure="an interrupted training ends; snapshots stay"),
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
    """Adds all flags, and what is to be done instead of a mode."""
    parser.add_argument("tool", nargs="?", metavar="time | device_query", help="a tool of Caffe's")
    for flag in FLAGS:
        flag.add(parser)
    place = "where Spark runs; a local-cluster of -clusterSize executors unless given"
    parser.add_argument("--master", help=place)
