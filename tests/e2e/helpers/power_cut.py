# SPDX-License-Identifier: Apache-2.0
"""What is on a disk after its power was cut, from the record of file_log.c.

The model is the weakest that POSIX permits. Bytes of a file are sure to be there once the file was synced after they
were written; a name is sure to be in its folder once the folder was synced after the name was made. Whatever was not
synced may be there, or not, each write and each name for itself: how much of it is, is a policy.
"""
import pathlib
import random
import struct
import subprocess

CREATE, MKDIR, LINK, UNLINK, RENAME, WRITE, TRUNCATE, SYNC = range(1, 9)
ENTRY = struct.Struct("=4I5Q")


class File:
    """Bytes that are on the disk, and changes that may be."""

    def __init__(self):
        self.synced, self.later = b"", []

    def sync(self):
        self.synced, self.later = self.after(lambda: True), []

    def after(self, keeps):
        data = bytearray(self.synced)
        for offset, change in self.later:
            if not keeps():
                continue
            if change is None:
                data = data[:offset] + bytes(max(0, offset - len(data)))
            else:
                data += bytes(max(0, offset - len(data)))
                data[offset:offset + len(change)] = change
        return bytes(data)


class Folder:
    """Names that are on the disk, and changes that may be."""

    def __init__(self):
        self.synced, self.later = {}, []

    def sync(self):
        self.synced, self.later = self.after(lambda: True), []

    def after(self, keeps):
        names = dict(self.synced)
        for name, node in self.later:
            if keeps():
                if node:
                    names[name] = node
                else:
                    names.pop(name, None)
        return names


class Record:
    """The calls that one or several processes made below a folder, which was empty at the beginning."""

    def __init__(self, folder, work):
        work = pathlib.Path(work)
        self.folder, self.log, self.library = pathlib.Path(folder), work / "file.log", work / "file_log.so"
        self.folder.mkdir()
        self.log.touch()
        self.root = self.folder.stat().st_ino
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", self.library,
                        pathlib.Path(__file__).with_name("file_log.c"), "-ldl"], check=True)

    @property
    def environment(self):
        return {"LD_PRELOAD": str(self.library), "UX_FILE_LOG": str(self.log), "UX_FILE_LOG_DIR": f"{self.folder}/"}

    def now(self):
        """A position in the record: what is acknowledged now must not be lost after it."""
        return self.log.stat().st_size

    def entries(self):
        """(position after it, operation, file, folder, name, other folder, other name, offset, data)"""
        log, at = self.log.read_bytes(), 0
        while at < len(log):
            op, n, m, _, ino, folder, to, offset, size = ENTRY.unpack_from(log, at)
            at += ENTRY.size
            name, to_name, data = log[at:at + n].decode(), log[at + n:at + n + m].decode(), log[at + n + m:][:size]
            at += n + m + size
            yield at, op, ino, folder, name, to, to_name, offset, data

    def crashes(self):
        """After each call: its position, and the folder as it may be then."""
        disk = Disk(self.root)
        for at, *entry in self.entries():
            disk.apply(*entry)
            yield at, entry[0], disk


class Disk:
    """All files and folders by the number of their inode."""

    def __init__(self, root):
        self.root = Folder()
        self.nodes = {root: self.root}

    def apply(self, op, ino, folder, name, to, to_name, offset, data):
        if op in (CREATE, MKDIR):  # the number may have belonged to one that was removed
            self.nodes[ino] = File() if op == CREATE else Folder()
            self.nodes[folder].later.append((name, self.nodes[ino]))
        elif op == LINK:
            self.nodes[to].later.append((to_name, self.nodes[ino]))
        elif op == UNLINK:
            self.nodes[folder].later.append((name, None))
        elif op == RENAME:
            self.nodes[to].later.append((to_name, self.nodes[ino]))
            self.nodes[folder].later.append((name, None))
        elif op == WRITE:
            self.nodes[ino].later.append((offset, data))
        elif op == TRUNCATE:
            self.nodes[ino].later.append((offset, None))
        elif op == SYNC:
            self.nodes[ino].sync()

    def write(self, path, policy):
        """Makes the folder as the policy leaves it."""
        names, data = POLICIES[policy]() if policy in POLICIES else drawn(policy)

        def put(folder, path):
            path.mkdir()
            for name, node in folder.after(names).items():
                if isinstance(node, Folder):
                    put(node, path / name)
                else:
                    content = node.after(data)
                    with open(path / name, "wb") as f:
                        if content.count(0) == len(content):
                            f.truncate(len(content))  # takes no room
                        else:
                            f.write(content)

        put(self.root, pathlib.Path(path))


def yes():
    return True


def no():
    return False


# Whether names, and whether bytes, are there that were not synced.
POLICIES = {
    "nothing": lambda: (no, no),
    "names": lambda: (yes, no),
    "bytes": lambda: (no, yes),
    "everything": lambda: (yes, yes),
}


def drawn(seed):
    """Each of them for itself, by chance."""
    rng = random.Random(seed)
    return (lambda: rng.random() < 0.5), (lambda: rng.random() < 0.5)
