# SPDX-License-Identifier: Apache-2.0
"""A server that refuses a key, or is away, is exit status 3 for every verb that asks one."""
import socket

import pytest

from unhex_server import Server
from pprof_message import Builder
from tool import compile_c, unhex

ID = "gnu:0123456789abcdef0123456789abcdef01234567"

@pytest.fixture(scope="module", name="keyed")
def server_that_needs_a_key_for_everything(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("keyed") / "server", options=("--set", "reading=keyed")).start()
    yield s
    assert s.stop() in (0, None)


@pytest.fixture(scope="module", name="folder")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    compile_c(folder)
    (folder / "crash").write_text(f"/nonexistent/program(+0x1139)[0x555555555139] ({ID})\n"
                                  f"    #0 0x555555555139  (/nonexistent/program+0x1139) (BuildId: {ID[4:]})\n")
    profile = Builder()
    mapping = profile.mapping("/nonexistent/program", ID[4:], 0x1000, 0x3000)
    profile.sample([profile.location(0x1139, mapping)], 1)
    (folder / "profile.pb").write_bytes(profile.profile.SerializeToString())
    return folder


VERBS = {
    "lookup": lambda f: ["lookup", ID, "0x1139"],
    "explain": lambda f: ["explain", ID, "0x1139"],
    "crawl": lambda f: ["crawl", "debian", "--no-work", "--mirror", "http://127.0.0.1:1/", "--suite", "none"],
    "crawl status": lambda f: ["crawl", "status"],
    "crawl work": lambda f: ["crawl", "work", "--from", "/srv/mirror"],
    "push": lambda f: ["push", "--no-retries", next(p for p in f.iterdir() if p.suffix == "" and p.name not in ("crash", "state", "key", "clone-key", "copy"))],
    "clone": lambda f: ["clone", "URL", f / "copy"],
    "modules list": lambda f: ["modules", "list"],
    "modules show": lambda f: ["modules", "show", ID],
    "modules delete": lambda f: ["modules", "delete", ID],
    "agent": lambda f: ["agent", "--once", "--state", f / "state"],
    "symbolize": lambda f: ["symbolize", f / "profile.pb", "-o", f / "named.pb"],
    "flame": lambda f: ["flame", f / "profile.pb", "-o", f / "named.html"],
    "top": lambda f: ["top", f / "profile.pb"],
    "symbolize, a crash": lambda f: ["symbolize", f / "crash"],
}


def run(verb, folder, url, token):
    args = [url if a == "URL" else a for a in VERBS[verb](folder)]
    return unhex(*args, env={"UNHEX_URL": url, "UNHEX_TOKEN": token}, timeout=120)


KEY = "ux_" + "a" * 52


@pytest.mark.parametrize("verb", VERBS)
def test_a_refused_key_is_status_3_and_its_source_is_said(verb, folder, keyed):
    done = run(verb, folder, keyed.url, KEY)
    assert done.returncode == 3 and "401" in done.stderr, done
    assert "key is from UNHEX_TOKEN" in done.stderr or "the key from UNHEX_TOKEN" in done.stderr, done
    assert KEY not in done.stderr + done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_key_is_status_3_and_leads_to_the_options(verb, folder, keyed):
    done = run(verb, folder, keyed.url, "")
    assert done.returncode == 3 and "--token-file FILE or UNHEX_TOKEN" in done.stderr, done
    assert "key is from" not in done.stderr and "the key from" not in done.stderr, done


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "clone"])
@pytest.mark.parametrize("option", ["--token", "--token-file"])
def test_a_key_of_an_option_is_named_by_it(verb, option, folder, keyed):
    file = folder / "key"
    file.write_text(f"{KEY}\n")
    args = [*VERBS[verb](folder), "--url", keyed.url, option, KEY if option == "--token" else file]
    done = unhex(*args, timeout=120)
    source = "--token" if option == "--token" else str(file)
    assert done.returncode == 3, done
    assert f"key is from {source}" in done.stderr or f"the key from {source}" in done.stderr, done


def test_a_clone_names_the_file_of_its_key(folder, keyed):
    file = folder / "clone-key"
    file.write_text(f"{KEY}\n")
    done = unhex("clone", "--from-token-file", file, keyed.url, folder / "copy")
    assert done.returncode == 3 and f"the key is from {file}" in done.stderr, done


@pytest.mark.parametrize("verb", VERBS)
def test_a_server_that_is_away_is_status_3(verb, folder):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    done = run(verb, folder, f"http://127.0.0.1:{port}", KEY)
    assert done.returncode == 3 and f"cannot reach http://127.0.0.1:{port}: Connection refused" in done.stderr, done


@pytest.mark.parametrize("verb", ["lookup", "explain", "push", "modules list", "modules show", "crawl status"])
def test_what_to_do_about_a_server_that_is_away_is_said(verb, folder):
    with socket.create_server(("127.0.0.1", 0)) as s:
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
    done = run(verb, folder, url, KEY)
    assert done.stderr.splitlines()[0].endswith(
        f"cannot reach {url}: Connection refused; is unhex serve running there? The URL is from UNHEX_URL"), done
    done = unhex(*VERBS[verb](folder), "--url", url, timeout=120)
    assert done.stderr.splitlines()[0].endswith("; is unhex serve running there?"), done
    if socket.socket().connect_ex(("127.0.0.1", 8420)) != 0:  # the default
        done = unhex(*VERBS[verb](folder), timeout=120)
        assert "; start a server with unhex serve, or name one: --url or UNHEX_URL" in done.stderr, done


@pytest.mark.parametrize("verb", ["lookup", "explain", "push", "modules list", "modules show"])
def test_a_url_of_something_else_is_doubted(verb, folder, keyed):
    done = run(verb, folder, f"{keyed.url}/else", keyed.token)
    assert done.returncode != 0 and "404" in done.stderr, done
    assert f"is {keyed.url}/else the URL of an unhex server? The URL is from UNHEX_URL" in done.stderr, done


def test_an_unknown_key_leads_to_the_command_that_makes_one(folder, keyed):
    assert "; unhex key create on the server makes a new one\n" in run("modules list", folder, keyed.url, KEY).stderr
    done = run("modules show", folder, keyed.url, keyed.token)
    assert "(HTTP 404); unhex explain with this ID says what would help\n" in done.stderr


@pytest.mark.parametrize("url", ["http://user@127.0.0.1/", "https://127.0.0.1:x/", "bucket+http://"])
def test_a_bad_url_of_a_clone_is_named(url, folder):
    for places in ((url, folder / "copy"), (folder, url)):
        done = unhex("clone", *places)
        assert done.returncode == 2 and done.stderr.startswith(f"unhex: {url}: "), done


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "clone"])
@pytest.mark.parametrize("url", ["not a url", "http://user@127.0.0.1/"])
def test_a_bad_url_names_its_source(verb, url, folder):
    done = run(verb, folder, url, KEY)
    assert done.returncode == 2 and done.stderr.startswith("unhex: UNHEX_URL: "), done
    done = unhex(*VERBS[verb](folder), "--url", url, timeout=120)
    assert done.returncode == 2 and done.stderr.startswith("unhex: --url: "), done
