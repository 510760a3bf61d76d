# SPDX-License-Identifier: Apache-2.0
"""Backup and restore of a store whose index is in PostgreSQL, as docs/operation.md says."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

from unhex_server import Server
from http_api import Api
from postgres_server import Postgres
from radosgw_server import Radosgw
from test_store_migrate import is_named, upload
from tool import unhex

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/operation.md"


def commands(section="### With an index in PostgreSQL"):
    """Those of the page, which the test runs with other places."""
    text = PAGE.read_text(encoding="utf-8").split(section + "\n", 1)[1]
    return re.search(r"```\n(.*?)```", text, re.S)[1].strip().splitlines()


def run(line, places, environment=None, more=()):
    """A command of the page: comments go, and each place becomes one of the test."""
    line = line.split("  #")[0].strip()
    for name, place in places.items():
        line = line.replace(name, str(place))
    if line.startswith("unhex "):
        return unhex(*line.split()[1:], *more, env=environment)
    return subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120, check=False, env=environment)


def test_a_backup_has_what_was_there_and_loses_nothing_that_is_uploaded_or_deleted_meanwhile(gsym, tmp_path):
    with Postgres() as database:
        place, other = database.create("unhex"), database.create("restored")
        server = Server(tmp_path / "server", options=("--index", place)).start()
        ids = upload(server, gsym, range(20))
        places = {"postgres://unhex@db/unhex2": f"'{other}'", "postgres://unhex@db/unhex": f"'{place}'",
                  "/backup/unhex": tmp_path / "backup", "/srv/unhex2": tmp_path / "restored", "/srv/unhex": server.data}
        (tmp_path / "backup").mkdir()
        (tmp_path / "restored").mkdir()
        dump, copy, load, back, check = commands()
        assert run(dump, places).returncode == 0
        victim = min(p for p in (server.data / "blobs").rglob("*") if p.is_file())
        # Between the dump and the copy of the files: one module comes and one goes.
        late = upload(server, gsym, [100])
        assert Api(server)("DELETE", "/v1/modules/" + ids[3])[0] in (200, 204)
        done = run(copy, places)
        assert done.returncode == 0, done.stderr
        assert server.stop() == 0
        for step in (load, back):
            done = run(step, places)
            assert done.returncode == 0, done.stderr
        # As if the sweep had taken a file that the dump still names.
        (tmp_path / "restored" / "blobs" / victim.relative_to(server.data / "blobs")).unlink()
        places = {k: v.strip("'") if isinstance(v, str) else v for k, v in places.items()}
        found = run(check, places)
        assert found.returncode in (0, 1) and "1 problems, 1 repaired" in found.stdout, found.stdout + found.stderr
        assert unhex("store", "check", "--data", tmp_path / "restored", "--index", other).returncode == 0
        again = Server(tmp_path / "restored", options=("--index", other)).start()
        again.token = server.token
        answered = [i for i in ids if again.get("/v1/modules/" + i)[0] == 200
                    and again.get("/v1/modules/" + i)[1]["candidates"]]
        assert len(answered) >= 19 and is_named(again, answered)
        assert again.get("/v1/modules/" + late[0])[0] == 404  # it came after the dump
        assert is_named(again, upload(again, gsym, range(300, 303)))
        assert again.stop() == 0


def test_a_migration_to_a_folder_is_a_backup_too(gsym, tmp_path):
    with Postgres() as database:
        place = database.create("unhex")
        server = Server(tmp_path / "server", options=("--index", place)).start()
        ids = upload(server, gsym, range(5))
        assert unhex("store", "migrate", tmp_path / "copy", "--data", server.data, "--index", place).returncode == 0
        assert server.stop() == 0
        shutil.rmtree(server.data)
        other = Server(tmp_path / "copy").start()
        other.token = server.token
        assert is_named(other, ids)
        assert other.stop() == 0


def servers(tmp_path, name, index, objects, bucket):
    """One of several servers: what it has on its disk is a cache."""
    server = Server(tmp_path / name, options=("--index", index, "--blobs", bucket, "--s3-endpoint", objects.url),
                    environment=objects.environment)
    return server.start()


def test_a_backup_of_a_bucket_and_its_database_has_what_was_confirmed_before_it_began(gsym, tmp_path):
    """The commands of the page, while uploads go on: rclone copies the bucket, to a folder and back."""
    with Postgres() as database, Radosgw() as objects:
        place, other = database.create("unhex"), database.create("restored")
        bucket = objects.bucket("symbols")
        server = servers(tmp_path, "server", place, objects, bucket)
        ids = upload(server, gsym, range(20))
        places = {"postgres://unhex@db/unhex2": f"'{other}'", "postgres://unhex@db/unhex": f"'{place}'",
                  "/backup/unhex": tmp_path / "backup"}
        (tmp_path / "backup").mkdir()
        own = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment = own | objects.environment | {
            "RCLONE_CONFIG": "/dev/null", "RCLONE_CONFIG_S3_TYPE": "s3", "RCLONE_CONFIG_S3_PROVIDER": "Ceph",
            "RCLONE_CONFIG_S3_ENDPOINT": objects.url, "RCLONE_CONFIG_S3_ENV_AUTH": "true"}
        dump, copy, load, back, check = commands("### With an index in PostgreSQL and a bucket")
        with concurrent.futures.ThreadPoolExecutor(1) as client:
            going_on = client.submit(upload, server, gsym, range(100, 140))
            for step in (dump, copy):
                done = run(step, places, environment)
                assert done.returncode == 0, done.stderr
            late = going_on.result()
        assert server.stop() == 0
        assert run("rclone purge s3:symbols", {}, environment).returncode == 0  # all of it is lost
        assert objects.bucket("symbols") == bucket
        for step in (load, back):
            done = run(step, places, environment)
            assert done.returncode == 0, done.stderr
        places["postgres://unhex@db/unhex2"] = other
        found = run(check, places, environment, more=("--data", tmp_path / "again", "--s3-endpoint", objects.url))
        assert found.returncode in (0, 1), found.stdout + found.stderr
        again = servers(tmp_path, "again", other, objects, bucket)
        again.token = server.token
        assert is_named(again, ids)
        there = [i for i in late if again.get("/v1/modules/" + i)[0] == 200]
        print(f"{len(ids)} confirmed before the backup, all there; of {len(late)} that came during it, {len(there)}")
        assert is_named(again, there)  # whole, or not there
        assert is_named(again, upload(again, gsym, range(300, 303)))
        assert again.stop() == 0
