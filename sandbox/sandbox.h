/* SPDX-License-Identifier: Apache-2.0 */
/* Reads untrusted files in a confined child process. */
#ifndef UX_SANDBOX_H
#define UX_SANDBOX_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "members.h"
#include "module_facts.h"
#include "runtime_part.h"
#include "source_hash.h"
#include "unhex/quality.h"

/* First argument with which a program runs as a child: main() must then call ux_sandbox_main(). */
#define UX_SANDBOX_WORD "--confined"

/* Files that the child reads and writes, each passed as a descriptor. */
enum ux_sandbox_file {
	/* an executable, an unstripped file, or a debug file on its own */
	UX_SANDBOX_EXE,
	UX_SANDBOX_DEBUG, /* the debug file of EXE */
	/* the file to which dwz moved common entries of the debug file; empty: it is not available
	 */
	UX_SANDBOX_SUPPLEMENTARY,
	UX_SANDBOX_SPLIT, /* archive of split files (dwo_files.h) */
	UX_SANDBOX_GSYM,  /* empty output file */
	UX_SANDBOX_SPILL, /* made for limits->disk; callers pass none */
	UX_SANDBOX_FILE_COUNT
};

/* Initializer of an array without files. */
#define UX_SANDBOX_NO_FILES            \
	{                              \
		-1, -1, -1, -1, -1, -1 \
	}

struct ux_sandbox_limits {
	uint64_t memory; /* bytes of memory in addition to the mapped files */
	/*
	 * For extractions and facts: bytes of a temporary file for data that exceed `memory`, which
	 * then bounds all anonymous memory of the child, including the program's own. 0: no file;
	 * then the program's own memory is not counted
	 */
	uint64_t disk;
	/* descriptor of that file, which is emptied first; NULL: one is made for this child */
	const int *spill;
	uint64_t output;  /* size limit of the GSYM */
	unsigned seconds; /* seconds of processor time; the wall-clock limit is twice as long */
	/* a descriptor; the child is ended when it becomes readable; NULL: none */
	const int *stop;
	/*
	 * Called ten times a second while the child works, with its process ID, by the thread that
	 * waits for it. It may stop the child and let it continue. The time until it returns does
	 * not count. NULL: none.
	 */
	void (*pace)(void *ctx, int child);
	void *pace_ctx;
	/* forks the child; NULL: a program is executed for each child */
	struct ux_fork_server *forks;
};

/*
 * A process that is loaded once and forks each child, which saves the time to load a program: most
 * of the cost of a small file. It reads no file. Each child still reads the files of one task, and
 * is confined, waited for, bounded and ended like an executed one; but all children have the same
 * layout of addresses.
 */
struct ux_fork_server;

/*
 * program: see ux_sandbox_extract(). The calling thread must live until the process ends or
 * ux_fork_server_stop() was called, since children end with it. A fork server that has died is
 * started again by the next task.
 */
enum ux_code ux_fork_server_start(struct ux_fork_server **ret, const char *program,
				  struct ux_error *err) ux_must;

/* No task may use it any more. NULL is allowed. */
void ux_fork_server_stop(struct ux_fork_server *f);

enum {
	UX_SANDBOX_LINK_MAX = 255, /* bytes of the path of a supplementary file */
};

enum {
	UX_SANDBOX_HAS_CODE = 1 << 0,    /* it is not a debug file */
	UX_SANDBOX_HAS_DEBUG = 1 << 1,   /* .debug_info or .symtab */
	UX_SANDBOX_HAS_SECTIONS = 1 << 2 /* section headers */
};

/* Layers of confinement that a kernel may lack; the child reads files without them too. */
enum {
	UX_SANDBOX_LACKS_LANDLOCK = 1 << 0,
	UX_SANDBOX_LACKS_NAMESPACE = 1 << 1,
	UX_SANDBOX_LACKS_CAPABILITIES = 1 << 2, /* the child could not drop its own */
};

struct ux_sandbox_found {
	struct ux_id_set
		ids; /* IDs of EXE: GNU, Go and UUID as stored in it; its File ID if it has code */
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t text_bytes;  /* total size of executable sections */
	uint64_t gsym_bytes;  /* size of the output */
	unsigned has;         /* UX_SANDBOX_HAS_* bits of EXE */
	unsigned debug_has;   /* the same for DEBUG */
	struct ux_error lost; /* the first damaged part that was skipped; code UX_OK: none */
	/* GNU build ID of the supplementary file that the debug information refers to; size 0: none
	 */
	struct ux_id supplementary;
	/* the path in that reference, unchanged; "": it is longer */
	char supplementary_path[UX_SANDBOX_LINK_MAX + 1];
	bool needs_supplementary; /* nothing was extracted, because this file was not passed */
	uint64_t split_units;     /* units whose entries are in a .dwo or .dwp file */
	uint64_t split_missing;   /* units whose .dwo file was not available */
	bool out_of_time;         /* set with UX_ELIMIT: more seconds may help */
	unsigned lacks;           /* UX_SANDBOX_LACKS_* bits of the child's confinement */
};

/*
 * Extracts in a confined child, whose limits the kernel enforces. The child has the given
 * descriptors (-1: none; EXE and GSYM are required) and no other files, no network and no
 * privileges. program is the executable that is started; NULL: this one (/proc/self/exe), whose
 * main() handles UX_SANDBOX_WORD.
 *
 * When the debug information refers to a supplementary file and none was passed, nothing is
 * extracted: UX_OK with needs_supplementary. The call is to be repeated with that file, or with an
 * empty one if it cannot be found.
 *
 * Codes of ux_extract(), with ids and `has` in *ret even on failure; UX_ELIMIT: it exceeded the
 * limits on time, memory or output; UX_ECORRUPT: it crashed because of the input; UX_EUNAVAILABLE:
 * no child can be confined on this machine, or the child was stopped. The resulting GSYM is
 * untrusted: verify it. Any thread. The call waits for the child, for at most twice
 * limits->seconds.
 */
enum ux_code ux_sandbox_extract(const int files[UX_SANDBOX_FILE_COUNT],
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err) ux_must;

/*
 * Inspects one file in a confined child: sets ids and `has` of *ret, no symbols. Codes as above;
 * UX_ECORRUPT and UX_EUNSUPPORTED for a file that is not ELF.
 */
enum ux_code ux_sandbox_inspect(int file, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_sandbox_found *ret,
				struct ux_error *err) ux_must;

/*
 * Compares a source file with its hash in the line tables of an ELF file, in a confined child. path
 * is canonical (path_canonical.h). Codes of ux_source_hash_check(), and as above.
 */
enum ux_code ux_sandbox_check_source(int elf, const char *path, const uint8_t md5[UX_MD5_BYTES],
				     const struct ux_sandbox_limits *limits, const char *program,
				     struct ux_error *err) ux_must;

/*
 * Unpacks an archive of sources (bundle.h) in a confined child into the empty file out, in the
 * format of source_pack.h. limits->output bounds the size of the unpacked files. Codes of
 * ux_bundle_unpack(), and as above. The result is untrusted.
 */
enum ux_code ux_sandbox_unpack(int archive, int out, const struct ux_sandbox_limits *limits,
			       const char *program, struct ux_error *err) ux_must;

/* --- files inside of other files: members of archives ----------------------------------------- */

/* A part of an open file, which may be compressed. size 0: none. */
struct ux_sandbox_part {
	int fd;
	uint64_t off;
	uint64_t size;
};

/*
 * Unpacks the members of an archive in a confined child into the empty file out, as
 * ux_members_unpack() does. limits->output bounds the size of the pack. Codes of
 * ux_members_unpack() and ux_sandbox_extract(). The pack is untrusted.
 */
enum ux_code ux_sandbox_members(const struct ux_sandbox_part *archive, enum ux_members_mode mode,
				int out, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_error *err) ux_must;

enum {
	UX_SANDBOX_FACTS_MAX = 4096 /* modules of one file: slices, and cubins of a program */
};

/*
 * Reads the facts about the modules in a file in a confined child, and, unless no_gpu, about the
 * GPU code in it. scratch is an empty file. The facts are checked as far as possible without
 * reading the file. Codes of ux_module_facts_read() and ux_sandbox_extract().
 */
enum ux_code ux_sandbox_facts(const struct ux_sandbox_part *file, bool no_gpu, int scratch,
			      const struct ux_sandbox_limits *limits, const char *program,
			      struct ux_module_facts_vec *ret, struct ux_error *err) ux_must;

struct ux_sandbox_symbols {
	struct ux_sandbox_part exe;
	struct ux_sandbox_part debug;         /* the file with the symbols; size 0: exe */
	struct ux_sandbox_part supplementary; /* see ux_sandbox_extract() */
	/* the supplementary file is not available: names in it are lost */
	bool no_supplementary;
	struct ux_sandbox_part split; /* see UX_SANDBOX_SPLIT; size 0: none */
	const char *arch;             /* slice of a Mach-O file; NULL: none */
	unsigned gpu;                 /* number of the GPU code object; 0: exe itself */
	bool allow_mismatch;
	bool no_dwarf; /* read only symbol tables and Go's tables */
};

/*
 * Extracts the symbols of a module into the empty file out. As ux_sandbox_extract(), but sets only
 * quality, counts, lost, split_units, split_missing, supplementary and needs_supplementary of *ret.
 */
enum ux_code ux_sandbox_symbols(const struct ux_sandbox_symbols *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err) ux_must;

/*
 * Writes the run-time code of a perf map or jitdump to the empty file out, as
 * ux_runtime_gsym_write() does; read it with ux_runtime_part_next(). limits->output bounds it.
 * Codes of ux_runtime_gsym_write() and ux_sandbox_extract(). The result is untrusted.
 */
enum ux_code ux_sandbox_runtime(const struct ux_sandbox_part *file,
				const struct ux_runtime_request *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_error *err) ux_must;

/* A range of machine code in an ELF file. */
struct ux_code_range {
	/*
	 * address of the first instruction; an odd address means Thumb code at the even address
	 * before it
	 */
	uint64_t pc;
	uint64_t size;
	bool att; /* AT&T's syntax instead of Intel's; only for x86 */
};

/*
 * Sets the name of a machine (EM_*) and of its disassembly syntax. False: there is no disassembler
 * for it.
 */
bool ux_code_machine(uint16_t machine, const char **ret_name, const char **ret_syntax);

/*
 * Disassembles the instructions that begin in the range in a confined child into the empty file
 * out. Each record is the offset from the first instruction (u32), the address that it refers to
 * (u64), the size of the text (u16) and the text, in this machine's byte order. UX_EUNSUPPORTED:
 * the code is for another machine, or for one without AT&T's syntax, or the disassembler is not
 * installed; UX_ENOTFOUND: the file has no bytes there. The result is untrusted.
 */
enum ux_code ux_sandbox_disassemble(int elf, const struct ux_code_range *range, int out,
				    const struct ux_sandbox_limits *limits, const char *program,
				    struct ux_error *err) ux_must;

/* An instruction. The text is untrusted. */
struct ux_instruction {
	uint32_t offset; /* from the start of the range */
	uint64_t target; /* the address that it jumps to, calls, or reads; 0: none, or unknown */
	struct ux_bytes text;
};

/*
 * Takes the next instruction from the child's output. False at the end, and with err set if it is
 * damaged.
 */
bool ux_instruction_next(struct ux_bytes *left, struct ux_instruction *ret, struct ux_error *err)
	ux_must;

/* Checks the magic number of a file before extraction. UX_EUNSUPPORTED: it is not an ELF file. */
enum ux_code ux_sandbox_check(struct ux_bytes file, struct ux_error *err) ux_must;

/*
 * Confines a child that reads nothing, and returns which layers this machine lacks, for a log.
 * UX_EUNAVAILABLE: no child can be confined on this machine.
 */
enum ux_code ux_sandbox_layers(const char *program, unsigned *ret_lacks, struct ux_error *err)
	ux_must;

/*
 * The main function of the child: reads one request, sends one reply, and returns the exit status.
 */
int ux_sandbox_main(void);

#endif
