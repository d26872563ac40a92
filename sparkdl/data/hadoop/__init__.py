"""HDFS without Java: hdfs:// by native RPC and webhdfs:// over HTTP, configured as the cluster.

File systems have the fsspec methods that sparkdl.data.files uses; their errors are OSErrors.
"""

SCHEMES = ("hdfs", "viewfs", "webhdfs", "swebhdfs")


def file_system(uri):
    """Returns (file system, path in it) for a URI with one of SCHEMES.

    Raises DataError, OSError.
    """
    scheme, _, rest = uri.partition(":")
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
    else:
        authority, path = "", rest.lstrip("/")
    if scheme in ("hdfs", "viewfs"):
        from sparkdl.data.hadoop.native import NativeFiles as Files  # imported only when used
    else:
        from sparkdl.data.hadoop.web import WebFiles as Files
    return Files(scheme=scheme, authority=authority), f"/{path}"
