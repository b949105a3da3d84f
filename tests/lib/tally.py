"""tally.py: checks one by one, and the line that a test program ends with."""

counts = {True: 0, False: 0}


def check(what, good, detail=""):
    """Counts a check, and says what failed."""
    counts[bool(good)] += 1
    if not good:
        print(f"failed: {what} {detail}")


def finish(passed=None, failed=None, skipped=0):
    """Says how many checks passed, those of check() by default; the status that the program ends with. Failures of
    check() count in any case."""
    if passed is None:
        passed, failed = counts[True], counts[False]
    else:
        failed += counts[False]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
