"""Works on the jobs of search."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("search: no job")
    return job
