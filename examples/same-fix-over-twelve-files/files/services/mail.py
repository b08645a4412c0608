"""Works on the jobs of mail."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("mail: no job")
    return job
