/* SPDX-License-Identifier: Apache-2.0 */
/* What a server and its confined child say to each other: one record each way. */
#ifndef UX_SANDBOX_TASK_H
#define UX_SANDBOX_TASK_H

#include "id.h"
#include "sandbox.h"

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

/* Of a child that may be under a stranger's control: every field is checked. */
struct ux_sandbox_reply {
	uint32_t size;
	struct ux_error err; /* code UX_OK: it is done */
	struct ux_sandbox_found found;
};

#endif
