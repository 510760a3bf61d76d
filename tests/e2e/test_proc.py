# SPDX-License-Identifier: Apache-2.0
"""unhex proc: addresses of live processes, against what the programs say of themselves, nm, and
plain readings of /proc."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from live import ask, compile_target, function, mapping_of, maps, running
from tool import UNHEX, build_id, fails, lines, unhex
from waiting import pause_for, wait_for

LIBRARY = "__attribute__((visibility(\"default\"))) int lib_function(int x) { return x * 5; }\n"


@pytest.fixture(scope="module")
def folder():
    """One that everybody may go into."""
    with tempfile.TemporaryDirectory(prefix="unhex-proc-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def target(folder):
    return compile_target(folder)


def assert_named(answer, module, name="named_function"):
    assert function(answer) == name, answer
    assert answer["kind"] == "file"
    assert answer["module"] == str(module)


@pytest.mark.parametrize("flags", [["-pie", "-fPIE"], ["-no-pie"], ["-static-pie"], ["-static"]],
                         ids=lambda f: f[0])
def test_functions_lines_and_inlined_frames(folder, flags):
    path = compile_target(folder, "target" + flags[0], ("-O1", "-g", *flags))
    nm = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    pc = int(re.search(r"(\S+) T named_function", nm)[1], 16)
    with running(path) as live:
        answers = live.ask(*range(live["named_function"], live["named_function"] + 16),
                           live["main"])
    for i, answer in enumerate(answers[:-1]):
        assert_named(answer, path)
        assert int(answer["pc"], 16) == pc + i
        assert answer["build_id"] == build_id(path)
        assert answer["frames"][-1]["file"] == f"{path}.c"
    assert any(f["function"] == "inlined_one" and f["inlined"]
               for a in answers for f in a["frames"][:-1])
    assert_named(answers[-1], path, "main")


def test_a_program_linked_far_from_its_place_in_the_file(folder):
    path = compile_target(folder, "target-far",
                          ("-O1", "-no-pie", "-Wl,-Ttext-segment=0x12340000", "-Wl,-z,noseparate-code"))
    with running(path) as live:
        assert live["named_function"] > 0x12340000
        answer, = live.ask(live["named_function"] + 1)
    assert_named(answer, path)
    assert int(answer["pc"], 16) == live["named_function"] + 1


def test_addresses_of_the_c_library_are_those_of_the_file(target):
    with running(target) as live:
        text = [m for m in maps(live.pid) if m[4].endswith("libc.so.6") and "x" in m[2]][0]
        addresses = list(range(text[0], text[1], 4099))
        answers = live.ask(*addresses)
    headers = subprocess.run(["readelf", "-lW", text[4]], check=True, capture_output=True,
                             text=True).stdout
    load = re.search(r"LOAD +(\S+) (\S+) \S+ \S+ \S+ R E", headers)
    bias = int(load[2], 16) - int(load[1], 16)
    pcs = [a - text[0] + text[3] + bias for a in addresses]
    assert [int(a["pc"], 16) for a in answers] == pcs
    expected = lines(unhex("lookup", "--json", text[4], stdin="".join(f"{p:#x}\n" for p in pcs)))
    for address, pc, answer in zip(addresses, pcs, expected):
        for frame in answer["frames"]:  # without a name: where it begins, here in the process
            if "start" in frame:
                frame["start"] = hex(int(frame["start"], 16) + address - pc)
    assert [a["frames"] for a in answers] == [e["frames"] for e in expected]
    assert sum(bool(a["frames"]) for a in answers) > len(answers) / 2


def test_text_says_function_place_and_module(target):
    with running(target) as live:
        result = unhex("proc", live.pid, hex(live["named_function"]), "0x10",
                       hex(live["code"]), hex(live["data"]))
    out = result.stdout.splitlines()
    assert re.fullmatch(rf"{live['named_function']:#x} named_function at {target}.c:\d+ "
                        rf"\[{target}\+0x[0-9a-f]+\]", out[0])
    assert out[1] == "0x10 ?? (nothing is mapped there)"
    assert out[2].endswith("?? (anonymous memory without a perf map or jitdump)")
    assert out[3].endswith("?? (anonymous memory that is not executable)")
    assert result.returncode == 0


def test_return_addresses_are_set_back(target):
    with running(target) as live:
        answer, = live.ask(live["named_function"], options=["--return-addresses"])
        assert function(answer) != "named_function"
        answer, = live.ask(live["named_function"] + 1, options=["--return-addresses"])
        assert function(answer) == "named_function"


def test_a_deleted_program_is_read_through_its_mapping(folder, target):
    gone = folder / "target-gone"
    shutil.copy(target, gone)
    with running(gone) as live:
        gone.unlink()
        gone.write_text("something else by now")
        answer, = live.ask(live["named_function"] + 1)
    assert_named(answer, gone)
    assert answer["build_id"] == build_id(target)


def test_a_program_that_is_a_memfd_is_read(target):
    fd = os.memfd_create("target", 0)
    os.write(fd, target.read_bytes())
    with running(f"/proc/self/fd/{fd}", pass_fds=[fd]) as live:
        os.close(fd)
        answer, = live.ask(live["named_function"] + 1)
    assert_named(answer, "/memfd:target")


def unshare(*options):
    """The command, or a skip where the system does not let us make namespaces (containers)."""
    command = ["unshare", *options] if os.geteuid() == 0 else ["unshare", "-Ur", *options]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    return command


def test_a_program_in_another_mount_namespace_is_the_one_that_is_there(folder, target):
    inner = folder / "inner"
    inner.mkdir()
    (inner / "target-ns").write_text("what is there outside")
    script = (f"mount -t tmpfs none {inner} && cp {target} {inner}/target-ns && "
              f"exec {inner}/target-ns")
    with running(*unshare("-m"), "sh", "-c", script) as live:
        answer, = live.ask(live["named_function"] + 1)
    assert_named(answer, inner / "target-ns")
    assert (inner / "target-ns").read_text() == "what is there outside"


def test_a_perf_map_of_another_pid_and_mount_namespace_is_found(target):
    keep = tempfile.mkdtemp(prefix="unhex-ns-", dir="/var/tmp")
    shutil.copy(target, f"{keep}/target")
    script = f"mount -t tmpfs none /tmp && exec {keep}/target"
    try:
        with running(*unshare("-m", "-p", "-f"), "sh", "-c", script) as live:
            assert live["pid"] != live.pid  # the number in its own namespace
            root = pathlib.Path(f"/proc/{live.pid}/root/tmp")
            (root / f"perf-{live['pid']}.map").write_text(f"{live['code']:x} 10 made in there\n")
            answer, = live.ask(live["code"] + 15)
    finally:
        shutil.rmtree(keep)
    assert function(answer) == "made in there"
    assert answer["kind"] == "jit"


def test_libraries_that_are_loaded_between_lookups_are_found(folder, target):
    library = compile_target(folder, "libtest.so", ("-O1", "-shared", "-fPIC"), LIBRARY)
    with running(target) as live:
        with subprocess.Popen([UNHEX, "proc", str(live.pid), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as asker:
            asker.stdin.write(f"{live['named_function']:#x}\n")
            assert "named_function" in asker.stdout.readline()
            address = live.tell(f"l {library}", "lib_function")
            pause_for(0.2, "the mappings are read again after 100 ms")
            asker.stdin.write(f"{address:#x}\n")
            answer = asker.stdout.readline()
            asker.stdin.close()
    assert '"lib_function"' in answer
    assert str(library) in answer


def test_another_program_is_not_taken_for_the_one_before(folder, target):
    """Without randomization both lie at the same addresses."""
    other = compile_target(folder, "target-other", ("-O0", "-g"),
                           "#include <unistd.h>\nint other(void){return 1;}\n"
                           "int main(void){for(;;)pause();return other();}\n")
    with running("setarch", "-R", target) as live:
        with subprocess.Popen([UNHEX, "proc", str(live.pid), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as asker:
            asker.stdin.write(f"{live['named_function']:#x}\n")
            assert str(target) in asker.stdout.readline()
            live.tell(f"x {other}")
            wait_for(lambda: os.readlink(f"/proc/{live.pid}/exe") == str(other))
            asker.stdin.write(f"{live['named_function']:#x}\n")
            assert f'"{target}"' not in asker.stdout.readline()
            text = [m for m in maps(live.pid) if m[4] == str(other) and "x" in m[2]][0]
            asker.stdin.write(f"{text[0] + 0x150:#x}\n")
            assert f'"{other}"' in asker.stdout.readline()
            asker.stdin.close()


def test_functions_of_the_vdso_are_those_of_its_image(folder, target):
    image = folder / "vdso.so"
    with running(target) as live:
        vdso = [m for m in maps(live.pid) if m[4] == "[vdso]"][0]
        assert vdso[0] == live["vdso"]
        with open(f"/proc/{live.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(vdso[0])
            image.write_bytes(memory.read(vdso[1] - vdso[0]))
        nm = subprocess.run(["nm", "-D", image], check=True, capture_output=True, text=True).stdout
        symbols = {}
        for value, name in re.findall(r"^(\S+) [TW] (\S+?)(?:@.*)?$", nm, re.M):
            symbols.setdefault(int(value, 16), set()).add(name)
        answers = live.ask(*[vdso[0] + value for value in symbols])
    assert symbols
    for answer, (value, names) in zip(answers, symbols.items()):
        assert function(answer) in names
        assert (answer["kind"], answer["module"]) == ("vdso", "[vdso]")
        assert int(answer["pc"], 16) == value
        assert answer["build_id"] == build_id(image)


def test_the_vsyscall_page_has_names(target):
    with running(target) as live:
        answers = live.ask(0xffffffffff600000, 0xffffffffff600401, 0xffffffffff600800)
    assert [function(a) for a in answers] == ["gettimeofday", "time", "getcpu"]


def kallsyms():
    """Address to names, of code; empty when they are hidden."""
    symbols = {}
    for line in pathlib.Path("/proc/kallsyms").read_text().splitlines():
        words = line.split()
        if words[1] in "tTwW" and int(words[0], 16):
            symbols.setdefault(int(words[0], 16), set()).add(words[2])
    return symbols


def test_addresses_of_the_kernel_have_one_of_their_names(target):
    symbols = kallsyms()
    with running(target) as live:
        if not symbols:
            answer, = live.ask(0xffffffff81000000)
            assert "kptr_restrict hides addresses" in answer["reason"]
            return
        addresses = sorted(symbols)[::97]
        answers = live.ask(*addresses)
        nothing, = live.ask(0xfffffffffffff000)
    assert [a for a in answers if function(a) not in symbols[int(a["address"], 16)]] == []
    assert {a["kind"] for a in answers} == {"kernel"}
    assert nothing["frames"] == [] and nothing["reason"] == "the kernel has no code there"
    own = [a for a in answers if a["module"] == "[kernel]"]
    notes = pathlib.Path("/sys/kernel/notes").read_bytes()
    assert own and all(bytes.fromhex(a["build_id"][4:]) in notes for a in own)


VMLINUX = r"""
static inline __attribute__((always_inline)) int inlined_in_kernel(int x) { return x * 3 + 1; }
__attribute__((noinline, used)) int function_of_vmlinux(int x)
{
	return inlined_in_kernel(x) / 7;
}
void _start(void) { function_of_vmlinux(2); }
"""


def make_vmlinux(folder, name, build, base=0xffffffff81000000):
    path = folder / name
    path.with_suffix(".c").write_text(VMLINUX)
    subprocess.run(["gcc", "-O1", "-g", "-nostdlib", "-static", "-no-pie", "-fno-pie",
                    "-mcmodel=kernel", f"-Wl,-Ttext-segment={base:#x}",
                    f"-Wl,--build-id=0x{build}", "-o", path, path.with_suffix(".c")], check=True)
    return path


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the addresses are those of x86-64")
@pytest.mark.parametrize("base", [0xffffffff81000000, 0xffffffff8a200000], ids=hex)
def test_a_vmlinux_gives_lines_wherever_the_kernel_was_loaded(folder, target, base):
    notes = pathlib.Path("/sys/kernel/notes").read_bytes()
    at = notes.find(b"GNU\0")
    build = notes[at + 4:at + 24].hex()
    symbols = kallsyms()
    vmlinux = make_vmlinux(folder, "vmlinux", build, base)
    nm = subprocess.run(["nm", vmlinux], check=True, capture_output=True, text=True).stdout
    pc = int(re.search(r"(\S+) T function_of_vmlinux", nm)[1], 16)
    with running(target) as live:
        other = make_vmlinux(folder, "vmlinux-other", "00" * 20)
        fails(unhex("proc", live.pid, "--vmlinux", other, "0x1"), 1, "vmlinux-other",
              "the running kernel has gnu:" + build[:40])
        if not symbols:
            return  # the kernel's addresses are hidden here
        text = min(a for a, names in symbols.items() if "_text" in names)
        answer, beyond = live.ask(pc - base + text + 1, max(symbols),
                                  options=["--vmlinux", vmlinux])
    assert function(answer) == "function_of_vmlinux"
    assert answer["frames"][-1]["file"] == f"{vmlinux}.c"
    assert int(answer.get("pc", answer["address"]), 16) == pc + 1
    assert function(beyond) in symbols[max(symbols)]


def without_rights(command):
    """Runs a command as a user who may do nothing."""
    return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          user=65534, group=65534, extra_groups=[])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_user_without_access_gets_the_reason(folder, target):
    copy = folder / "unhex"
    shutil.copy(UNHEX, copy)
    with running(target) as live:
        fails(without_rights([copy, "proc", live.pid, "0x1000"]), 1, str(live.pid), "maps",
              "Permission denied")
    with running(target, user=65534, group=65534, extra_groups=[]) as live:
        result = without_rights([copy, "proc", live.pid, "--json", hex(live["named_function"]),
                         "0xffffffff81000000"])
        own, kernel = lines(result)
        assert_named(own, target)
        seen = without_rights(["grep", "-m1", "^ffff", "/proc/kallsyms"]).stdout
        assert seen or "kptr_restrict hides addresses" in kernel["reason"]


@pytest.mark.parametrize("args,status,words", [
    ([], 2, ["no process given"]),
    (["abc"], 2, ['"abc" is not a process ID']),
    (["0"], 2, ["not a process ID"]),
    (["99999999999"], 2, ["not a process ID"]),
    (["1", "zz"], 2, ['"zz" is not an address']),
    (["1", "--demangle", "x"], 2, ["--demangle"]),
    (["1", "--at", "now"], 2, ["--at"]),
    (["1", "--at", "1.1234567890"], 2, ["--at"]),
    (["1", "--at", "99999999999.9"], 2, ["--at"]),
    (["4194305", "0x1"], 1, ["no process 4194305"]),
])
def test_what_makes_no_sense_is_said(args, status, words):
    fails(unhex("proc", *args), status, *words)


def test_bad_lines_have_an_answer_each(target):
    with running(target) as live:
        result = unhex("proc", live.pid, "--json",
                       stdin=f"nonsense\n{live['named_function']:#x}\n\n")
    assert result.returncode == 1
    assert 'line 1 is "nonsense"' in result.stderr
    bad, good = lines(result)
    assert bad["error"] == "not an address"
    assert function(good) == "named_function"


def test_a_program_that_has_ended_answers_from_what_was_seen(target):
    with running(target) as live:
        with subprocess.Popen([UNHEX, "proc", str(live.pid), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as asker:
            asker.stdin.write(f"{live['named_function']:#x}\n")
            assert "named_function" in asker.stdout.readline()
            live.process.kill()
            live.process.wait()
            asker.stdin.write(f"{live['named_function']:#x}\n0x10\n")
            assert "named_function" in asker.stdout.readline()
            assert "nothing is mapped there" in asker.stdout.readline()
            asker.stdin.close()


def test_its_own_addresses_and_those_of_a_thread():
    """The test's interpreter, by the numbers of the process and of its thread."""
    pid = os.getpid()
    text = [m for m in maps(pid) if "x" in m[2] and m[4].endswith("libc.so.6")][0]
    address = text[0] + 0x5000
    assert mapping_of(maps(pid), address)[4] == text[4]
    whole, = ask(pid, [address])
    thread = int(sorted(os.listdir("/proc/self/task"))[-1])
    part, = ask(thread, [address])
    assert whole == part and whole["module"] == text[4]
