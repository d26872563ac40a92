"""HDFS over two simulated hosts: the NameNode on the left one, a DataNode on each."""

from copy import copy

from tests.cluster.daemon import Daemon
from tests.cluster.hdfs import DATA_NODE, Hdfs
from tests.support.namespaces import kill


class HdfsOverHosts(Hdfs):
    """A running HDFS whose NameNode considers a dead node alive for ten minutes."""

    def __init__(self, folder, hosts):
        self.hosts = hosts
        address = hosts[0].address
        super().__init__(folder, len(hosts), {"rpc": f"{address}:8020", "http": f"{address}:9870"})
        names = self.folder / "hosts"
        rows = ["127.0.0.1 localhost", *(f"{one.address} {one.name}" for one in hosts)]
        names.write_text("\n".join([*rows, ""]))
        for one in hosts:  # the NameNode looks up the name of its host
            one.run("mount", "--bind", names, "/etc/hosts")
        self.java.host = hosts[0]

    def hdfs_site(self, places):
        return super().hdfs_site(places) | {"dfs.namenode.heartbeat.recheck-interval": 300_000}

    def datanode(self, number):
        host, java = self.hosts[number], copy(self.java)
        java.host = host
        ports = ("address", "http.address", "ipc.address")
        own = {f"dfs.datanode.{port}": f"{host.address}:0" for port in ports}
        own["dfs.datanode.hostname"] = host.address
        own["dfs.datanode.data.dir"] = f"file://{self.blocks_of(number)}"
        ready = "Successfully sent block report"
        return Daemon(java, f"datanode{number}", DATA_NODE, ready, own)

    def kill_datanode(self, number):
        kill(self.datanodes[number].process)
