/* SPDX-License-Identifier: Apache-2.0 */
/* Reading untrusted files in a process that can do nothing else. */
#ifndef UX_SANDBOX_H
#define UX_SANDBOX_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "unhex/quality.h"

/* The first argument that makes a program a child: main() hands over to ux_sandbox_main() then. */
#define UX_SANDBOX_WORD "--confined"

/* What is read and written, each a descriptor. */
enum ux_sandbox_file {
	UX_SANDBOX_EXE,           /* an executable, or an unstripped file, or a debug file alone */
	UX_SANDBOX_DEBUG,         /* the debug file of it */
	UX_SANDBOX_SUPPLEMENTARY, /* the file that dwz moved common entries of the debug file to */
	UX_SANDBOX_SPLIT,         /* files of split units (split_files.h) */
	UX_SANDBOX_GSYM,          /* for writing, empty: what comes out */
	UX_SANDBOX_FILE_COUNT
};

/* None of them: how an array of descriptors begins. */
#define UX_SANDBOX_NO_FILES        \
	{                          \
		-1, -1, -1, -1, -1 \
	}

struct ux_sandbox_limits {
	uint64_t memory;  /* bytes besides the mapped files */
	uint64_t output;  /* bytes of the GSYM */
	unsigned seconds; /* of processor time, and twice as many by the clock */
	const int *stop;  /* a descriptor: the child is ended when it can be read; NULL: none */
};

enum {
	UX_SANDBOX_HAS_CODE = 1 << 0,    /* it is no debug file */
	UX_SANDBOX_HAS_DEBUG = 1 << 1,   /* .debug_info or .symtab */
	UX_SANDBOX_HAS_SECTIONS = 1 << 2 /* section headers */
};

struct ux_sandbox_found {
	struct ux_id_set
		ids; /* of EXE: GNU, Go, UUID as it carries them; its File ID if it has code */
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t text_bytes; /* of all executable sections */
	uint64_t gsym_bytes; /* written */
	unsigned has;        /* UX_SANDBOX_HAS_*, of EXE */
	unsigned debug_has;  /* the same of DEBUG */
	struct ux_error
		lost; /* the first part that was damaged and passed over; code UX_OK: none */
	uint64_t split_missing; /* units whose entries are in .dwo files that were not there */
};

/*
 * Extracts in a confined child: the kernel enforces its limits; it has the given descriptors
 * (-1: none; EXE and GSYM are needed) and no other file, no network, no privilege. program
 * starts the child; NULL: this one (/proc/self/exe), whose main() knows UX_SANDBOX_WORD.
 *
 * The codes of ux_extract(), where *ret has ids and `has` even on failure; UX_ELIMIT: it needed
 * more time, memory or space; UX_ECORRUPT: the input crashed it; UX_EUNAVAILABLE: no such child
 * can be started here, or it was stopped. The GSYM that it wrote is untrusted: verify it. Any
 * thread; this waits for the child, for at most twice limits->seconds.
 */
enum ux_code ux_sandbox_extract(const int files[UX_SANDBOX_FILE_COUNT],
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err) ux_must;

/*
 * The same of one file, which is only looked at: *ret has ids and `has`, no symbols. Codes as
 * above; UX_ECORRUPT and UX_EUNSUPPORTED for what is no ELF file.
 */
enum ux_code ux_sandbox_look(int file, const struct ux_sandbox_limits *limits, const char *program,
			     struct ux_sandbox_found *ret, struct ux_error *err) ux_must;

/*
 * Unpacks an archive of sources (bundle.h) into the empty file out in the format of
 * source_pack.h, in a confined child. limits->output bounds the unpacked bytes. Codes as of
 * ux_bundle_unpack() and as above. The pack is untrusted.
 */
enum ux_code ux_sandbox_unpack(int archive, int out, const struct ux_sandbox_limits *limits,
			       const char *program, struct ux_error *err) ux_must;

/* Some machine code of an ELF file. */
struct ux_code_range {
	uint64_t pc; /* of the first instruction; odd: Thumb code of the even one before */
	uint64_t size;
};

/*
 * The name of a machine (EM_*) and of the syntax of its disassembly. False: there is no
 * disassembler for it.
 */
bool ux_code_machine(uint16_t machine, const char **ret_name, const char **ret_syntax);

/*
 * Writes the instructions that begin in the range into the empty file out, in a confined child:
 * for each its offset from the first (u32), the bytes of its text (u16) and the text, in the
 * byte order of this machine. UX_EUNSUPPORTED: code of another machine, or there is no
 * disassembler here; UX_ENOTFOUND: the file has no bytes there. The output is untrusted.
 */
enum ux_code ux_sandbox_disassemble(int elf, const struct ux_code_range *range, int out,
				    const struct ux_sandbox_limits *limits, const char *program,
				    struct ux_error *err) ux_must;

/* Checks the magic number of a file to extract. UX_EUNSUPPORTED: it is no ELF file. */
enum ux_code ux_sandbox_check(struct ux_bytes file, struct ux_error *err) ux_must;

/* The child's life, from its one request to its one reply; returns the status to exit with. */
int ux_sandbox_main(void);

#endif
