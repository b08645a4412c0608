"""Works on the jobs of accounts."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("accounts: no job")
    return job
