"""Number of replicas and kind of exchange, from -clusterSize, -devices and -connection."""

from sparkdl.spark.jobs.slot_request import request_slots
from sparkdl.spark.jobs.slots import executors, slots
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging


def replicas(sc, cluster_size, devices, tell):
    """Returns the number of replicas: `devices` on each of `cluster_size` executors, or on all.

    Waits some seconds for the executors requested from Spark. If there is room for fewer replicas,
    fewer train, and `tell` reports it; CaffeOnSpark would stop.
    """
    wanted = None if cluster_size is None else cluster_size * devices
    if wanted is not None:
        request_slots(sc, wanted)
    room = slots(sc, wanted or 1)
    executor_count = max(1, executors(sc))  # in local mode, the driver counts as one
    if cluster_size is not None and cluster_size != executor_count:
        tell(f"-clusterSize is {cluster_size}, but there are {executor_count} executors")
    wanted = executor_count * devices if wanted is None else wanted
    if wanted > room:
        tell(
            f"{wanted} replicas were requested, but {room} train, all that the executors run at "
            f"once: an update uses {room} minibatches, not {wanted}"
        )
    return min(wanted, room)


def master_of(options, workers, batch_size):
    """Returns the TrainingMaster: synchronous SGD, over sockets or through the driver.

    Parameters
    ----------
    batch_size : int
        Examples per minibatch and replica, from the solver's net, as in CaffeOnSpark.
    """
    common = {"workers": workers, "batch_size_per_worker": batch_size}
    if options.persistent:
        common["storage_level"] = "DISK_ONLY"
    if options.connection == "none":
        return ParameterAveraging(averaging_frequency=1, **common)
    return AllReduceSGD(**common)
