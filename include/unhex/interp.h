/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of interpreters, read from the memory of the process they run in. */
#ifndef UNHEX_INTERP_H
#define UNHEX_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <unhex/api.h>
#include <unhex/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ux_interp_kind {
	UX_INTERP_ANY,    /* whichever of these is found first, in this order */
	UX_INTERP_PYTHON, /* CPython 3.7 to 3.15 */
	UX_INTERP_PHP,    /* PHP 8.2 and 8.4, builds without threads */
	UX_INTERP_RUBY,   /* CRuby 3.1, 3.3 */
};

/* Bytes to be read. */
struct ux_memory_piece {
	uint64_t addr;
	void *buf;
	size_t size;
};

/* Where memory comes from: a live process, a core file, a test's image. */
struct ux_memory_reader {
	/* Copies size bytes at addr; false when not all of them can be read. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* Copies n pieces as near to one instant as it can be done; false when any of them cannot
	 * be read. NULL: one after the other by `read`. */
	bool (*read_many)(void *ctx, const struct ux_memory_piece *pieces, size_t n);
	void *ctx;
};

/* Where an interpreter keeps what everything else is found from. */
struct ux_interp_root {
	enum ux_interp_kind kind; /* not UX_INTERP_ANY */
	uint64_t addr;            /* of _PyRuntime; PHP: of executor_globals; Ruby: of
        ruby_current_vm_ptr */
	uint32_t version; /* 0x030b07 is 3.11.7; 0: read from the memory itself, if it is there */
};

/*
 * One frame. Strings are UTF-8 but for bytes that a file's name has and UTF-8 does not; never NULL,
 * "" means unknown.
 */
struct ux_interp_frame {
	const char *function; /* qualified as far as the interpreter keeps that: "C.f.<locals>.g" */
	const char *file;     /* as the interpreter was given it */
	uint32_t line;        /* 0 when unknown */
	uint32_t first_line;  /* of the function; 0 when unknown */
	uint64_t code;        /* address of the code object (PHP: zend_function; Ruby: iseq) */
	uint64_t offset;      /* of the instruction in it: what ux_interp_resolve() takes */
};

enum ux_interp_stack {
	UX_INTERP_STACK_WHOLE, /* read, and then found to be so at one instant */
	UX_INTERP_STACK_TORN,  /* it changed while it was read: inner frames, or all, are missing */
	UX_INTERP_STACK_TOO_DEEP, /* outer frames behind the first UX_INTERP_FRAMES_MOST are missing
				   */
};

enum {
	UX_INTERP_FRAMES_MOST = 1 << 18 /* of one thread */
};

struct ux_interp_thread {
	uint64_t handle; /* what the interpreter calls it (pthread_t); 0 when unknown */
	int32_t tid;     /* the kernel's; 0 when unknown */
	enum ux_interp_stack state;
	const struct ux_interp_frame *frames; /* innermost first */
	size_t n;                             /* 0: it runs none of the interpreter's code */
};

/* Takes one thread; it and its strings end when this returns. False ends the walk. */
typedef bool ux_interp_thread_fn(void *ctx, const struct ux_interp_thread *thread);

/* One thread at a time. */
struct ux_interp;

/*
 * Finds the interpreter in a live process: its library or executable among /proc/PID/maps, its
 * version, its state. The process runs on and is not stopped, ever. The handle belongs to the
 * program that ran when it was opened: after an exec, and after its end, everything is unknown.
 *
 * UX_ENOTFOUND: no such process, or no interpreter of that kind in it. UX_EDENIED: may not read its
 * memory (which takes what ptrace takes). UX_EUNSUPPORTED: a version or build that is not known.
 * *ret is untouched on failure; err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_interp_open_process(pid_t pid, enum ux_interp_kind kind,
					   struct ux_interp **ret, struct ux_error *err) UX_MUST;

/*
 * The same for memory of any kind, of a 64-bit process of this machine's byte order. reader->ctx
 * has to live as long as the handle. UX_ECORRUPT: at root->addr is no interpreter. Since 0.1.
 */
UX_API enum ux_code ux_interp_open_memory(const struct ux_memory_reader *reader,
					  const struct ux_interp_root *root, struct ux_interp **ret,
					  struct ux_error *err) UX_MUST;

/* NULL is fine. Since 0.1. */
UX_API void ux_interp_close(struct ux_interp *i);

/* "Python 3.11.7", "PHP 8.2", ...; lives as long as i. Since 0.1. */
UX_API const char *ux_interp_version(const struct ux_interp *i);

/*
 * What a profiler captured as (code object, instruction offset): Python's offset counts bytes from
 * the first instruction (f_lasti in 3.9 and before, twice f_lasti in 3.10, instr_ptr less the
 * address of co_code_adaptive from 3.11 on), PHP's and
 * Ruby's bytes from the first opcode. Strings live until
 * the next call with i.
 *
 * UX_ENOTFOUND: no code object is there now (any more). err may be NULL. Since 0.1.
 */
UX_API enum ux_code ux_interp_resolve(struct ux_interp *i, uint64_t code, uint64_t offset,
				      struct ux_interp_frame *ret, struct ux_error *err) UX_MUST;

/*
 * Calls fn with each thread that the interpreter knows, in the interpreter's order. What the
 * process changes meanwhile costs frames or threads, never an error: a stack is told as two
 * readings agree on it.
 *
 * UX_ENOTFOUND: the interpreter is not there (any more). UX_ELIMIT: more memory than we read in one
 * walk (512 MiB); the threads given so far are right. err may be NULL. Since 0.1.
 */
UX_API enum ux_code ux_interp_walk(struct ux_interp *i, ux_interp_thread_fn *fn, void *ctx,
				   struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
