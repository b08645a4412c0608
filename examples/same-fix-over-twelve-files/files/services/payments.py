"""Works on the jobs of payments."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("payments: no job")
    return job
