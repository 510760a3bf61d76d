# SPDX-License-Identifier: Apache-2.0
"""Which end-to-end tests need what a container may forbid: namespaces of their own, FUSE, or recording by the kernel.

They are skipped where that is forbidden, and the end of the run names them; everywhere else they run.
"""
import functools
import os
import struct
import subprocess
import tempfile

from live import may_record

# As beyond.py has it: a file, and the functions of it, all of them where none is named.
NAMESPACES = {
    "test_agent.py":
        "test_a_debug_file_that_only_a_container_has_gives_the_names "
        "test_a_program_in_another_mount_and_process_namespace_is_sent",
    "test_agent_hung.py":
        "test_a_mount_that_hangs_costs_its_own_files_alone test_a_signal_ends_the_agent_while_a_file_system_hangs "
        "test_folders_of_debug_files_and_run_time_code_may_hang",
    "test_agent_dwz.py": "test_one_that_only_a_container_has_is_found",
    "test_agent_operation.py": "test_a_full_disk_costs_what_would_be_kept_alone",
    "test_away.py": "test_a_full_disk_is_neither_damage_nor_absence",
    "test_disk.py": "test_a_file_system_that_is_full_takes_uploads_again_when_it_has_room",
    "test_jit_places.py": "test_a_folder_that_is_named_is_one_of_the_programs",
    "test_mutate.py":
        "test_an_explained_survivor_is_listed_as_such test_defects_that_a_test_notices_are_no_survivors",
    "test_outputs.py":
        "test_a_disk_that_fills_in_the_middle_names_the_output "
        "test_a_full_or_read_only_disk_names_the_output_and_leaves_what_was_there",
    "test_stripped_help.py":
        "test_a_report_names_the_archive_once "
        "test_the_debian_package_of_a_file_is_named_and_the_archive_that_has_it",
    "test_extract_cache.py": "test_a_full_disk_costs_nothing",
    "test_trust.py": "test_a_file_on_a_mount_of_a_user_is_not_roots",
}
FUSE = {"test_agent_hung.py": NAMESPACES["test_agent_hung.py"]}
RECORDING = {
    # Without records of the kernel the agent scans, and a process may have ended before.
    "test_agent.py":
        "test_a_deleted_program_of_a_process_that_lived_a_second_is_sent "
        "test_a_program_that_was_replaced_is_another_one",
    "test_agent_operation.py":
        "test_large_programs_do_not_wait_for_thousands_of_small_ones "
        "test_many_different_programs_take_no_memory_for_good "
        "test_programs_of_a_user_do_not_wait_for_thousands_of_another_one "
        "test_what_was_deleted_while_the_server_was_away_survives_a_kill",
    "test_dev.py": "test_an_interrupt_ends_everything_that_the_show_started test_the_show_stays_until_it_is_ended",
    "test_profile_jit.py": "test_our_own_recordings_have_the_names",
    "test_readme.py":
        "test_the_first_key_is_the_users_alone test_the_first_stack_is_the_one_that_is_shown "
        "test_the_flame_graph_has_the_functions_of_the_program test_the_server_names_the_stripped_program",
}


# Kernels without the emulation run no programs of i386, whatever is installed. These tests are left out everywhere.
I386 = {
    "test_core_dumps.py": "test_stacks_of_i386_are_those_that_elfutils_finds",
    "test_unwind.py": "test_samples_of_32_bit_processes_are_unwound",
}


@functools.cache
def may_run_i386():
    """Runs exit(0) as the smallest program of i386 that there is: one segment with the headers and nine bytes of code."""
    code = bytes.fromhex("31c04031dbcd80")  # xor eax, eax; inc eax; xor ebx, ebx; int 0x80
    base, head = 0x10000, 52 + 32
    elf = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + head, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    elf += struct.pack("<IIIIIIII", 1, 0, base, base, head + len(code), head + len(code), 5, 0x1000) + code
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/exit"
        with open(path, "wb") as f:
            f.write(elf)
        os.chmod(path, 0o755)
        try:
            return subprocess.run([path], check=False).returncode == 0
        except OSError:  # ENOEXEC
            return False


def lacking(file, function):
    """Why no machine with this kernel can run the test; None if it can."""
    return "this kernel runs no programs of i386" if needs(I386, file, function) and not may_run_i386() else None


@functools.cache
def may_make_namespaces():
    command = ["unshare", "-m", "true"] if os.geteuid() == 0 else ["unshare", "-Ur", "-m", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@functools.cache
def may_mount_fuse():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
        return True
    except OSError:
        return False


may_record = functools.cache(may_record)


def needs(table, file, function):
    return file in table and (not table[file] or function in table[file].split())


def forbidden(file, function):
    """Why the test cannot run here; None if it can."""
    if needs(NAMESPACES, file, function) and not may_make_namespaces():
        return "namespaces cannot be made here"
    if needs(FUSE, file, function) and not may_mount_fuse():
        return "there is no FUSE here"
    if needs(RECORDING, file, function) and not may_record():
        return "this machine's kernel lets nobody record"
    return None
