"""Configuration of a Hadoop cluster, read from core-site.xml and hdfs-site.xml.

References
----------
Hadoop's class Configuration: later files win unless a property is final; ${name} and ${env.NAME}
are substituted. HDFS High Availability: dfs.ha.namenodes.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from xml.etree import ElementTree

from sparkdl.errors import DataError

FILES = ("core-site.xml", "hdfs-site.xml")
OF_SPARK = Path("__spark_conf__", "__hadoop_conf__")  # in YARN containers, shipped by spark-submit
VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
DEEPEST = 20  # nesting of variables
EVERY = ("0.0.0.0", "[::]", "::")  # wildcard addresses of a server
RPC_PORT, WEB_PORTS = 8020, {"http": 9870, "https": 9871}


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Properties by name, and the folder they were read from; None and {} without a folder."""

    folder: Path | None
    properties: dict[str, str]

    @classmethod
    def read(cls):
        """Reads the files of HADOOP_CONF_DIR, HADOOP_HOME, or this process's YARN container.

        Raises
        ------
        DataError
            If HADOOP_CONF_DIR is not a folder, or a file in it cannot be read.
        """
        folder = _folder()
        paths = [folder / name for name in FILES] if folder else []
        return cls(folder=folder, properties=read_properties(paths))

    @property
    def is_secure(self):
        """True if the cluster authenticates users by Kerberos."""
        return self.properties.get("hadoop.security.authentication", "simple") == "kerberos"

    @property
    def is_private(self):
        """True if the cluster encrypts what it sends."""
        protections = ("hadoop.rpc.protection", "dfs.data.transfer.protection")
        levels = [self.properties.get(name, "") for name in protections]
        encrypts = self.properties.get("dfs.encrypt.data.transfer", "false")
        return encrypts == "true" or any("privacy" in level for level in levels)

    def namenodes(self, service):
        """Returns the names of a name service's NameNodes; empty if it is a host."""
        return _names(self.properties.get(f"dfs.ha.namenodes.{service}", ""))

    def authority(self, scheme, authority):
        """Returns host:port or the name service of a URI, by default that of fs.defaultFS."""
        if authority:
            return authority
        default = self.properties.get("fs.defaultFS", "")
        if not default.startswith(("hdfs://", "viewfs://", "webhdfs://", "swebhdfs://")):
            raise DataError(
                f"{scheme}:///: must name a NameNode, or fs.defaultFS must, got {default!r} in "
                f"{self.folder}; set HADOOP_CONF_DIR to the folder of the cluster's core-site.xml"
            )
        return default.partition("://")[2].partition("/")[0]

    def rpc_authority(self, authority):
        """Returns the authority for native RPC, with a port if it is a host."""
        chosen = self.authority("hdfs", authority)
        return chosen if self.namenodes(chosen) or ":" in chosen else f"{chosen}:{RPC_PORT}"

    def web_scheme(self):
        """Returns the scheme of the cluster's web servers, that of HTTPS if they have it."""
        policy = self.properties.get("dfs.http.policy", "HTTP_ONLY")
        return "swebhdfs" if "HTTPS" in policy else "webhdfs"

    def web_authority(self, authority):
        """Converts an authority for native RPC to one for WebHDFS."""
        chosen = self.rpc_authority(authority)
        default = self.properties.get("fs.defaultFS", "").rstrip("/")
        is_default = default == f"hdfs://{chosen}" or f"{default}:{RPC_PORT}" == f"hdfs://{chosen}"
        if is_default:
            return ""
        return chosen if self.namenodes(chosen) else chosen.rpartition(":")[0]

    def web_addresses(self, authority, protocol="http"):
        """Returns host:port of each NameNode's web server.

        Parameters
        ----------
        authority : str
            host:port, a host, a name service, or empty: as in the configuration.
        protocol : str
            "http" or "https".
        """
        if ":" in authority:
            return [authority]
        name, port = f"dfs.namenode.{protocol}-address", WEB_PORTS[protocol]
        if not authority and name in self.properties:
            return [self._with_host(self.properties[name], "fs.defaultFS")]
        chosen = self.authority("webhdfs", authority)
        nodes = self.namenodes(chosen)
        if not nodes:
            return [f"{chosen.partition(':')[0]}:{port}"]
        keys = [f"{name}.{chosen}.{node}" for node in nodes]
        missing = [one for one in keys if one not in self.properties]
        if missing:
            raise DataError(
                f"webhdfs://{chosen}: must have {', '.join(missing)} in {self.folder}/{FILES[1]}"
            )
        rpc = "dfs.namenode.rpc-address"
        return [
            self._with_host(self.properties[key], f"{rpc}.{chosen}.{node}")
            for key, node in zip(keys, nodes, strict=True)
        ]

    def _with_host(self, address, rpc):
        """Returns a web server's address, with a host in place of a wildcard.

        The host is that of native RPC, given by the property `rpc`, as in HDFS.
        """
        host, _, port = address.rpartition(":")
        known = self.properties.get(rpc, "").rpartition("://")[2].partition("/")[0]
        if host not in EVERY or not known:
            return address
        return f"{known.rpartition(':')[0] or known}:{port}"


def read_properties(paths):
    """Returns {name: value} of those files that exist; see References above.

    Raises DataError if one cannot be read.
    """
    merged, final = {}, set()
    for path in paths:
        if path.exists():
            _merge(path, merged, final)
    return {name: _substitute_variables(merged[name], merged) for name in merged}


def user():
    """Returns the user's name on a cluster without Kerberos."""
    try:
        return os.environ.get("HADOOP_USER_NAME") or getuser()
    except (KeyError, OSError):  # for example in containers that run with an arbitrary uid
        text = f"uid {os.getuid()} has no name on this machine; set HADOOP_USER_NAME"
        raise DataError(f"HDFS must know the user's name, but {text}") from None


def _folder():
    folder, home = os.environ.get("HADOOP_CONF_DIR"), os.environ.get("HADOOP_HOME")
    places = [Path(folder)] if folder else []
    places += [Path(home, "etc", "hadoop")] if home else []
    places += [Path(os.environ.get("PWD") or ".") / OF_SPARK]
    for place in places:
        if place.is_dir():
            return place
    if folder:
        raise DataError(f"HADOOP_CONF_DIR must be a folder on this host, got {folder}")
    return None


def _merge(path, properties, final):
    for name, value, is_final in _properties(path):
        if name not in final:
            properties[name] = value
        if is_final:
            final.add(name)


def _properties(path, including=()):
    """Yields (name, value, is final) for a file and the files that it includes.

    `including` are the files that lead to it, each by an include of the next.
    """
    if path.resolve() in including:
        raise DataError(f"{path}: must not include itself, not even by way of other files")
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise DataError(f"{path}: cannot be read as a configuration of Hadoop: {error}") from error
    for one in root:
        if one.tag == "property" and one.findtext("name"):
            value = (one.findtext("value") or "").strip()
            yield one.findtext("name").strip(), value, one.findtext("final") == "true"
        elif str(one.tag).endswith("XInclude}include"):
            included = path.parent / one.get("href", "")
            yield from _properties(included, (*including, path.resolve()))


def _substitute_variables(value, properties):
    """Substitutes ${name} and ${env.NAME} in a value; like Hadoop, leaves unknown ones."""
    for _ in range(DEEPEST):
        filled = VARIABLE.sub(lambda match: _variable(match, properties), value)
        if filled == value:
            break
        value = filled
    return value


def _variable(match, properties):
    name = match[1]
    if name.startswith("env."):
        name, _, default = name.removeprefix("env.").partition(":-")
        return os.environ.get(name, default or match[0])
    if name == "user.name":
        with suppress(DataError):  # with Kerberos the user needs no name here
            return user()
    return properties.get(name, match[0])


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()]
