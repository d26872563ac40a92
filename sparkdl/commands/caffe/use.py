"""-test and -features: use of a trained Caffe model."""

from dataclasses import dataclass

from sparkdl.commands.caffe.extraction import features_frame
from sparkdl.commands.caffe.options import Options
from sparkdl.commands.caffe.records import source_for
from sparkdl.commands.caffe.scoring import means_of, write_means
from sparkdl.data import files
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import CaffeNet, CaffeSolverConf, load_weights, read_tests
from sparkdl.interop.caffe.evaluation.blob_values import blobs_of
from sparkdl.spark.jobs.device_tally import DeviceTally
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.records.data_frames import uri
from sparkdl.training.network import first_state
from sparkdl.training.reporting.reports import format_devices
from sparkdl.training.transfer import carry_weights


@dataclass(frozen=True)
class Use:
    """A run of the command that uses a trained model, created by `prepare_use`.

    Parameters
    ----------
    options : Options
    solver : Solver
    nets : tuple of CaffeNet
        The test nets; for features only the first.
    sources : list of Source
        Data of each net.
    states : list of TrainState, or None
        With the model's weights; None if it is trained first.
    """

    options: Options
    solver: CaffeSolverConf
    nets: tuple[CaffeNet, ...]
    sources: list
    states: list | None

    def run(self, spark, trained=None):
        """Tests or extracts features, with the weights of the Network `trained` if given."""
        states = self.states or [carry_to_test_net(trained, net) for net in self.nets]
        tally = DeviceTally(spark.sparkContext)
        if self.options.use == "test":
            report = self._test(spark, states, tally)
        else:
            report = self._features(spark, self.nets[0], self.sources[0], states[0], tally)
        print(format_devices("tasks", tally.devices), report, sep="\n", flush=True)

    def _test(self, spark, states, tally):
        """Writes and prints the means of all test nets; returns a line that says where they are."""
        means, many, path = {}, len(self.nets) > 1, self.options.output
        sc = spark.sparkContext
        iterations = self.solver.test_iter or (None,)
        rows = zip(self.nets, self.sources, states, iterations, strict=True)
        for number, (net, source, state, batches) in enumerate(rows):
            device = self.solver.device
            average, examples = means_of(sc, net, source, state, batches, device, tally)
            print(f"test net {number}: {examples} records")
            for name, values in average.items():
                print(f"  {name} = {', '.join(f'{value:.6g}' for value in values)}")
                means[f"{number}/{name}" if many else name] = values
        write_means(path, means)
        return f"the means are in {path}"

    def _features(self, spark, net, source, state, tally):
        """Writes the blobs of all records; returns a line that says where they are."""
        options, sc = self.options, spark.sparkContext
        with job(sc, "features", "extracting features"):
            device = self.solver.device
            with sharing(sc, (net.conf, state.without_slots(), device, "auto")) as model:
                names = options.features
                frame = features_frame(spark, net, source, model, names, device, tally)
                frame.write.format(options.output_format).save(uri(options.output))
        return f"wrote {options.output}"


def prepare_use(options, tell):
    """Returns the Use, after checking all files."""
    solver, nets = read_tests(options.conf, options.shapes)
    nets = nets if options.use == "test" else nets[:1]
    sources = [source_for(net, options.resize, options.lmdb_partitions) for net in nets]
    for source in sources:
        source.splits()
    if options.use == "features":
        blobs_of(nets[0], options.features)
        files.check_free(options.output, ConfigError)
    path = options.weights_in_use
    states = None if options.train else [state_of(net, path, tell) for net in nets]
    return Use(options, solver, nets, sources, states)


def state_of(net, path, tell):
    """Returns a net's state with the weights from a file; reports layers missing in it."""
    state, report = load_weights(net.conf, first_state(net.conf), path, net.layers)
    if report.unchanged:
        tell(
            f"{path}: has no weights of {', '.join(report.unchanged)}; they keep their initial "
            "values"
        )
    return state


def carry_to_test_net(trained, net):
    """Returns the state of a test net with the weights of the trained Network."""
    return carry_weights(trained.conf, trained.state, net.conf, first_state(net.conf))
