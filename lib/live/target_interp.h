/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the interpreter in a live process. */
#ifndef UX_TARGET_INTERP_H
#define UX_TARGET_INTERP_H

#include "error.h"
#include "unhex/interp.h"

#include <sys/types.h>

/*
 * Looks for an interpreter of that kind among the files that the process has mapped: first in those
 * that are called like one, then in all. It is found by its symbols (.dynsym, .symtab), Python 3.13
 * and newer also by its section .PyRuntime and, without section headers, by the cookie in its
 * writable data. The version is its own word (Py_Version, a string in its read-only data), or the
 * file's name. UX_ENOTFOUND: there is none; UX_EUNSUPPORTED: a 32-bit process, PHP with threads.
 */
enum ux_code ux_target_interp_find(pid_t pid, const struct ux_memory_reader *memory,
				   enum ux_interp_kind kind, struct ux_interp_root *ret,
				   struct ux_error *err) ux_must;

/*
 * The kernel's ID of the thread whose pthread_t this is, by the field of the C library's struct
 * pthread (glibc) that holds it, if the process has such a thread; else 0. CPython does not note it
 * before 3.11.
 */
int32_t ux_target_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle);

#endif
