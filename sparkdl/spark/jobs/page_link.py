"""A link from Spark's own pages to the page of a fit.

Spark shows links in descriptions of jobs only where they lead to a place on its own server. So a
place there, /sparkdl, redirects to the page, and the descriptions of our jobs lead to that place.
"""

import logging
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

PLACE = "/sparkdl"
LINK = f', <a href="{PLACE}/">its page</a>'
REDIRECT = "createRedirectHandler"  # of org.apache.spark.ui.JettyUtils, whose defaults follow it

linked: WeakSet = WeakSet()  # SparkContexts whose pages lead to one
log = logging.getLogger(__name__)


def link_page(sc, listeners):
    """Has Spark's pages lead to that of the first listener which wants it, if there is one.

    The link stays until another fit replaces it. Where Spark has no pages, the log says so.
    """
    pages = [one.url for one in listeners if getattr(one, "spark_link", False)]
    if not pages:
        return
    try:
        found = sc._jsc.sc().ui()
        if not found.isDefined():
            log.warning("Spark's pages cannot lead to %s: spark.ui.enabled is false", PLACE)
            return
        found.get().detachHandler(PLACE)
        found.get().attachHandler(redirect(sc, pages[0]))
        linked.add(sc)
    except (Py4JError, PySparkException) as error:  # nothing of this is in Spark's public API
        log.warning("Spark's pages cannot lead to %s: %s", PLACE, str(error).splitlines()[0])


def redirect(sc, url):
    """Returns a handler that sends whoever asks for PLACE to a URL."""
    jetty = sc._jvm.org.apache.spark.ui.JettyUtils
    defaults = [getattr(jetty, f"{REDIRECT}$default${number}") for number in (3, 4, 5)]
    arguments = [PLACE, url, *(default() for default in defaults)]
    try:
        return getattr(jetty, REDIRECT)(*arguments)
    except Py4JError:  # newer ones than Spark 4.1 take an option more
        return getattr(jetty, REDIRECT)(*arguments, getattr(jetty, f"{REDIRECT}$default$6")())


def link_of(sc):
    """Returns what descriptions of jobs end with: a link, or nothing."""
    return LINK if sc in linked else ""
