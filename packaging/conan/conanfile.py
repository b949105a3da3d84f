"""A recipe for Conan 2: `conan create packaging/conan` in the root of the tree."""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

FILES = ("CMakeLists.txt", "LICENSE", "Makefile", "cmake/*", "src/*", "proto/*", "plugins/*", "tools/*")


class Ox(ConanFile):
    name = "ox"
    license = "Apache-2.0"
    description = "ONNX model interpreter"
    topics = ("onnx", "inference")
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "system_protobuf_c": [True, False]}
    default_options = {"shared": False, "system_protobuf_c": False}
    languages = "C"

    def _tree(self):
        return pathlib.Path(self.recipe_folder).resolve().parent.parent

    def set_version(self):
        lines = re.findall(r"^#define OX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", (self._tree() / "src/ox.h").read_text(), re.M)
        self.version = ".".join(lines)

    def export_sources(self):
        for pattern in FILES:
            copy(self, pattern, self._tree(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if not self.options.system_protobuf_c:
            self.requires("protobuf-c/[>=1.4 <2]")

    def build_requirements(self):
        if not self.options.system_protobuf_c:
            self.tool_requires("protobuf-c/[>=1.4 <2]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "OX_SHARED": bool(self.options.shared), "OX_STATIC": not self.options.shared, "OX_COMMAND": False, "OX_PLUGINS": False})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ox")
        self.cpp_info.set_property("cmake_target_name", "ox::ox")
        self.cpp_info.set_property("pkg_config_name", "ox")
        self.cpp_info.libs = ["ox"]
        self.cpp_info.system_libs = [*["protobuf-c"] * bool(self.options.system_protobuf_c), "m", "pthread"]
