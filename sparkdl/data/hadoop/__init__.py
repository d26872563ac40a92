"""HDFS without Java: hdfs:// by native RPC, webhdfs:// over HTTP, set up by the cluster's files.

Each file system has the methods of fsspec that sparkdl.data.files uses; their errors are OSErrors.
"""

SCHEMES = ("hdfs", "viewfs", "webhdfs", "swebhdfs")


def file_system(uri):
    """Returns (file system, path in it) of a URI of one of SCHEMES. Raises DataError, OSError."""
    scheme, _, rest = uri.partition(":")
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
    else:
        authority, path = "", rest.lstrip("/")
    if scheme in ("hdfs", "viewfs"):
        from sparkdl.data.hadoop.native import NativeFiles as Files  # only where they are used
    else:
        from sparkdl.data.hadoop.web import WebFiles as Files
    return Files(scheme=scheme, authority=authority), f"/{path}"
