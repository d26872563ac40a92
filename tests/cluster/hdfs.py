"""HDFS on this machine: a NameNode, and DataNodes on different ports."""

import json
import os
import re
import shutil
from pathlib import Path

from tests.cluster import rpc, settings
from tests.cluster.daemon import Daemon, Java
from tests.cluster.jars import HADOOP, class_path
from tests.cluster.web import USER, answer
from tests.support.class_archive import FOLDER

SERVER = "org.apache.hadoop.hdfs.server"
NAME_NODE, DATA_NODE = f"{SERVER}.namenode.NameNode", f"{SERVER}.datanode.DataNode"
FORMATTED = FOLDER / f"namenode-{HADOOP}"  # kept for later runs
LEAVE, ENTER = 1, 2  # actions of setSafeMode
SAME = 2**63 - 1  # leaves a quota as it is


class Hdfs:
    """A running HDFS.

    Attributes
    ----------
    uri : str
        "hdfs://127.0.0.1:port"
    web : str
        "http://127.0.0.1:port", of the NameNode's pages and WebHDFS.
    conf : Path
        Value for HADOOP_CONF_DIR.
    """

    def __init__(self, folder, datanodes=2, places=None):
        self.folder, self.conf, self.replicas = Path(folder), Path(folder, "conf"), datanodes
        self.folder.mkdir(parents=True, exist_ok=True)
        places = places or settings.addresses("rpc", "http")
        self.uri, self.web = f"hdfs://{places['rpc']}", f"http://{places['http']}"
        settings.write(self.conf / "core-site.xml", self.core_site())
        settings.write(self.conf / "hdfs-site.xml", self.hdfs_site(places))
        self.java = Java(self.folder, self.conf, class_path())
        self.datanodes, self.namenode = {}, None

    def core_site(self):
        return {"fs.defaultFS": self.uri, "hadoop.tmp.dir": self.folder / "tmp"}

    def hdfs_site(self, places):
        return {
            "dfs.namenode.name.dir": f"file://{self.folder}/namenode",
            "dfs.namenode.rpc-address": places["rpc"],
            "dfs.namenode.http-address": places["http"],
            "dfs.replication": self.replicas,
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.fs-limits.min-block-size": 4096,  # so that small files have many blocks
            "dfs.namenode.safemode.extension": 0,
            "dfs.namenode.block.deletion.unlock.interval.ms": 200,  # by default every 10 ms
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.heartbeat.recheck-interval": 5000,  # dead after 2 * 5 s + 10 * 1 s
        }

    def start(self):
        try:
            self.format()
            self.namenode = self.daemon("namenode", NAME_NODE, "NameNode RPC up at", {}).wait()
            # Started later, because a DataNode that finds no NameNode sleeps 5 s.
            for number in range(self.replicas):
                self.datanodes[number] = self.datanode(number)
            for node in self.datanodes.values():
                node.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def format(self):
        """Formats the NameNode by copying the file system that a JVM formatted first."""
        own, part = self.folder / "namenode", FORMATTED.with_suffix(f".{os.getpid()}")
        if FORMATTED.exists():
            shutil.copytree(FORMATTED, own)
            return
        self.java.run(NAME_NODE, "-format", "-force", "-nonInteractive")
        shutil.copytree(own, part)  # creates FOLDER too
        try:
            part.rename(FORMATTED)
        except OSError:  # another process was faster
            shutil.rmtree(part)

    def datanode(self, number):
        ports = ("address", "http.address", "ipc.address")
        own = {f"dfs.datanode.{port}": f"{settings.HOST}:0" for port in ports}
        own["dfs.datanode.hostname"] = settings.HOST  # Spark does not accept "localhost" as a place
        own["dfs.datanode.data.dir"] = f"file://{self.blocks_of(number)}"
        name, ready = f"datanode{number}", "Successfully sent block report"
        return self.daemon(name, DATA_NODE, ready, own)

    def daemon(self, *arguments):
        return Daemon(self.java, *arguments)

    def stop(self):
        """Kills all daemons; nothing in HDFS is kept."""
        for node in [*self.datanodes.values(), self.namenode]:
            if node is not None:
                node.end()

    # Faults

    def kill_datanode(self, number):
        """Kills a DataNode; the NameNode considers it alive for 20 s."""
        self.datanodes[number].end()

    def restart_datanode(self, number):
        self.kill_datanode(number)
        self.datanodes[number] = self.datanode(number).wait()

    def safe_mode(self, on):
        """Switches safe mode, in which the NameNode refuses changes."""
        self.call("setSafeMode", ENTER if on else LEAVE)

    def set_quota(self, path, names=SAME, size=SAME):
        """Limits a folder to so many names, and to so many bytes including replicas."""
        self.call("setQuota", path, names, size)

    def call(self, method, *arguments):
        rpc.call(self.uri.removeprefix("hdfs://"), method, *arguments)

    def block_files(self, path):
        """Files on the DataNodes' disks that hold blocks of `path`, sorted by name."""
        names = re.findall(r"blk_\d+", self.ask(f"/fsck?path={path}&files=1&blocks=1").decode())
        found = [file for name in set(names) for file in self.folder.glob(f"disk*/**/{name}")]
        return sorted(found, key=lambda file: (file.name, str(file)))

    def blocks_of(self, number):
        return self.folder / f"disk{number}"

    # Files by WebHDFS, as a check that is independent of sparkdl's code

    def write(self, path, data, **options):
        """Writes bytes to a path such as "/a/b"; `options` are WebHDFS's, such as replication=1."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        asked = f"op=CREATE&overwrite=true&noredirect=true{more}"
        there = json.loads(self.ask(f"/webhdfs/v1{path}?{asked}", "PUT"))["Location"]
        answer(there, "PUT", data)

    def make(self, path):
        """Creates a folder unless it exists."""
        self.ask(f"/webhdfs/v1{path}?op=MKDIRS", "PUT")

    def read(self, path):
        return self.ask(f"/webhdfs/v1{path}?op=OPEN")

    def names(self, path):
        """Sorted names in a folder."""
        listed = json.loads(self.ask(f"/webhdfs/v1{path}?op=LISTSTATUS"))
        return sorted(each["pathSuffix"] for each in listed["FileStatuses"]["FileStatus"])

    def upload(self, local, path):
        """Copies a local file or folder to a path."""
        if Path(local).is_dir():
            for each in Path(local).iterdir():
                self.upload(each, f"{path}/{each.name}")
        else:
            self.write(path, Path(local).read_bytes())

    def remove(self, path):
        """Deletes a file, or a folder with its contents, if it exists."""
        self.ask(f"/webhdfs/v1{path}?op=DELETE&recursive=true", "DELETE")

    def ask(self, query, method="GET"):
        return answer(f"{self.web}{query}&user.name={USER}&ugi={USER}", method)
