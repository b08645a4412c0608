"""Works on jobs until there are none."""

from jobs import queue, retry


def work(handle):
    while (job := queue.take()) is not None:
        try:
            handle(job)
        except Exception:
            retry.again(job)
