# SPDX-License-Identifier: Apache-2.0
"""A server that refuses a key, or is away, is exit status 3 for every verb that asks one."""
import socket

import pytest

from conftest import Server
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
    "push": lambda f: ["push", next(p for p in f.iterdir() if p.suffix == "" and p.name not in ("crash", "state"))],
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


@pytest.mark.parametrize("verb", VERBS)
def test_a_refused_key_is_status_3(verb, folder, keyed):
    done = run(verb, folder, keyed.url, "ux_" + "a" * 52)
    assert done.returncode == 3, done
    assert "401" in done.stderr or "key" in done.stderr, done


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "push"])
def test_a_server_that_is_away_is_status_3(verb, folder):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    done = run(verb, folder, f"http://127.0.0.1:{port}", "ux_" + "a" * 52)
    assert done.returncode == 3, done
