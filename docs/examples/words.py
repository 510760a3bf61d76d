# SPDX-License-Identifier: Apache-2.0
"""Counts the words of files again and again: something to profile for `./dev run`."""
import collections
import re
import sys


def count(text, found):
    """Adds the words of one text."""
    for word in re.findall("[A-Za-z]+", text):
        found[word.lower()] += 1


def most_frequent(found):
    """The words, the most frequent first."""
    return sorted(((n, word) for word, n in found.items()), reverse=True)


for _ in range(100000):
    counted = collections.Counter()
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            count(file.read(), counted)
    for times, name in most_frequent(counted):
        print(f"{times:7d} {name}")
