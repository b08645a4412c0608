"""Works on the jobs of delivery."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("delivery: no job")
    return job
