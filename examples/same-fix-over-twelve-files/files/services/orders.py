"""Works on the jobs of orders."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("orders: no job")
    return job
