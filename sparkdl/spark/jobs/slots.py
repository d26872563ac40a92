"""Task slots and executors of a cluster, for workers that must all run at once."""

import logging
import re
import time

from sparkdl.errors import ConfigError, count_of
from sparkdl.spark.standalone_master import SCHEME

LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)")
PORT = re.compile(r":\d+$")  # after a host; absent before the executor's blocks are known
log = logging.getLogger(__name__)
_gone_on_with = {}  # {application: number of executors after a wait for more timed out}
EXECUTOR_TIMEOUT = 30.0  # seconds to wait for requested executors
PATIENCE = 10.0  # seconds until the wait for executors is logged
SPECULATION = "spark.speculation"
EXCLUDES = "spark.excludeOnFailure.enabled", "spark.excludeOnFailure.application.enabled"
KILLS_EXCLUDED = "spark.excludeOnFailure.killExcludedExecutors"
ENDS_IDLE = "spark.python.worker.killOnIdleTimeout"
IDLE_LIMIT = "spark.python.worker.idleTimeoutSeconds"
SETTLING = 1.0  # seconds; Spark's scheduler knows of a lost executor before its list of executors
CURE = (
    "check whether the cluster has room for more (spark.executor.memory, cores, resources), and "
    "the stderr of executors that died"
)


def slots(sc, least=1, resources=None, enough=None):
    """Returns the number of tasks that the executors run at once.

    `resources` is the ResourceProfile of the tasks, None the session's own.

    Executors come one by one, and the result of training depends on their number. So this waits for
    all executors that Spark was asked for, and for `least` slots unless all of them have come,
    until there are `enough`. It logs a wait of PATIENCE, and what it continues with after
    EXECUTOR_TIMEOUT; from then on the application waits again only when further executors come.
    """
    begun, is_told = time.monotonic(), False
    while lacks_slots(sc, least, resources, enough, waited := time.monotonic() - begun):
        if waited > EXECUTOR_TIMEOUT:
            log.warning(
                "%s; continuing with these: %s", describe_wait(sc, least, waited, resources), CURE
            )
            _gone_on_with[sc.applicationId] = executors(sc)
            break
        if waited > PATIENCE and not is_told:
            log.warning(
                "%s; waiting for more: %s", describe_wait(sc, least, waited, resources), CURE
            )
            is_told = True
        time.sleep(0.05)
    room = concurrent_tasks(sc, resources)
    if not room and resources is not None:  # Spark would retry for ten minutes
        raise ConfigError(
            f"resources must fit into an executor, got {describe_profile(resources)}, but none of "
            f"{describe_executors(sc)} has room; ask for fewer, or for larger executors"
        )
    return max(1, room)


def lacks_slots(sc, least, resources, enough, waited):
    """Returns whether to wait for more executors or slots, after `waited` seconds."""
    room, known, wanted = concurrent_tasks(sc, resources), executors(sc), executors_wanted(sc)
    if enough is not None and room >= enough:
        return False
    if known < wanted:
        has_waited = known == _gone_on_with.get(sc.applicationId)  # in vain
        return room < least or not has_waited
    if room >= least or not wanted or waited < SETTLING:
        return room < least
    return bool(leaving_executors(sc))  # another replaces one that leaves


def describe_profile(resources):
    """Describes the resources of each task, such as "2 cpus, 1 gpu"."""
    requests = resources.taskResources.values()
    return ", ".join(f"{each.amount:g} {each.resourceName}" for each in requests)


def describe_wait(sc, least, waited, resources=None):
    """Describes the executors and slots that have come during a wait."""
    room = f"{count_of(concurrent_tasks(sc, resources), 'slot')} of at least {least}"
    return f"{describe_executors(sc)} and {room} started in {waited:.0f} s"


def describe_executors(sc):
    """Describes how many of the requested executors there are."""
    wanted = executors_wanted(sc)
    return count_of(executors(sc), "executor") + (f" of {wanted}" if wanted else "")


def concurrent_tasks(sc, resources=None):
    """Returns how many tasks of a ResourceProfile run at once; None is the session's.

    Spark counts executors that it excludes after failures of their tasks, but gives them no tasks.
    """
    context = sc._jsc.sc()
    if resources is None:
        profile = context.resourceProfileManager().defaultResourceProfile()
    else:
        profile = resources._java_resource_profile
    return max(0, context.maxNumConcurrentTasks(profile) - excluded_slots(sc, profile))


def excluded_slots(sc, profile):
    """Returns the number of tasks of a profile that excluded executors would run at once."""
    if not any(is_on(sc, name) for name in EXCLUDES) or is_on(sc, KILLS_EXCLUDED):
        return 0
    known = known_executors(sc, only_active=True)
    excluded = [each for each in known if each.isExcluded()]
    return sum(each.maxTasks() for each in excluded if each.resourceProfileId() == profile.id())


def gpus_of_a_task(sc, resources=None):
    """Returns the number of GPUs per task: 0 without, a fraction if tasks share one."""
    if resources is not None:
        request = resources.taskResources.get("gpu")
        return request.amount if request else 0.0
    return float(option(sc, "spark.task.resource.gpu.amount", "0"))


def executors(sc):
    """Returns the number of registered executors; Spark's list includes the driver."""
    return sc._jsc.sc().getExecutorMemoryStatus().size() - 1


def executors_share_host(sc):
    """Returns whether all executors run on one host, so that each can open the files of others."""
    return len({host for _, host in live_executors(sc)}) <= 1


def executor_locations(sc):
    """Returns the executors' locations, in the form of Spark's preferred locations of tasks.

    Executors being decommissioned get no tasks, and are left out.
    """
    leaving = leaving_executors(sc)
    return [f"executor_{host}_{name}" for name, host in live_executors(sc) if name not in leaving]


def live_executors(sc):
    """Returns (name, host) of each executor; in local mode that of the driver."""
    known = known_executors(sc, only_active=True)
    pairs = [(each.id(), PORT.sub("", each.hostPort())) for each in known]
    return [pair for pair in pairs if pair[0] != "driver"] or pairs


def lost_executors(sc):
    """Returns the reason that Spark gives for the loss of each executor that is gone."""
    return [
        value_of(each.removeReason()) or "a reason that Spark does not know"
        for each in known_executors(sc)
        if not each.isActive()
    ]


def decommissions(sc):
    """Returns whether Spark is told of executors to be decommissioned."""
    return is_on(sc, "spark.decommission.enabled")


def leaving_executors(sc, only_busy=False):
    """Returns the names of executors being decommissioned; with `only_busy` those that run tasks.

    They get no more tasks.
    """
    if not decommissions(sc):
        return set()
    known = [each for each in known_executors(sc, only_active=True) if each.id() != "driver"]
    names = [each.id() for each in known if not only_busy or each.activeTasks()]
    scheduler = sc._jsc.sc().taskScheduler()
    return {name for name in names if scheduler.getExecutorDecommissionState(name).isDefined()}


def active_tasks(sc):
    """Returns the number of running tasks of all jobs."""
    return sum(each.activeTasks() for each in known_executors(sc) if each.isActive())


def running_tasks(sc, names):
    """Returns {executor: number of tasks it runs} of these executors, from Spark's scheduler.

    Spark's data about executors and jobs may lag by `spark.executor.heartbeatInterval`: a figure
    that changes twice within `spark.ui.liveUpdate.period` is not written until another event.
    """
    running = sc._jsc.sc().taskScheduler().runningTasksByExecutors()
    return {name: value_of(running.get(name)) or 0 for name in names}


def runs_task(sc, jobs):
    """Returns whether a task of these jobs runs, from Spark's scheduler; see `running_tasks`."""
    return any(tasks.runningTasks() for tasks in task_sets(sc, jobs))


def task_sets(sc, jobs):
    """Returns the scheduler's TaskSetManagers of the running stages of these jobs."""
    context, numbers = sc._jsc.sc(), {each for job in jobs for each in elements(job.stageIds())}
    known = map(value_of, map(context.statusTracker().getStageInfo, numbers))
    attempts = [(one.stageId(), one.currentAttemptId()) for one in known if one is not None]
    found = [context.taskScheduler().taskSetManagerForAttempt(*attempt) for attempt in attempts]
    return [tasks for tasks in map(value_of, found) if tasks is not None]


def value_of(scala_option):
    """Returns the value of a Scala Option, or None."""
    return scala_option.get() if scala_option.isDefined() else None


def elements(sequence):
    """Returns the elements of a Scala sequence."""
    return [sequence.apply(number) for number in range(sequence.size())]


def known_executors(sc, only_active=False):
    """Returns Spark's summaries of executors, which may include the driver."""
    return elements(sc._jsc.sc().statusStore().executorList(only_active))


def executors_wanted(sc):
    """Returns the number of executors that the session asked for, 0 if Spark decides."""
    local = parse_local_cluster(sc.master)
    if local is not None:
        return local[0]
    if is_in_driver(sc) or dynamic(sc):
        return 0
    return executors_asked_for(sc.master, sc._conf.get)


def executors_asked_for(master, read):
    """Returns the number of executors that settings ask a cluster for, 0 if they do not say.

    `read` is a function (name, default) -> str.
    """
    if master.startswith(SCHEME):  # a standalone cluster deals out cores
        total, each = (int(read(f"spark.{of}", "0")) for of in ("cores.max", "executor.cores"))
        return total // each if each else 0
    return int(read("spark.executor.instances", "0"))


def parse_local_cluster(master):
    """Returns (executors, cores of each) of a master such as local-cluster[2,1,1024], or None."""
    match = LOCAL_CLUSTER.match(master)
    return match and (int(match[1]), int(match[2]))


def is_in_driver(sc):
    """Returns whether all tasks run in the driver's JVM, whatever the executor settings."""
    return sc.master == "local" or sc.master.startswith("local[")


def dynamic(sc):
    """Returns whether Spark allocates executors dynamically."""
    return not is_in_driver(sc) and is_on(sc, "spark.dynamicAllocation.enabled")


def option(sc, name, default=None):
    """Returns an option of the session; `sc.getConf()` would copy all, with a JVM call for each."""
    return sc._conf.get(name, default)


def is_on(sc, name, default="false"):
    """Returns whether an option of the session is true."""
    return is_true(option(sc, name, default))


def is_true(text):
    """Returns whether a setting is true, in any case, as Spark reads it."""
    return text.strip().lower() == "true"


def launch_obstacle(sc):
    """Returns why communicating workers cannot all run at once in a stage, or None.

    Spark does not run barrier stages under dynamic allocation. The ordinary stage in their place
    must run each task only once: a speculative copy would be a second worker of the same rank. A
    worker gives Spark nothing until the fit ends, so it counts as idle.
    """
    if dynamic(sc) and is_on(sc, SPECULATION):
        return f"{SPECULATION} is true, which would run slow workers twice with dynamic allocation"
    if ends_idle_processes(sc):
        limit = option(sc, IDLE_LIMIT)
        return f"{ENDS_IDLE} is true, which would end workers that train for {IDLE_LIMIT}, {limit}"
    return None


def ends_idle_processes(sc):
    """Returns whether Spark ends Python processes that neither take nor give anything for long."""
    return are_ended(option(sc, ENDS_IDLE, "false"), option(sc, IDLE_LIMIT, "0"))


def are_ended(ends, limit):
    """Returns whether idle Python processes end under the settings of these values."""
    return is_true(ends) and re.fullmatch(r"0*\s*[a-z]*", limit.strip()) is None


def check_launch(sc):
    """Raises ConfigError if communicating workers cannot run in this session."""
    check_idle_processes(sc)
    if launch_obstacle(sc) is not None:
        raise ConfigError(
            f"{SPECULATION} must be false where workers talk to each other and "
            "spark.dynamicAllocation.enabled is true, got true: Spark would run a second copy of a "
            "slow worker; set it to false, or average through the driver"
        )


def check_idle_processes(sc):
    """Raises ConfigError if Spark would end processes in which a whole fit takes its time."""
    if ends_idle_processes(sc):
        cure = "set it to false, or average through the driver"
        raise idle_error(ENDS_IDLE, IDLE_LIMIT, option(sc, IDLE_LIMIT), cure)


def idle_error(name, limit_name, limit, cure):
    """Returns the error of a setting under which Spark ends idle Python processes."""
    return ConfigError(
        f"{name} must be false where a task trains for a whole fit and {limit_name} is {limit}, "
        f"got true: Spark would end it after that time, as it gives nothing before the end; {cure}"
    )
