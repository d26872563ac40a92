"""Configuration folders as on a Hadoop cluster."""

from sparkdl.data.hadoop.configuration import Configuration

SERVICE = {
    "dfs.nameservices": "Blue",
    "dfs.ha.namenodes.Blue": "nn1, nn2",
    "dfs.namenode.rpc-address.Blue.nn1": "one:8020",
    "dfs.namenode.rpc-address.Blue.nn2": "two:8020",
    "dfs.namenode.http-address.Blue.nn1": "one:9870",
    "dfs.namenode.http-address.Blue.nn2": "two:9871",
}


def write_xml(path, properties):
    """Writes a file of properties; a value may be (text, more elements)."""
    rows = []
    for name, value in properties.items():
        text, more = value if isinstance(value, tuple) else (value, "")
        rows.append(f"<property><name>{name}</name><value> {text}\n</value>{more}</property>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<?xml version='1.0'?>\n<configuration>{''.join(rows)}</configuration>")


def configured(folder, monkeypatch, core=None, hdfs=None):
    """Writes a configuration, points HADOOP_CONF_DIR to it and returns its Configuration."""
    write_xml(folder / "core-site.xml", core or {})
    write_xml(folder / "hdfs-site.xml", hdfs or {})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(folder))
    return Configuration.read()
