"""The package as it is handed on: the source distribution is whole, and on a machine that lacks something an error says what."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("OXRT_BUILD", ROOT / "build"))

pytest.importorskip("setuptools")


def setup(*arguments, **environment):
    return subprocess.run([sys.executable, "setup.py", *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})


@pytest.fixture
def members(tmp_path):
    """Names of the files in the source distribution."""
    done = setup("-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "-d", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        return {name.partition("/")[2] for name in files.getnames()}


def test_the_source_distribution_is_whole(members):
    """It has each file of the repository that an object of the extension module was made of."""
    objects = [path for part in ("src", "tools", "python", "plugins") for path in (BUILD / "obj" / part).rglob("*.d")]
    text = "".join(path.read_text() for path in objects)
    used = {os.path.normpath(name) for name in re.findall(r"(?<![\w/.])(?:src|tools|python|plugins)/[\w/.-]+\.(?:c|cc|h|inc)\b", text)}
    assert len(used) > 300 and used <= members
    assert {"Makefile", "LICENSE", "proto/onnx.proto", "python/exports.map", "python/python.mk", "tools/exports.txt",
            "tools/ox.pc.in", "tools/setup.sh", "python/oxrt/py.typed", "python/oxrt/_ox.pyi"} <= members


TOOLS = ("make", "protoc-c", "cc")
pytestmark = pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="no tools to build with")


def build(folder, **environment):
    """What building says where something is missing; nothing is built."""
    done = setup("-q", "build_ext", "--build-temp", str(folder), "--build-lib", str(folder), **environment)
    assert done.returncode != 0 and "apt-get install gcc" in done.stderr
    return done.stderr


def test_what_is_installed_from_here_has_plugins(tmp_path, monkeypatch):
    monkeypatch.delenv("OXRT_BUILD", raising=False)
    done = setup("-q", "build_ext", "--build-temp", str(BUILD), "--build-lib", str(tmp_path))
    assert done.returncode == 0, done.stderr
    made = {path.name for path in (BUILD / "plugins").glob("*.so")}
    assert {path.name for path in (tmp_path / "oxrt/plugins").glob("*")} == made
    assert (tmp_path / "oxrt/_ox.abi3.so").exists()


@pytest.mark.parametrize("without, text", [
    (["cc"], "a C compiler (cc)"), (["protoc-c"], "protobuf-c's compiler (protoc-c)"), (["make"], "lacks: make"),
    (["cc", "make"], "make, a C compiler (cc)"),
])
def test_tools_that_are_missing(tmp_path, without, text):
    for tool in TOOLS:
        if tool not in without:
            (tmp_path / tool).symlink_to(shutil.which(tool))
    assert text in build(tmp_path, PATH=str(tmp_path), CC="cc")


@pytest.mark.parametrize("header, text", [("protobuf-c/protobuf-c.h", "protobuf-c"), ("png.h", "libpng"),
                                          ("Python.h", "Python's headers")])
def test_headers_that_are_missing(tmp_path, header, text):
    """A compiler that is `cc -E` but for one header."""
    compiler = tmp_path / "no-header"
    compiler.write_text(f"#!/bin/sh\ntee '{tmp_path}/source' >/dev/null\n! grep -q '{header}' '{tmp_path}/source' && "
                        f"exec cc \"$@\" <'{tmp_path}/source'\n")
    compiler.chmod(0o755)
    assert f"lacks: {text} ({header})." in build(tmp_path, CC=str(compiler))
