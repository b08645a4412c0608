"""Works on the jobs of export."""
import logging

log = logging.getLogger(__name__)


def run(job):
    if job is None:
        log.warn("export: no job")
    return job
