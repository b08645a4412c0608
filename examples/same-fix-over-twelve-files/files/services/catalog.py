"""Works on the jobs of catalog."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("catalog: no job")
    return job
