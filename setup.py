"""setup.py: builds the package oxrt; its extension module is a target of the Makefile (python/python.mk)."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
NEEDS = {
    "make": "make",
    "cc": "a C compiler (gcc or clang)",
    "protoc-c": "protobuf-c's compiler (protobuf-c-compiler)",
}
HEADERS = {
    "protobuf-c/protobuf-c.h": "libprotobuf-c-dev",
    "png.h": "libpng-dev",
    "zlib.h": "zlib1g-dev",
    "Python.h": "python3-dev",
}


def version():
    numbers = re.findall(r"^#define OX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "src/ox.h").read_text(), re.M)
    return ".".join(numbers)


def has_header(name, folder):
    source = f"#include <stdio.h>\n#include <{name}>\n"
    return subprocess.run(["cc", f"-I{folder}", "-E", "-x", "c", "-"], input=source, text=True,
                          capture_output=True).returncode == 0


def missing(folder):
    """What has to be installed before anything can be built."""
    tools = [text for tool, text in NEEDS.items() if not shutil.which(tool)]
    if not shutil.which("cc"):
        return tools
    return tools + [text for header, text in HEADERS.items() if not has_header(header, folder)]


class BuildByMake(build_ext):
    def build_extension(self, extension):
        import numpy
        folder = sysconfig.get_path("include")
        lacks = missing(folder)
        if lacks:
            raise SystemExit("oxrt cannot be built, this machine lacks: " + ", ".join(lacks) +
                             ". On Debian, sh tools/setup.sh installs all of it.")
        # `make wheel` names the folder where the objects are already.
        build = Path(os.environ.get("OXRT_BUILD") or self.build_temp).resolve()
        made = os.path.relpath(build / "python/oxrt/_ox.abi3.so", ROOT)
        options = [] if "OXRT_BUILD" in os.environ else ["OPT=-O2"]
        subprocess.run(["make", f"-j{self.parallel or 2}", f"BUILD={os.path.relpath(build, ROOT)}", f"PYTHON_HEADERS={folder}",
                        f"NUMPY_HEADERS={numpy.get_include()}", *options, made], cwd=ROOT, check=True)
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "--strip-unneeded", "-o", target, ROOT / made], check=True)


setup(version=version(), cmdclass={"build_ext": BuildByMake},
      ext_modules=[Extension("oxrt._ox", sources=[], py_limited_api=True)],
      options={"bdist_wheel": {"py_limited_api": "cp311"}})
