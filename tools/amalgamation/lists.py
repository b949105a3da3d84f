"""lists.py: which files there are, in which builds."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def read_lists():
    """The lines of src/sources.mk."""
    rows = re.findall(r"^([A-Z_]+) := (.*)$", (ROOT / "src/sources.mk").read_text(), re.M)
    return {name: words.split() for name, words in rows}


def read_builds():
    """(kind, name, machine, flags, flags of wide files) of each row of builds.h."""
    text = (ROOT / "src/loops/builds.h").read_text().replace("\\\n", " ")
    return re.findall(r'(BUILD|DOT)\((\w+), (?!any\b)(\w+), "([^"]*)"(?:, "([^"]*)")?', text)


def library_files(lists):
    return sorted({path for pattern in lists["LIB_PATTERNS"] for path in ROOT.glob(pattern)})


def label(path):
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
