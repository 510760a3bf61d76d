/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of a module, disassembled. The confined child reads it from an uploaded
 * executable, as it reads all untrusted files.
 */
#ifndef UX_MODULE_CODE_H
#define UX_MODULE_CODE_H

#include "file.h"
#include "http.h"
#include "sandbox.h"

enum {
	UX_MODULE_CODE_MAX = 256 << 10, /* bytes of code that are disassembled in one call */
};

/* The code that is requested. */
struct ux_code_request {
	uint64_t start;
	uint64_t size;
	bool from_first_byte; /* start counts from the module's first byte, else it is a pc */
	bool whole;           /* continue to the end of the function, whatever the size */
};

/* Zeroed = closed. */
struct ux_module_code {
	const char *arch, *syntax;
	struct ux_code_range range; /* at most UX_MODULE_CODE_MAX bytes, all in the file */
	struct ux_mapping text;     /* records of ux_sandbox_disassemble() */
	size_t next;                /* position for ux_module_code_next() */
};

/*
 * Disassembles code of the module that has a canonical ID. UX_ENOTFOUND: the executable was not
 * uploaded, or has no code there; UX_EUNSUPPORTED: the machine of the executable is not supported,
 * or no disassembler is installed; codes of ux_sandbox_disassemble(). The code must be closed, also
 * after an error.
 */
enum ux_code ux_module_code_open(struct ux_request *req, const char *id,
				 const struct ux_code_request *wish, struct ux_module_code *ret,
				 struct ux_error *err) ux_must;
void ux_module_code_close(struct ux_module_code *c);

/*
 * Reads the next instruction; sets *ret_end at the end. UX_ECORRUPT: the output of the child is
 * damaged.
 */
enum ux_code ux_module_code_next(struct ux_module_code *c, struct ux_instruction *ret,
				 bool *ret_end, struct ux_error *err) ux_must;

#endif
