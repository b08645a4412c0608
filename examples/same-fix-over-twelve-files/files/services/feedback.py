"""Works on the jobs of feedback."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("feedback: no job")
    return job
