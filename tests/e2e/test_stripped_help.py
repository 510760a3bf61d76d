"""What commands say would help with a stripped file."""

import json
import os
import subprocess

import pytest

from tool import UNHEX, fails, unhex

NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
FOLDER_OR_SERVER = "name its debug file's folder (--debug-dir) or a server that has it (--url, --debuginfod)"
PUSH = "push its debug file from where it was built (unhex push FILE)"


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stripped")
    (folder / "a.c").write_text("int add(int a) { return a + 1; }\nint main(void) { return add(2); }\n")
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", folder / "whole", folder / "a.c"], check=True)
    subprocess.run(["strip", "-o", folder / "prog", folder / "whole"], check=True)
    return folder


def test_lookup_says_once_what_would_help(stripped):
    done = unhex("lookup", stripped / "prog", "0x1", "0x2", "0x1129")
    assert done.stderr == f"unhex: {stripped}/prog: is stripped; {FOLDER_OR_SERVER}\n"
    done = subprocess.run([UNHEX, "lookup", stripped / "prog"], input="0x1\n0x2\n", text=True, capture_output=True)
    assert done.stderr.count("is stripped") == 1
    assert unhex("lookup", stripped / "whole", "main+0").stderr == ""


def test_a_debug_file_that_was_found_needs_no_help(stripped, tmp_path):
    subprocess.run(["objcopy", "--only-keep-debug", stripped / "whole", tmp_path / "prog.debug"], check=True)
    build_id = json.loads(unhex("id", "--json", stripped / "prog").stdout)["ids"][0].split(":")[1]
    folder = tmp_path / ".build-id" / build_id[:2]
    folder.mkdir(parents=True)
    (tmp_path / "prog.debug").rename(folder / f"{build_id[2:]}.debug")
    done = unhex("lookup", stripped / "prog", "main+0", "--debug-dir", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "would help" not in unhex("explain", stripped / "prog", "--debug-dir", tmp_path).stdout


def test_explain_says_what_would_help(stripped):
    assert f"  would help     {FOLDER_OR_SERVER}\n" in unhex("explain", stripped / "prog").stdout
    assert json.loads(unhex("explain", "--json", stripped / "prog").stdout)["advice"] == [FOLDER_OR_SERVER]
    assert "advice" not in json.loads(unhex("explain", "--json", stripped / "whole").stdout)


def on(release, *lists):
    """A command of a shell which makes the system look like another one to what follows."""
    return ("mount -t tmpfs none /var/lib/apt/lists && "
            + "".join(f"touch /var/lib/apt/lists/{name} && " for name in lists)
            + f"mkdir /var/lib/apt/lists/partial && printf '{release}' >/var/lib/apt/lists/partial/os && "
            "mount --bind /var/lib/apt/lists/partial/os /etc/os-release && ")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
DEBIAN = 'NAME="Debian"\\nVERSION_CODENAME=bookworm\\nID=debian\\n'
ARCHIVE = " (apt needs: deb http://deb.debian.org/debian-debug bookworm-debug main)"


@as_root
@pytest.mark.parametrize("system, archive", [
    (on(DEBIAN), ARCHIVE),
    (on(DEBIAN, "deb.debian.org_debian_dists_bookworm_InRelease"), ARCHIVE),
    (on(DEBIAN, "deb.debian.org_debian-debug_dists_bookworm-debug_InRelease"), ""),
    (on('VERSION_CODENAME="noble"\\nID=ubuntu\\n'), " (apt needs: deb http://ddebs.ubuntu.com noble main universe)"),
    (on("ID=debian\\n"), ""), (on("VERSION_CODENAME=x;y\\nID=debian\\n"), ""),
    (on("ID=other\\nVERSION_CODENAME=bookworm\\n"), "")])
def test_the_debian_package_of_a_file_is_named_and_the_archive_that_has_it(system, archive):
    done = subprocess.run([*NAMESPACE, "sh", "-c", system + '"$0" lookup /usr/bin/dpkg 0x8000', UNHEX], text=True,
                          capture_output=True)
    assert done.stderr == f"unhex: /usr/bin/dpkg: is stripped; install dpkg-dbgsym{archive}, or use --debuginfod URL\n"


@as_root
def test_a_report_names_the_archive_once():
    text = "p 1 1.0: 1 cycles:\n\t1 [unknown] (/usr/bin/dpkg)\n\t1 [unknown] (/usr/bin/dpkg-query)\n\n"
    done = subprocess.run([*NAMESPACE, "sh", "-c", on(DEBIAN) + '"$0" top -', UNHEX], input=text, text=True,
                          capture_output=True)
    assert done.stderr.count("install dpkg-dbgsym") == 2 and done.stderr.count("debian-debug") == 1


def test_the_package_of_libc_is_in_the_main_archive():
    # The path that leads there is a link, and Debian 12 lists the library in /lib.
    name = subprocess.run(["sh", "-c", "ldd /usr/bin/dpkg | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p'"], text=True,
                          capture_output=True, check=True).stdout.strip()
    report = subprocess.run([UNHEX, "top", "--debug-dir", "", "-"], text=True, capture_output=True,
                            input=f"p 1 1.0: 1 cycles:\n\t1 [unknown] ({name})\n\n").stderr
    assert f"100.0 %: {name} gnu:" in report and " is stripped; install libc6-dbg, or use --debuginfod URL\n" in report


def test_reports_of_profiles_and_crashes_say_what_would_help(stripped):
    text = f"p 1 1.0: 1 cycles:\n\t1 [unknown] ({stripped}/prog)\n\t1 [unknown] (/nowhere/x.so)\n\n"
    report = subprocess.run([UNHEX, "top", "-"], input=text, text=True, capture_output=True).stderr
    assert f" is stripped; {FOLDER_OR_SERVER}\n" in report
    assert "  100.0 %: /nowhere/x.so: no such file was found\n" in report
    crash = f"{stripped}/prog(+0x1)[0x55]\n"
    report = subprocess.run([UNHEX, "symbolize", "-"], input=crash, text=True, capture_output=True).stderr
    assert f"; it is stripped; {FOLDER_OR_SERVER}\n" in report


def test_a_report_tells_once_what_helps_with_any_file(stripped, tmp_path):
    (tmp_path / "other").write_bytes((stripped / "prog").read_bytes())
    text = (f"p 1 1.0: 1 cycles:\n\t1 [unknown] ({stripped}/prog)\n\t1 [unknown] ({tmp_path}/other)\n"
            "\t1 [unknown] (/usr/bin/dpkg)\n\n")
    report = subprocess.run([UNHEX, "top", "-"], input=text, text=True, capture_output=True).stderr
    assert report.count(" is stripped") == 3
    assert report.count("--debuginfod") == 1 and " is stripped; install dpkg-dbgsym" in report


def test_split_gives_each_hint_once(stripped, tmp_path):
    for name in ("one", "two"):
        subprocess.run(["gcc", "-O0", "-Wl,--build-id=none", "-o", tmp_path / name, stripped / "a.c"], check=True)
    done = unhex("split", "--dry-run", "--strip=unneeded", tmp_path / "one", tmp_path / "two")
    assert done.stderr.count("has no build ID") == 2 and done.stderr.count("--add-build-id") == 1
    assert done.stderr.count("no debug information") == 2 and done.stderr.count("compile with -g") == 1


def test_with_a_server_the_debug_file_is_pushed(stripped):
    text = f"p 1 1.0: 1 cycles:\n\t1 [unknown] ({stripped}/prog)\n\n"
    report = subprocess.run([UNHEX, "top", "--url", "http://127.0.0.1:1", "-"], input=text, text=True,
                            capture_output=True).stderr
    assert f" is stripped; {PUSH}\n" in report


def test_the_hint_for_hexadecimal_numbers_is_printed_once_and_only_where_nothing_is(stripped):
    line = subprocess.run(["nm", stripped / "whole"], text=True, capture_output=True, check=True).stdout
    start = next(int(s.split()[0], 16) for s in line.splitlines() if s.endswith(" T main"))
    digits = [f"{start + i:x}" for i in range(16) if f"{start + i:x}".isdigit()]
    assert len(digits) > 1
    done = unhex("lookup", stripped / "whole", *digits)
    assert done.stderr.count("was read as decimal") == 1
    done = unhex("lookup", stripped / "whole", str(start))
    assert "was read as decimal" not in done.stderr


def test_a_named_server_names_the_functions_of_a_stripped_file(stripped, server):
    prog = stripped / "prog"
    assert server.unhex("push", stripped / "whole").returncode == 0
    line = subprocess.run(["nm", stripped / "whole"], text=True, capture_output=True, check=True).stdout
    start = next(s.split()[0] for s in line.splitlines() if s.endswith(" T main"))
    for done in (server.unhex("lookup", prog, "main", f"0x{start}"),
                 unhex("lookup", prog, "main", f"0x{start}", "--url", server.url, "--token", server.token),
                 server.unhex("lookup", prog, stdin=f"main\n0x{start}\n")):
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("main") >= 2 and done.stdout.count("a.c:2") == 2
    # Without a server, and where only the file has the answer, the file answers.
    for options in (("--columns",), ("--alternatives",)):
        assert server.unhex("lookup", prog, f"0x{start}", *options).stdout == f"0x{start.lstrip('0')} <no name>\n"
    assert unhex("lookup", prog, f"0x{start}").returncode == 0
    # A file that has its names is not asked for.
    there = server.unhex("lookup", stripped / "whole", "main", env={"UNHEX_URL": "http://127.0.0.1:1"})
    assert (there.returncode, there.stderr) == (0, "")


def test_where_the_server_has_no_names_the_file_answers_and_says_what_helps(stripped, server):
    prog = stripped / "prog"
    alone = unhex("lookup", prog, "0x1", "0x1129")
    done = server.unhex("lookup", prog, "0x1", "0x1129")
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert done.stderr == f"unhex: {prog}: is stripped; the server has no symbols for it; {PUSH}\n"
    assert server.unhex("push", prog).returncode == 0
    done = server.unhex("lookup", prog, "0x1", "0x1129")
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert done.stderr == f"unhex: {prog}: is stripped; so is the server's copy; {PUSH}\n"
    done = unhex("lookup", prog, "0x1", "0x1129", "--url", "http://127.0.0.1:1")
    assert done.stdout == alone.stdout
    fails(done, alone.returncode, prog, "is stripped; cannot reach http://127.0.0.1:1")
    fails(unhex("lookup", prog, "0x1", "--url", "ftp://x"), 2, "--url")


def test_a_file_without_any_symbols_is_asked_for_and_gets_the_hint(tmp_path, server):
    (tmp_path / "s.c").write_text("void _start(void) { for (;;); }\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-fno-asynchronous-unwind-tables", "-g", "-Wl,--build-id", "-o",
                    tmp_path / "whole", tmp_path / "s.c"], check=True)
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, tmp_path / "whole"], check=True)
    done = unhex("lookup", bare, "_start")
    fails(done, 1, bare, "no symbols", f"; {FOLDER_OR_SERVER}\n")
    assert server.unhex("push", tmp_path / "whole").returncode == 0
    done = server.unhex("lookup", bare, "_start")
    assert (done.returncode, done.stderr) == (0, "") and "s.c:1" in done.stdout


def test_explain_adds_what_a_named_server_says_of_a_stripped_file(stripped, server):
    prog = stripped / "prog"
    done = server.unhex("explain", prog)
    assert done.returncode == 0 and f"  would help     {PUSH}\n" in done.stdout and ": missing" in done.stdout
    assert server.unhex("push", stripped / "whole").returncode == 0
    done = server.unhex("explain", prog)
    assert (done.returncode, done.stderr) == (0, "")
    assert ": found, lines\ncandidates:\n" in done.stdout and "  would help " not in done.stdout
    documents = [json.loads(line) for line in server.unhex("explain", "--json", prog, "0x1129").stdout.splitlines()]
    assert [sorted(d)[0] for d in documents] == ["file", "address", "advice"]
    done = unhex("explain", prog, "--url", "http://127.0.0.1:1")
    fails(done, 0, prog, "cannot reach")
    assert "  would help " in done.stdout
