"""Works on the jobs of support."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("support: no job")
    return job
