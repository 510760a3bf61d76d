# SPDX-License-Identifier: Apache-2.0
"""docs/migrate.md: our side of each row, run in a folder that has what it names"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from tool import ROOT, UNHEX, compile_c, unhex

TEXT = (ROOT / "docs/migrate.md").read_text()
ROWS = re.findall(r"^\| .+ \| `([^`]+)` \|$", TEXT, re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("migrate")
    (path / "build").mkdir()
    (path / "dist").mkdir()
    (path / "bin").mkdir()
    (path / "bin/unhex").symlink_to(pathlib.Path(UNHEX).resolve())
    app = compile_c(path / "build", "app")
    subprocess.run(["objcopy", "--only-keep-debug", app, path / "app.debug"], check=True)
    shutil.copy(app, path / "app")
    with zipfile.ZipFile(path / "dist/p-1-py3-none-any.whl", "w") as wheel:
        wheel.write(app, "p/native.so")
    (path / "root/DEBIAN").mkdir(parents=True)
    (path / "root/DEBIAN/control").write_text("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@example.com>\n"
                                              "Description: d\n")
    shutil.copy(app, path / "root/app")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", path / "root", path / "app.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    (path / "image").mkdir()
    (path / "image/index.json").write_text(json.dumps({"layers": [image_layer(path, app)]}))
    assert unhex("extract", app, "-o", path / "app.gsym").returncode == 0
    return path


def image_layer(path, app):
    """The descriptor of an image's only layer"""
    with tarfile.open(path / "layer.tar", "w") as tar:
        tar.add(app, "app")
    data = (path / "layer.tar").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    (path / "image/blobs/sha256").mkdir(parents=True)
    (path / "image/blobs/sha256" / digest).write_bytes(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def test_every_row_is_seen():
    assert len(ROWS) == sum(line.startswith("| ") and "theirs" not in line and "| for |" not in line
                            for line in TEXT.splitlines()) >= 35


@pytest.mark.parametrize("command", sorted(set(ROWS)))
def test_our_side_of_a_row(server, folder, command):
    (folder / "token").write_text(server.token)
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        env = {**os.environ, **server.env, "PATH": f"{folder}/bin:{os.environ['PATH']}", "PID": str(sleeper.pid)}
        if "--token-file" in command:
            del env["UNHEX_TOKEN"]
        result = subprocess.run(["bash", "-c", "set -o pipefail; " + command.replace("\\|", "|")], cwd=folder, env=env,
                                capture_output=True, text=True)
        sleeper.kill()
    assert result.returncode == 0, result.stdout + result.stderr
    if "push" in command and "--dry-run" not in command:
        assert "uploaded" in result.stdout
