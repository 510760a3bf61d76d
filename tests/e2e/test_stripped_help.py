"""What commands say would help with a stripped file."""

import json
import subprocess

import pytest

from tool import UNHEX, unhex

FOLDER_OR_SERVER = "name its debug file's folder (--debug-dir) or a server that has it (--debuginfod)"


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


def test_the_debian_package_of_a_file_is_named():
    done = unhex("lookup", "/usr/bin/dpkg", "0x8000")
    assert done.stderr == "unhex: /usr/bin/dpkg: is stripped; install dpkg-dbgsym, or use --debuginfod URL\n"
    # The path that leads there is a link, and Debian 12 lists the library in /lib.
    name = subprocess.run(["sh", "-c", "ldd /usr/bin/dpkg | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p'"], text=True,
                          capture_output=True, check=True).stdout.strip()
    report = subprocess.run([UNHEX, "top", "--debug-dir", "/nowhere", "-"], text=True, capture_output=True,
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
    assert " is stripped; push its debug file\n" in report


def test_the_hint_for_hexadecimal_numbers_is_printed_once_and_only_where_nothing_is(stripped):
    line = subprocess.run(["nm", stripped / "whole"], text=True, capture_output=True, check=True).stdout
    start = next(int(s.split()[0], 16) for s in line.splitlines() if s.endswith(" T main"))
    digits = [f"{start + i:x}" for i in range(16) if f"{start + i:x}".isdigit()]
    assert len(digits) > 1
    done = unhex("lookup", stripped / "whole", *digits)
    assert done.stderr.count("was read as decimal") == 1
    done = unhex("lookup", stripped / "whole", str(start))
    assert "was read as decimal" not in done.stderr
