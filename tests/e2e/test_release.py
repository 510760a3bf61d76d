# SPDX-License-Identifier: Apache-2.0
"""The parts of ./dev release that need no build: sources, checksums, signature, the form of the container image"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from tool import ROOT

VERSION = re.search(r"^  version: '(.*)',", (ROOT / "meson.build").read_text(), re.M)[1]


@pytest.fixture(scope="module", name="tree")
def clone_of_this_tree(tmp_path_factory):
    """The tree as it is, changed files too, as a repository of its own."""
    tree = tmp_path_factory.mktemp("clone") / "unhex"
    tree.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", *words],
                       cwd=tree, check=True)
    return tree


def release(tree, *words):
    done = subprocess.run([tree / "tools/release.sh", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_sources_checksums_and_signature(tree, tmp_path):
    key, public = tmp_path / "key", tmp_path / "key.pub"
    subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", key], check=True, capture_output=True)
    status, text = release(tree, "--sign", str(key), "source")
    assert status == 0, text
    out = tree / "packages/release" / VERSION
    archive = out / f"unhex-{VERSION}.tar.gz"
    assert {p.name for p in out.iterdir()} == {archive.name, "SHA256SUMS", "SHA256SUMS.minisig"}
    first = archive.read_bytes()
    assert (out / "SHA256SUMS").read_text() == f"{hashlib.sha256(first).hexdigest()}  {archive.name}\n"
    subprocess.run(["minisign", "-V", "-p", public, "-m", out / "SHA256SUMS"], check=True, capture_output=True)

    commit = subprocess.run(["git", "log", "-1", "--format=%h %ct", "--abbrev=12"], cwd=tree, check=True,
                            capture_output=True, text=True).stdout.split()
    with tarfile.open(archive) as content:
        assert {m.mtime for m in content} == {int(commit[1])}
        assert content.extractfile(f"unhex-{VERSION}/REVISION").read().decode() == commit[0] + "\n"
    # Other times, the same bytes; and without a key, who takes the release is told.
    for path in (tree / "cli").iterdir():
        os.utime(path, (1, 1))
    status, text = release(tree, "source")
    assert status == 0 and "not signed" in text and archive.read_bytes() == first
    assert not (out / "SHA256SUMS.minisig").exists()


@pytest.mark.parametrize("words,expected,text", [
    (["nonsense"], 2, "usage"), (["--sign"], 2, "usage"), (["--sign", "/nowhere/key", "source"], 1, "/nowhere/key"),
])
def test_what_is_refused(tree, words, expected, text):
    status, output = release(tree, *words)
    assert status == expected and text in output


def image(root, path, time="1000000000"):
    subprocess.run([ROOT / "tools/oci.py", root, path, "--version", "1.2.3", "--revision", "0123", "--architecture",
                    "amd64"], check=True, env={**os.environ, "SOURCE_DATE_EPOCH": time})
    return path.read_bytes()


def blobs(path):
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isreg()}


def test_the_image_is_what_the_container_file_says(tmp_path):
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/unhex").write_text("program")
    (root / "usr/bin/unhex").chmod(0o755)
    (root / "usr/link").symlink_to("bin/unhex")
    first = image(root, tmp_path / "one.tar")
    os.utime(root / "usr/bin/unhex", (1, 1))
    assert image(root, tmp_path / "other.tar") == first
    files = blobs(tmp_path / "one.tar")
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == "blobs/sha256/" + hashlib.sha256(content).hexdigest()

    def blob(described):
        content = files["blobs/sha256/" + described["digest"].split(":")[1]]
        assert len(content) == described["size"]
        return content
    [listed] = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(listed))
    config = json.loads(blob(manifest["config"]))
    (tmp_path / "layer").write_bytes(blob(manifest["layers"][0]))
    with tarfile.open(tmp_path / "layer") as layer:
        assert {m.name: (m.mode & 0o777, m.mtime) for m in layer if m.isreg()} == {"usr/bin/unhex": (0o755, 1000000000)}
        assert layer.getmember("usr/link").linkname == "bin/unhex"

    text = (ROOT / "packaging/Containerfile").read_text().split("FROM scratch")[1]
    said = dict(re.findall(r"^(USER|VOLUME|EXPOSE|ENTRYPOINT|CMD|ENV) (.*)$", text, re.M))
    has = config["config"]
    assert has["User"] == said["USER"] and list(has["Volumes"]) == [said["VOLUME"]]
    assert list(has["ExposedPorts"]) == [said["EXPOSE"] + "/tcp"]
    assert has["Entrypoint"] == json.loads(said["ENTRYPOINT"]) and has["Cmd"] == json.loads(said["CMD"])
    assert set(said["ENV"].split()) <= set(has["Env"])


def test_an_image_with_a_device_is_refused(tmp_path):
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root/fifo")
    with pytest.raises(subprocess.CalledProcessError):
        image(tmp_path / "root", tmp_path / "out.tar")


def test_the_apt_line_of_the_build(tree):
    text = (ROOT / "docs/install.md").read_text()
    line = re.search(r"^apt-get install --no-install-recommends ((?:.*\\\n)*.*)$", text, re.M)[1]
    listed = subprocess.run(["sh", "-c", "eval \"$(sed -n '/^packages_for() {/,/^}/p' dev)\"; packages_for build"],
                            cwd=tree, check=True, capture_output=True, text=True).stdout.split()
    assert line.replace("\\\n", " ").split() == [re.sub(r"[|?].*", "", name) for name in listed]


@pytest.mark.parametrize("name", ["README.md", "docs/install.md", "docs/decisions/0010-static-client.md"])
def test_documents_name_what_the_static_program_lacks(name):
    absent = re.findall(r'ABSENT\("(.*?)"\)', (ROOT / "cli/verbs/server_absent.c").read_text())
    [said] = re.findall(r"[Ee]very\scommand\sbut\s((?:`\w+`,\s)*`\w+`\sand\s`\w+`)", (ROOT / name).read_text())
    assert re.findall(r"`(\w+)`", said) == sorted(absent)


@pytest.mark.parametrize("name,pattern", [
    ("CHANGELOG.md", r"^## (\S+)"), ("packaging/debian/changelog", r"^unhex \((.*?)\)"),
    ("packaging/rpm/unhex.spec", r"^Version: *(\S+)"), ("packaging/ci/gitlab-ci.yml", r"UNHEX_VERSION: (\S+)"),
    ("packaging/ci/github-actions.yml", r" version: (\S+)"),
])
def test_one_version_everywhere(name, pattern):
    assert re.search(pattern, (ROOT / name).read_text(), re.M)[1] == VERSION
