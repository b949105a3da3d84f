"""reference.py: the reference of a header without a word for something is not made: each such fault is planted in a small
header."""
import os
import pathlib
import subprocess
import sys
import tempfile

import tally

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = """/* x.h: a header. */
#define OX_API
/* ---- Part ---- */

/* A pair. */
typedef struct ox_pair {
    int a, b; /* numbers */
} ox_pair;

/* The sum of the members of `pair`, at most `limit`. */
OX_API int ox_sum(const ox_pair *pair, int limit);

/* Is called with a `word`. */
typedef void ox_word_fn(void *context, const char *word);

#ifdef __cplusplus
#endif
"""
FAULTS = {
    "a function": "/* The sum of the members of `pair`, at most `limit`. */\n",
    "a parameter": ", at most `limit`",
    "a struct": "/* A pair. */\n",
    "a member": " /* numbers */",
    "a type of functions": "/* Is called with a `word`. */\n",
}


def check(text):
    """Whether Doxygen is content with a header."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        (root / "src/ox.h").write_text(text)
        (root / "docs").symlink_to(ROOT / "docs")
        environment = {**os.environ, "VERSION": "0", "REFERENCE": str(root / "out"), "PYTHON": sys.executable}
        (root / "out").mkdir()
        return subprocess.run(["doxygen", "docs/reference/Doxyfile"], cwd=root, env=environment, capture_output=True,
                              check=False).returncode == 0


tally.check("a sound header is taken", check(HEADER))
for what, text in FAULTS.items():
    assert text in HEADER
    tally.check(f"{what} without a word is found", not check(HEADER.replace(text, "")))
sys.exit(tally.finish())
