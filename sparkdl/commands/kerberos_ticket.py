"""Whether this machine has the Kerberos ticket that a submission to YARN needs."""

import os
import shutil
import subprocess

from sparkdl.data.hadoop import tokens
from sparkdl.data.hadoop.kerberos import has_kerberos

KEYTAB = "spark.kerberos.keytab", "spark.yarn.keytab"
NOTE = (
    "the cluster has Kerberos, and klist finds no valid ticket; run kinit, or set "
    "spark.kerberos.keytab and spark.kerberos.principal; unless spark-defaults.conf has them, "
    "spark-submit tries for 15 minutes"
)


def check_ticket(master, known):
    """Yields a note if a submission with these settings may lack a ticket.

    Parameters
    ----------
    master : str or None
        Of Spark.
    known : dict
        Settings of Spark, {key: value}.
    """
    has_other = os.environ.get(tokens.LOCATION) or any(key in known for key in KEYTAB)
    if master == "yarn" and not has_other and has_kerberos() and not has_ticket():
        yield NOTE


def has_ticket():
    """Returns whether klist finds a valid ticket, or is not installed."""
    program = shutil.which("klist")
    return program is None or subprocess.call([program, "-s"]) == 0
