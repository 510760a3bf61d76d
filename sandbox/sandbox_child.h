/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the confined child: messages, confinement, disassembler. */
#ifndef UX_SANDBOX_CHILD_H
#define UX_SANDBOX_CHILD_H

#include "base.h"
#include "elf_file.h"
#include "error.h"
#include "id.h"
#include "member_stream.h"
#include "object.h"
#include "out.h"
#include "path_canonical.h"
#include "sandbox.h"

#include <capstone/capstone.h>

enum {
	UX_SANDBOX_SOCKET = 3, /* descriptor of the socket to the parent */
	/* descriptor of the first file; they follow in the order of enum ux_sandbox_file */
	UX_SANDBOX_FILES = 4
};

enum ux_sandbox_task {
	UX_SANDBOX_EXTRACT,
	UX_SANDBOX_INSPECT,     /* inspect EXE */
	UX_SANDBOX_UNPACK,      /* EXE is an archive, GSYM is the output */
	UX_SANDBOX_DISASSEMBLE, /* disassemble code of EXE */
	UX_SANDBOX_SOURCE,      /* compare a source file with the line tables of EXE */
	UX_SANDBOX_MEMBERS,     /* EXE is an archive, GSYM is the output */
	UX_SANDBOX_FACTS,       /* facts about the modules in EXE; GSYM is the output */
	UX_SANDBOX_SYMBOLS,     /* extract, for a push */
	UX_SANDBOX_STREAM,      /* EXE is a socket with a package, GSYM gets its members */
	UX_SANDBOX_RUNTIME,     /* EXE is a perf map or jitdump, GSYM is the output */
	UX_SANDBOX_FORKS,       /* fork children for requests: ux_fork_server_loop() */
};

/* Parent and child are the same program, so both use the same layout of the messages. */
struct ux_sandbox_request {
	uint32_t size;  /* bytes of this record */
	uint32_t files; /* bits 1 << enum ux_sandbox_file of the files that are passed */
	uint64_t memory;
	uint64_t disk;
	uint64_t output;
	uint32_t seconds;
	uint32_t task;              /* enum ux_sandbox_task */
	struct ux_code_range range; /* for UX_SANDBOX_DISASSEMBLE */
	/* for UX_SANDBOX_SOURCE: canonical path and MD5 of the file */
	char source[UX_PATH_BYTES];
	uint8_t md5[UX_MD5_BYTES];
	/* the parts of the files to read; size 0: the whole file */
	struct {
		uint64_t off, size;
	} parts[UX_SANDBOX_GSYM];
	char arch[UX_OBJECT_ARCH_TEXT];
	uint32_t gpu;
	uint32_t mode; /* enum ux_members_mode */
	bool flag;     /* no_gpu or allow_mismatch */
	bool no_supplementary;
	bool no_dwarf;
	struct ux_runtime_request runtime;
	/* for UX_SANDBOX_STREAM: ux_stream_source.identity */
	uint8_t identity[UX_STREAM_IDENTITY_MAX];
	uint32_t identity_size;
};

/* The input may have taken control of the child, so the parent checks every field. */
struct ux_sandbox_reply {
	uint32_t size;
	struct ux_error err; /* code UX_OK: success */
	struct ux_sandbox_found found;
};

/* For UX_SANDBOX_STREAM, sent before the reply: a member that was written. Checked like the reply.
 */
struct ux_sandbox_member {
	uint64_t off;
	uint64_t bytes;
	uint32_t kind;            /* enum ux_member_kind */
	char name[UX_PATH_BYTES]; /* terminated */
};

/* Completes the request, which has the task, with the limits and the files. */
struct ux_sandbox_request ux_sandbox_request_make(const int *files,
						  const struct ux_sandbox_limits *limits,
						  const struct ux_sandbox_request *request);

/*
 * Checks the reply of a child, and takes its results. exe: the first file that the child got; -1:
 * the reply has no IDs. Returns the child's error; UX_ECORRUPT: the reply makes no sense.
 */
enum ux_code ux_sandbox_reply_take(struct ux_sandbox_reply *got, int exe,
				   const struct ux_sandbox_limits *limits,
				   struct ux_sandbox_found *ret, struct ux_error *err) ux_must;

/* Does the child's work for UX_SANDBOX_STREAM. Codes of ux_member_stream_read(). */
enum ux_code ux_sandbox_stream_work(const struct ux_archive_calls *calls, struct ux_bytes identity,
				    struct ux_error *err) ux_must;

/*
 * Sends a request to a fork server, with the socket for the child's UX_SANDBOX_SOCKET and the files
 * that the request names. The answer is the child's pid (int64_t), or a negative errno.
 */
bool ux_fork_request_send(int to, const struct ux_sandbox_request *request, int talk,
			  const int *files) ux_must;

/*
 * Runs the fork server. True in each child, which has its descriptors and *ret; false in the fork
 * server when no more requests come.
 */
bool ux_fork_server_loop(struct ux_sandbox_request *ret) ux_must;

struct ux_confine_limits {
	/* bytes; 0: no limit. Not used with sanitizers, whose shadow memory is larger */
	uint64_t address_space;
	uint64_t anonymous; /* bytes of anonymous memory; 0: no limit. As above */
	uint64_t file_size; /* size limit of files */
	unsigned cpu_seconds;
};

/* What confines a process besides the filter and the limits, where the kernel has and permits it.
 */
enum ux_confine_layer {
	UX_CONFINE_LANDLOCK = UX_SANDBOX_LACKS_LANDLOCK,
	UX_CONFINE_NAMESPACE = UX_SANDBOX_LACKS_NAMESPACE,
	UX_CONFINE_CAPABILITIES = UX_SANDBOX_LACKS_CAPABILITIES,
};

/*
 * Compiles the filter of system calls for ux_confine() in this process, so that its forks need not
 * compile it again. Codes of ux_confine().
 */
enum ux_code ux_confine_prepare(struct ux_error *err) ux_must;

/*
 * Confines this process and any program that it executes, irrevocably: it cannot open files,
 * connect, start processes or signal other processes. Opening fails with EACCES, because libraries
 * try it without needing it; other system calls that reading does not need end the process with
 * SIGSYS. No core is dumped, no tracer of the same user can attach, and the process ends together
 * with the parent's thread. It must be called while there is only one thread. *ret_absent: bits of
 * enum ux_confine_layer that this machine does not have, which is no failure: no capabilities (the
 * process has some), an empty user namespace, Landlock. UX_EIO, UX_EUNSUPPORTED: the kernel does
 * not support the filter; then nothing untrusted may be read. Source: seccomp(2), prctl(2),
 * getrlimit(2), landlock(7), user_namespaces(7), capabilities(7).
 */
enum ux_code ux_confine(const struct ux_confine_limits *limits, unsigned *ret_absent,
			struct ux_error *err) ux_must;

/* Functions of capstone that are used. */
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

/*
 * Loads the library for the lifetime of the process. UX_EUNSUPPORTED: it is not installed. Any
 * thread.
 */
enum ux_code ux_capstone_load(struct ux_capstone_calls *ret, struct ux_error *err) ux_must;

/*
 * Appends the instructions that begin in the range, in the format of ux_sandbox_disassemble().
 * Bytes that are not an instruction become ".byte". UX_EUNSUPPORTED: the code is for another
 * machine; UX_ENOTFOUND: the file has no bytes there.
 */
enum ux_code ux_disassemble(const struct ux_capstone_calls *calls, const struct ux_elf *elf,
			    const struct ux_code_range *range, struct ux_out *ret,
			    struct ux_error *err) ux_must;

#endif
