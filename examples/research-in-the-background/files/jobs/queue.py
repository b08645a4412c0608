"""Jobs that wait to be worked on."""

LIMIT = 100
waiting = []


def put(job):
    if len(waiting) >= LIMIT:
        return False
    waiting.append(job)
    return True


def take():
    return waiting.pop(0) if waiting else None
