"""Works on the jobs of billing."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("billing: no job")
    return job
