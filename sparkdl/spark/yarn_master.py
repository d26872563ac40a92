"""Reachability check of YARN's ResourceManagers, as a JVM would retry for a quarter of an hour.

References
----------
Hadoop's yarn-default.xml: yarn.resourcemanager.address, .hostname, .ha.enabled and .ha.rm-ids.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from sparkdl.data.hadoop.configuration import read_properties
from sparkdl.errors import UnsupportedError
from sparkdl.spark.standalone_master import why_unreachable

PORT = 8032  # Hadoop's default
FILES = ("core-site.xml", "yarn-site.xml")
OF_HADOOP = "spark.hadoop."  # begins settings of Spark that are Hadoop's
PROXY = "hadoop.rpc.socket.factory.class.default"
MANAGER = "yarn.resourcemanager"


def check_yarn(settings: Mapping[str, str], folder: Path) -> None:
    """Raises UnsupportedError if nobody listens at the addresses of YARN's ResourceManagers.

    One of several is enough. What only the JVM knows is left to Spark: addresses behind a proxy,
    and settings that spark-env.sh may change.

    Parameters
    ----------
    settings : dict
        Of Spark, with the master.
    folder : Path
        Spark's folder of settings.
    """
    given = [os.environ.get(name) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    if settings["spark.master"] != "yarn" or not any(given) or (folder / "spark-env.sh").exists():
        return
    properties = hadoop_properties([folder, *map(Path, filter(None, given))], settings)
    places = resource_managers(properties)
    if PROXY in properties or any("${" in place for place in places):
        return
    reasons = [why_unreachable(place) for place in places]
    if None in reasons:
        return
    told = "; ".join(f"{place}: {why}" for place, why in zip(places, reasons, strict=True))
    raise UnsupportedError(
        f"master 'yarn' must have a ResourceManager that accepts connections, got {told}; start "
        "it, or let HADOOP_CONF_DIR be the folder of the yarn-site.xml that names it"
    )


def hadoop_properties(folders: list[Path], settings: Mapping[str, str]) -> dict[str, str]:
    """Returns Hadoop's properties as a JVM of Spark reads them.

    A file is that of the first folder that has it; settings of Spark take precedence.
    """
    found = [[folder / name for folder in folders] for name in FILES]
    first = [next(filter(Path.exists, paths), None) for paths in found]
    start = len(OF_HADOOP)
    ours = {key[start:]: value for key, value in settings.items() if key.startswith(OF_HADOOP)}
    return read_properties([path for path in first if path]) | ours


def resource_managers(properties: Mapping[str, str]) -> list[str]:
    """Returns host:port of each ResourceManager."""
    has_several = properties.get(f"{MANAGER}.ha.enabled", "false").lower() == "true"
    names = properties.get(f"{MANAGER}.ha.rm-ids", "").split(",") if has_several else []
    ends = [f".{name.strip()}" for name in names if name.strip()] or [""]
    return [resource_manager(properties, end) for end in ends]


def resource_manager(properties: Mapping[str, str], end: str) -> str:
    """Returns host:port of the ResourceManager whose properties end so."""
    address = properties.get(f"{MANAGER}.address{end}")
    place = address or properties.get(f"{MANAGER}.hostname{end}") or "0.0.0.0"
    return place if ":" in place else f"{place}:{PORT}"
