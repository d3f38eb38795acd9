# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel (PEP 517): a zip of the package and three files that describe it."""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENTRIES = ("pyproject.toml", "backend.py", "README.md", "LICENSE")
WHEEL = "Wheel-Version: 1.0\nGenerator: brig\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# The same files give the same bytes, whenever they were written.
DATE = (1980, 1, 1, 0, 0, 0)


def _field(name):
    found = re.search(rf'^{name} = "([^"]+)"$', (HERE / "pyproject.toml").read_text(), re.M)
    return found.group(1)


def _metadata():
    head = {
        "Metadata-Version": "2.1",
        "Name": _field("name"),
        "Version": _field("version"),
        "Summary": _field("description"),
        "License": "Apache-2.0",
        "Requires-Python": _field("requires-python"),
        "Description-Content-Type": "text/markdown",
    }
    lines = [f"{key}: {value}" for key, value in head.items()]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text()


def _sources():
    for path in sorted((HERE / "brig").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"brig/{path.name}", path.read_bytes()


def _record(files, record):
    rows = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*rows, f"{record},,"]) + "\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    stem = f"{_field('name')}-{_field('version')}"
    info = f"{stem}.dist-info"
    files = [
        *_sources(),
        (f"{info}/METADATA", _metadata().encode()),
        (f"{info}/WHEEL", WHEEL.encode()),
        (f"{info}/LICENSE", (HERE / "LICENSE").read_bytes()),
    ]
    files.append((f"{info}/RECORD", _record(files, f"{info}/RECORD").encode()))
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            entry = zipfile.ZipInfo(path, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    stem = f"{_field('name')}-{_field('version')}"
    own = [(name, (HERE / name).read_bytes()) for name in ENTRIES]
    own.append(("PKG-INFO", _metadata().encode()))
    with tarfile.open(Path(sdist_directory) / f"{stem}.tar.gz", "w:gz") as archive:
        for name, data in [*own, *_sources()]:
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{stem}.tar.gz"
