/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the interpreter in a live process. */
#ifndef UX_INTERPRETER_FIND_H
#define UX_INTERPRETER_FIND_H

#include "error.h"
#include "unhex/interp.h"

#include <sys/types.h>

/*
 * Finds an interpreter of that kind among the files that the process has mapped: first those whose
 * name suggests it, then all others. The interpreter is recognised by its symbols (.dynsym,
 * .symtab); Python 3.13 and newer also by the section .PyRuntime and, without section headers, by
 * the cookie in its writable data. The version comes from the interpreter itself (Py_Version, a
 * string in its read-only data), else from the file's name. UX_ENOTFOUND: there is none;
 * UX_EUNSUPPORTED: a 32-bit process, or PHP with threads.
 */
enum ux_code ux_interp_find(pid_t pid, const struct ux_memory_reader *memory,
			    enum ux_interp_kind kind, struct ux_interp_root *ret,
			    struct ux_error *err) ux_must;

/*
 * The kernel's ID of the thread with this pthread_t, which is in a field of the C library's struct
 * pthread (glibc); 0 when the process has no such thread. CPython stores the kernel's ID itself
 * only from 3.11 on.
 */
int32_t ux_interp_thread_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle);

#endif
