"""Faults of HDFS and YARN, as functions of the HadoopDaemons and a worker's process."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

import psutil

from tests.chaos.process_faults import LONG, SHORT, stopping
from tests.cluster.hdfs import NAME_NODE, SAME, Hdfs
from tests.cluster.yarn import Yarn
from tests.spark.slow import executor_of
from tests.support.waiting import until

# A daemon ends with the thread that starts it: this one lives as long as the process.
STARTER = ThreadPoolExecutor(max_workers=1)
DATA, KEPT = "/chaos/data", "/chaos/kept"  # what fits read, and where they save


@dataclass(frozen=True)
class HadoopDaemons:
    """HDFS and YARN, whose daemons can be killed or suspended, and recover."""

    hdfs: Hdfs
    yarn: Yarn

    def kill_name_node(self):
        self.hdfs.namenode.end()

    def start_name_node(self):
        given = "namenode", NAME_NODE, "NameNode RPC up at", {}
        self.hdfs.namenode = STARTER.submit(self.hdfs.daemon, *given).result()
        self.hdfs.namenode.wait()

    def kill_node_manager(self):
        """Kills the last NodeManager; its containers keep running."""
        self.yarn.daemons[-1].end()

    def limit_bytes(self, size):
        """Sets a quota, in bytes, on what fits save; None removes it."""
        size = (1 << 63) - 1 if size is None else size
        self.hdfs.make(KEPT)
        self.hdfs.set_quota(KEPT, SAME, size)

    def heal(self):
        """Restarts the daemons that have ended, and waits until HDFS accepts changes."""
        if has_ended(self.hdfs.namenode):
            self.start_name_node()
        for number, node in self.hdfs.datanodes.items():
            if has_ended(node):
                self.hdfs.restart_datanode(number)
        if has_ended(self.yarn.daemons[-1]):
            self.yarn.daemons[-1] = self.yarn.node(self.yarn.nodes - 1).wait()
        until(self._accepts_changes)

    def _accepts_changes(self):
        """A new NameNode refuses them until DataNodes have reported their blocks."""
        try:
            self.hdfs.make(KEPT)
        except HTTPError as refusal:
            refusal.close()
            return False
        return True


def has_ended(daemon):
    return daemon.process.poll() is not None


def restart_name_node(seconds):
    """Returns a fault that kills the NameNode and starts a new one after some seconds."""

    def restart(hadoop, _):
        hadoop.kill_name_node()
        time.sleep(seconds)
        hadoop.start_name_node()

    return restart


def stop(find, seconds):
    """Returns a fault that suspends the chosen daemon for some seconds."""

    def pause(hadoop, _):
        stopping(seconds)(psutil.Process(find(hadoop).process.pid))

    return pause


def kill_container(hadoop, worker):
    """Kills all processes of a container, as the kernel does when memory runs out."""
    name = Path(executor_of(worker).cwd()).name
    hadoop.yarn.kill_container(name)


def name_node(hadoop):
    return hadoop.hdfs.namenode


def data_node(hadoop):
    return hadoop.hdfs.datanodes[0]


def node_manager(hadoop):
    return hadoop.yarn.daemons[-1]


HADOOP_FAULTS = {
    "DataNode killed": lambda hadoop, _: hadoop.hdfs.kill_datanode(0),
    "DataNode stopped, long": stop(data_node, LONG),
    "NameNode killed, back at once": restart_name_node(0),
    "NameNode killed, back late": restart_name_node(LONG),
    "NameNode stopped, short": stop(name_node, SHORT),
    "NameNode stopped, long": stop(name_node, LONG),
    "NodeManager killed": lambda hadoop, _: hadoop.kill_node_manager(),
    "NodeManager stopped, long": stop(node_manager, LONG),
    "container killed": kill_container,
    "quota of HDFS": lambda hadoop, _: hadoop.limit_bytes(1),
    "data removed from HDFS": lambda hadoop, _: hadoop.hdfs.remove(DATA),
}
