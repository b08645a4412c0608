"""Works on the jobs of inventory."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("inventory: no job")
    return job
