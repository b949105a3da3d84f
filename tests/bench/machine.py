"""machine.py: what a benchmark's reader has to know of the machine and of the versions it ran on."""

import importlib.metadata
import os
import platform
import re

import bars
import numpy as np
import onnx
import onnxruntime
import oxlib
import report

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def cpu_field(name):
    found = re.search(rf"^{name}\s*:\s*(.*)$", read("/proc/cpuinfo"), re.M)
    return found.group(1) if found else "unknown"


def caches():
    """["L1d 32K", "L2 1024K", ...] of the first processor."""
    result, root = [], "/sys/devices/system/cpu/cpu0/cache"
    entries = sorted(os.listdir(root)) if os.path.isdir(root) else []
    for entry in (name for name in entries if name.startswith("index")):
        level, kind, size = (read(f"{root}/{entry}/{name}").strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            result.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return result


def describe():
    flags = cpu_field("flags").split()
    vectors = [name for name in ("avx", "avx2", "f16c", "fma", "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16",
                                    "avx_vnni", "avx512_vnni")
               if name in flags]
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    return {
        "processor": f"{cpu_field('model name')} (family {cpu_field('cpu family')}, model {cpu_field('model')})",
        "cores": os.cpu_count(),
        "vectors": " ".join(vectors),
        "caches": ", ".join(caches()),
        "memory_gib": round(int(memory.group(1)) / (1 << 20)) if memory else 0,
        "system": f"{platform.system()} {platform.machine()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}",
    }


def peer_versions(settings):
    lock = read(os.path.join(HERE, "peers", "Cargo.lock"))
    crates = {name: re.search(rf'name = "{package}"\nversion = "([^"]*)"', lock).group(1)
              for name, package in (("rten", "rten"), ("tract", "tract-onnx"))}
    found = {name: importlib.metadata.version(name) for name in ("openvino", "mnn") if settings.packages}
    found |= crates if settings.peers else {}
    found |= {"ggml": settings.ggml.name} if settings.ggml else {}
    return {bars.OTHERS[name]: version for name, version in found.items() if name in report.TABLES[settings.table].peers}


def versions(settings):
    oxlib.library.ox_version.restype = oxlib.C.c_char_p
    result = {
        "ox": oxlib.library.ox_version().decode(),
        "ONNX Runtime": onnxruntime.__version__,
        "numpy": np.__version__,
        "onnx": onnx.__version__,
        "Python": platform.python_version(),
    }
    if settings and settings.blas:
        result["OpenBLAS"] = settings.blas.openblas_get_config().decode().split()[1]
    return result | peer_versions(settings) if settings else result
