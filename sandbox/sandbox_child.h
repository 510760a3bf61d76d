/* SPDX-License-Identifier: Apache-2.0 */
/* The confined child: what the server and it send each other, its confinement, its disassembler. */
#ifndef UX_SANDBOX_CHILD_H
#define UX_SANDBOX_CHILD_H

#include "base.h"
#include "elf_file.h"
#include "error.h"
#include "id.h"
#include "out.h"
#include "sandbox.h"

#include <capstone/capstone.h>

enum {
	UX_SANDBOX_TALK = 3, /* descriptor of the socket */
	UX_SANDBOX_FILES = 4 /* the first of the files, in the order of enum ux_sandbox_file */
};

enum ux_sandbox_task {
	UX_SANDBOX_EXTRACT,
	UX_SANDBOX_LOOK,        /* at EXE */
	UX_SANDBOX_UNPACK,      /* EXE is an archive, GSYM what comes out */
	UX_SANDBOX_DISASSEMBLE, /* of EXE */
};

/* Both are of one program, so their layout is the compiler's. */
struct ux_sandbox_request {
	uint32_t size;  /* of this record */
	uint32_t files; /* which there are: a bit (1 << enum ux_sandbox_file) each */
	uint64_t memory;
	uint64_t output;
	uint32_t seconds;
	uint32_t task;              /* enum ux_sandbox_task */
	struct ux_code_range range; /* of UX_SANDBOX_DISASSEMBLE */
};

/* From a child that the input may have taken over: every field is checked. */
struct ux_sandbox_reply {
	uint32_t size;
	struct ux_error err; /* code UX_OK: it is done */
	struct ux_sandbox_found found;
};

struct ux_confine_limits {
	uint64_t address_space; /* bytes; 0: no bound. Not with a sanitizer, whose shadow is larger
				 */
	uint64_t file_size;     /* bytes that a file may grow to */
	unsigned cpu_seconds;
};

/*
 * Confines this process and whatever it executes, irrevocably: it can open nothing, connect to
 * nothing, start nothing and signal no other process. Opening fails with EACCES, since
 * libraries try to without need; other system calls that reading does not need end the process
 * by SIGSYS. No core is written, no tracer of the same user can attach, and the process ends
 * with the parent's thread. Call it with one thread. UX_EIO, UX_EUNSUPPORTED: the kernel cannot
 * do that; nothing untrusted may be read then. Source: seccomp(2), prctl(2), getrlimit(2).
 */
enum ux_code ux_confine(const struct ux_confine_limits *limits, struct ux_error *err) ux_must;

/* What is called of it. */
#define UX_CAPSTONE_CALLS(X) \
	X(cs_open)           \
	X(cs_option)         \
	X(cs_malloc)         \
	X(cs_disasm_iter)    \
	X(cs_free)           \
	X(cs_close)

struct ux_capstone_calls {
#define UX_CAPSTONE_CALL(name) __typeof__(name) *name;
	UX_CAPSTONE_CALLS(UX_CAPSTONE_CALL)
#undef UX_CAPSTONE_CALL
};

/* Loads the library, for the life of the process. UX_EUNSUPPORTED: it is not installed. Any thread.
 */
enum ux_code ux_capstone_load(struct ux_capstone_calls *ret, struct ux_error *err) ux_must;

/*
 * Appends the instructions that begin in the range, as of ux_sandbox_disassemble(). What is no code
 * becomes ".byte". UX_EUNSUPPORTED: code for another machine; UX_ENOTFOUND: the file has no bytes
 * there.
 */
enum ux_code ux_disassemble(const struct ux_capstone_calls *calls, const struct ux_elf *elf,
			    const struct ux_code_range *range, struct ux_out *ret,
			    struct ux_error *err) ux_must;

#endif
