"""trials.py: random cases from the command line: their number, their seed, and what is said of them."""

import argparse
import os
import time

import alike
import numpy as np
import tally


def parse(cases, *names):
    """The options --seed, --cases and further ones without a default; says the seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("OX_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--cases", type=int, default=cases)
    for name in names:
        parser.add_argument(name)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    return options


def begin(cases, *names):
    """(options, random generator) of the options that parse() takes; runs are repeated with constants (alike.py)."""
    options = parse(cases, *names)
    alike.watch(options.seed)
    return options, np.random.default_rng(options.seed)


def run(check, cases):
    """The status of a program that calls check(rng, number) for each case, which gives a text where it fails."""
    options, rng = begin(cases)
    failures = [text for text in (check(rng, turn) for turn in range(options.cases)) if text]
    for text in failures[:25]:
        print(text)
    return tally.finish(options.cases - len(failures), len(failures))
