"""Failed jobs get another chance."""

from jobs import queue

ATTEMPTS_MAX = 3


def again(job):
    job["attempts"] = job.get("attempts", 0) + 1
    if job["attempts"] < ATTEMPTS_MAX:
        queue.put(job)
