# SPDX-License-Identifier: Apache-2.0
"""The two ways in which a test lets time pass: until a condition is true, or for a time that is part of the test."""
import time


def wait_for(condition, seconds=60, step=0.05, what="the condition"):
    """The first true value of the condition, which is tried every `step` seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    raise AssertionError(f"{what} was not true within {seconds} s")


def pause_for(seconds, reason):
    """For a slow client, a moment in the work of a program, a time that has to pass: never for an event, which wait_for()
    sees. Not longer than until now if the seconds are negative."""
    assert reason
    time.sleep(max(0, seconds))
