"""YARN on this machine: a ResourceManager and NodeManagers, with spark-submit to use them."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from tests.cluster import settings
from tests.cluster.daemon import Daemon
from tests.cluster.submission import Submitted, environment
from tests.cluster.web import USER, answer

SERVER = "org.apache.hadoop.yarn.server"
RESOURCE_MANAGER = f"{SERVER}.resourcemanager.ResourceManager"
NODE_MANAGER = f"{SERVER}.nodemanager.NodeManager"
QUICK_LOCAL_FS = Path(__file__).with_name("QuickLocalFs.java")
PORTS = {
    "address": "",
    "scheduler": ".scheduler.address",
    "tracker": ".resource-tracker.address",
    "admin": ".admin.address",
    "web": ".webapp.address",
}
ONE_QUEUE = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": 100,
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    # By default it looks for free resources every 5 ms.
    "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms": 100,
}


class Yarn:
    """A running YARN: one ResourceManager and some NodeManagers.

    Attributes
    ----------
    conf : Path
        Value for HADOOP_CONF_DIR, shared with HDFS.
    web : str
        "http://127.0.0.1:port", of the ResourceManager.
    environment : dict
        Environment for spark-submit on this cluster, with small JVMs.
    """

    def __init__(self, hdfs, nodes=2, cores=4, megabytes=5120):
        self.hdfs, self.conf, self.java = hdfs, hdfs.conf, hdfs.java
        self.nodes, self.cores, self.megabytes = nodes, cores, megabytes
        places = settings.addresses(*PORTS)
        self.web = f"http://{places['web']}"
        settings.write(self.conf / "yarn-site.xml", self.yarn_site(places))
        settings.write(self.conf / "capacity-scheduler.xml", ONE_QUEUE)
        self.folder = hdfs.folder / "yarn"
        self.environment = environment(self.folder, self.java)
        self.daemons, self.of_nodes = [], {}

    def yarn_site(self, places):
        prefix = "yarn.resourcemanager"
        own = {f"{prefix}{PORTS[name] or '.address'}": place for name, place in places.items()}
        return own | {
            "yarn.resourcemanager.hostname": settings.HOST,
            "yarn.scheduler.include-port-in-node-name": "true",  # nodes differ only in their ports
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.scheduler.maximum-allocation-mb": self.megabytes,
            "yarn.nodemanager.resource.memory-mb": self.megabytes,
            "yarn.nodemanager.resource.cpu-vcores": self.cores,
            "yarn.nodemanager.vmem-check-enabled": "false",  # JVMs reserve far more than they use
            "yarn.nodemanager.sleep-delay-before-sigkill.ms": 250,
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        }

    def start(self):
        try:
            if self.java.compile(QUICK_LOCAL_FS):  # otherwise nodes take half a minute to unpack
                own = f"org.apache.hadoop.fs.local.{QUICK_LOCAL_FS.stem}"
                self.of_nodes["fs.AbstractFileSystem.file.impl"] = own
            name, ready = "resourcemanager", "Transitioned to active state"
            self.daemons.append(Daemon(self.java, name, RESOURCE_MANAGER, ready, {}))
            self.daemons += [self.node(number) for number in range(self.nodes)]
            for daemon in self.daemons:
                daemon.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def node(self, number):
        folder = self.folder / f"node{number}"
        ports = ("address", "localizer.address", "webapp.address", "collector-service.address")
        own = self.of_nodes | {f"yarn.nodemanager.{port}": f"{settings.HOST}:0" for port in ports}
        own["yarn.nodemanager.hostname"] = settings.HOST
        own["yarn.nodemanager.local-dirs"] = folder / "local"
        own["yarn.nodemanager.log-dirs"] = folder / "logs"
        ready = "Registered with ResourceManager as"
        return Daemon(self.java, f"nodemanager{number}", NODE_MANAGER, ready, own)

    def stop(self):
        """Stops YARN and kills what still runs in containers; does nothing if it has ended."""
        daemons, self.daemons = self.daemons, []
        for daemon in daemons[1:]:  # on SIGTERM they stop their containers at once
            daemon.end(by=signal.SIGTERM, patience=3.0)
        for daemon in daemons[:1]:
            daemon.end()
        for pid in self.containers().values() if daemons else ():
            kill_group(pid)

    # Applications

    def submit(self, *arguments, mode="cluster", timeout=400.0, check=True, env=None):
        """Runs spark-submit; returns a Submitted. With `check` a failure raises."""
        program = [Path(_find_spark_home(), "bin", "spark-submit"), "--master", "yarn"]
        return self.run(
            *program, "--deploy-mode", mode, *arguments, timeout=timeout, check=check, env=env
        )

    def run(self, *command, timeout=400.0, check=True, env=None, cwd=None):
        """Runs a command that calls spark-submit; returns a Submitted."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        options |= {"stdin": subprocess.DEVNULL, "env": self.environment | (env or {}), "cwd": cwd}
        with subprocess.Popen(
            list(map(str, command)), start_new_session=True, **options
        ) as process:
            try:
                printed, _ = process.communicate(timeout=timeout)
            except BaseException:
                kill_group(process.pid)
                said = Submitted(-1, process.communicate()[0])
                self.kill(said.application)
                raise RuntimeError(
                    f"{command} took over {timeout} s:\n{self.story(said)}"
                ) from None
        done = Submitted(process.returncode, printed)
        if check and done.code:
            raise RuntimeError(f"{command} gave {done.code}:\n{self.story(done)}")
        return done

    def story(self, done):
        logs = "\n".join(
            f"== {name}\n{text[-3000:]}" for name, text in self.logs(done.application).items()
        )
        return f"{done.printed[-4000:]}\n{logs[-20000:]}"

    def logs(self, application="*"):
        """Returns {"container/stdout": text} of an application's containers, on all nodes."""
        files = sorted(self.folder.glob(f"node*/logs/{application}/container_*/std*"))
        return {
            f"{file.parent.name}/{file.name}": file.read_text(errors="replace") for file in files
        }

    def containers(self, application="*"):
        """Returns {container: pid of its process group} of the running containers."""
        files = self.folder.glob(f"node*/local/nmPrivate/{application}/container_*/container_*.pid")
        found = {}
        for file in sorted(files):
            with suppress(OSError, ValueError):
                pid = int(file.read_text())
                os.killpg(pid, 0)
                found[file.stem] = pid
        return found

    def kill_container(self, name):
        """Kills all processes of a container at once, as the kernel does when memory runs out."""
        kill_group(self.containers()[name])

    def applications(self):
        """Returns {application id: its fields}, as the ResourceManager reports them."""
        listed = json.loads(answer(f"{self.web}/ws/v1/cluster/apps"))["apps"] or {"app": []}
        return {each["id"]: each for each in listed["app"]}

    def kill(self, application, patience=20.0):
        """Kills an application and waits until its containers are gone."""
        if application is None:
            return
        address = f"{self.web}/ws/v1/cluster/apps/{application}/state?user.name={USER}"
        answer(address, "PUT", {"state": "KILLED"})
        deadline = time.monotonic() + patience
        while self.containers(application) and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in self.containers(application).values():
            kill_group(pid)


def kill_group(pid):
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
