"""contender.py: what all contenders of `make bench` have in common."""

import time


class Missing(Exception):
    """The contender cannot run the case."""


def batch_of(function):
    def batch(count):
        start = time.perf_counter_ns()
        for _ in range(count):
            function()
        return time.perf_counter_ns() - start
    return batch


def first_line(text):
    lines = str(text).strip().splitlines()
    return lines[0][:200] if lines else "no reason given"
