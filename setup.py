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
COMPILER = os.environ.get("CC", "cc").split() or ["cc"]
NEEDS = {
    "make": "make",
    COMPILER[0]: f"a C compiler ({COMPILER[0]})",
    "protoc-c": "protobuf-c's compiler (protoc-c)",
}
HEADERS = {
    "protobuf-c/protobuf-c.h": "protobuf-c",
    "png.h": "libpng",
    "zlib.h": "zlib",
    "Python.h": "Python's headers",
}
DEBIAN = "gcc libc6-dev make protobuf-c-compiler libprotobuf-c-dev libpng-dev zlib1g-dev python3-dev"


def version():
    numbers = re.findall(r"^#define OX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "src/ox.h").read_text(), re.M)
    return ".".join(numbers)


def about(name):
    """A line of tools/about.h."""
    return re.search(rf'^#define OX_{name} "(.*)"$', (ROOT / "tools/about.h").read_text(), re.M).group(1)


def has_header(name, folder):
    source = f"#include <stdio.h>\n#include <{name}>\n"
    return subprocess.run([*COMPILER, f"-I{folder}", "-E", "-x", "c", "-"], input=source, text=True,
                          capture_output=True).returncode == 0


def missing(folder):
    """What has to be installed before anything can be built."""
    tools = [text for tool, text in NEEDS.items() if not shutil.which(tool)]
    if not shutil.which(COMPILER[0]):
        return tools
    return tools + [f"{text} ({header})" for header, text in HEADERS.items() if not has_header(header, folder)]


class BuildByMake(build_ext):
    def build_extension(self, extension):
        import numpy
        folder = sysconfig.get_path("include")
        lacks = missing(folder)
        if lacks:
            raise SystemExit(f"oxrt cannot be built, this machine lacks: {', '.join(lacks)}. On Debian, this installs all "
                             f"that it needs: apt-get install {DEBIAN}")
        # `make wheel` names the folder where the objects are already.
        build = Path(os.environ.get("OXRT_BUILD") or self.build_temp).resolve()
        made = os.path.relpath(build / "python/oxrt/_ox.abi3.so", ROOT)
        # A wheel for other machines has no plug-ins, whose libraries are larger than ox.
        stays_here = "OXRT_BUILD" not in os.environ
        subprocess.run(["make", f"-j{self.parallel or 2}", f"BUILD={os.path.relpath(build, ROOT)}", f"PYTHON_HEADERS={folder}",
                        f"NUMPY_HEADERS={numpy.get_include()}", made,
                        *(["OPT=-O2", "plugins"] if stays_here else [])], cwd=ROOT, check=True)
        target = Path(self.get_ext_fullpath(extension.name))
        plugins = sorted((build / "plugins").glob("*.so")) if stays_here else []
        for file, to in [(ROOT / made, target), *((file, target.parent / "plugins" / file.name) for file in plugins)]:
            to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "--strip-unneeded", "-o", to, file], check=True)


ADDRESS = about("ADDRESS")
setup(version=version(), project_urls={"Homepage": ADDRESS} if ADDRESS else {}, cmdclass={"build_ext": BuildByMake},
      ext_modules=[Extension("oxrt._ox", sources=[], py_limited_api=True)],
      options={"bdist_wheel": {"py_limited_api": "cp311"}})
