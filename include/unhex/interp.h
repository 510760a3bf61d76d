/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of interpreted code, read from the memory of the interpreter's process. */
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
	UX_INTERP_ANY,    /* the first of these that is found, in this order */
	UX_INTERP_PYTHON, /* CPython 3.7 to 3.15 */
	UX_INTERP_PHP,    /* PHP 8.2 and 8.4, builds without threads */
	UX_INTERP_RUBY,   /* CRuby 3.1, 3.3 */
};

/* A range of memory to read, and the buffer for its bytes. */
struct ux_memory_piece {
	uint64_t addr;
	void *buf;
	size_t size;
};

/* How memory is read: from a live process, a core file or a test's image. */
struct ux_memory_reader {
	/* Copies size bytes at addr; false when not all of them can be read. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/*
	 * Copies n pieces as close to one instant as possible; false when any of them cannot be
	 * read. NULL: `read` is called for each piece.
	 */
	bool (*read_many)(void *ctx, const struct ux_memory_piece *pieces, size_t n);
	void *ctx;
};

/* The address of the interpreter's global state, which leads to all other data. */
struct ux_interp_root {
	enum ux_interp_kind kind; /* not UX_INTERP_ANY */
	uint64_t addr;            /* address of _PyRuntime; PHP: of executor_globals; Ruby: of
				     ruby_current_vm_ptr */
	uint32_t version; /* 0x030b07 is 3.11.7. 0: the version is read from the memory, if it is
			     stored there. */
};

/*
 * One frame. Strings are never NULL; "" means unknown. They are UTF-8, except that a file name may
 * contain bytes that are not valid UTF-8.
 */
struct ux_interp_frame {
	const char *function; /* qualified if the interpreter stores qualified names:
				 "C.f.<locals>.g" */
	const char *file;     /* the path that was given to the interpreter */
	uint32_t line;        /* 0 when unknown */
	uint32_t first_line;  /* line of the function; 0 when unknown */
	uint64_t code;        /* address of the code object (PHP: zend_function; Ruby: iseq) */
	uint64_t offset; /* offset of the instruction in the code object, as ux_interp_resolve()
			    takes it */
};

enum ux_interp_stack {
	UX_INTERP_STACK_WHOLE, /* complete, and consistent at one instant */
	UX_INTERP_STACK_TORN, /* it changed while it was read: the inner frames, or all of them, are
				 missing */
	UX_INTERP_STACK_TOO_DEEP, /* only the innermost UX_INTERP_FRAMES_MAX frames were read */
};

enum {
	UX_INTERP_FRAMES_MAX = 1 << 18 /* most frames of one thread */
};

/* One thread. The library allocates it, and later versions append fields. */
struct ux_interp_thread {
	uint64_t
		handle; /* the interpreter's identifier of the thread (pthread_t); 0 when unknown */
	int32_t tid;    /* the kernel's thread ID; 0 when unknown */
	enum ux_interp_stack state;
	const struct ux_interp_frame *frames; /* innermost first */
	size_t n;                             /* 0: the thread runs no interpreted code */
	uint64_t interpreter; /* CPython: the number of the interpreter, as its modules use it. 0:
				 the main one. A thread that runs code of several interpreters is
				 reported once for each. Other languages: 0. */
};

/*
 * Receives one thread. The struct and its strings are valid only during the call. Returning false
 * ends the walk.
 */
typedef bool ux_interp_thread_fn(void *ctx, const struct ux_interp_thread *thread);

/* An open interpreter. Not thread-safe. */
struct ux_interp;

/*
 * Finds the interpreter in a live process: its library or executable in /proc/PID/maps, its version
 * and its global state. The process is never stopped. The handle is bound to the program that ran
 * when it was opened: after an exec or an exit, all calls fail with UX_ENOTFOUND.
 *
 * UX_ENOTFOUND: no such process, or no interpreter of that kind in it. UX_EDENIED: no permission to
 * read its memory (the same permission as for ptrace is required). UX_EUNSUPPORTED: an unknown
 * version or build of the interpreter. *ret is untouched on failure; err may be NULL. Any thread.
 * Since 0.1.
 */
UX_API enum ux_code ux_interp_open_process(pid_t pid, enum ux_interp_kind kind,
					   struct ux_interp **ret, struct ux_error *err) UX_MUST;

/*
 * Opens an interpreter in memory that `reader` reads, of a 64-bit process with this machine's byte
 * order. reader->ctx must outlive the handle. UX_ECORRUPT: no interpreter at root->addr. Since 0.1.
 */
UX_API enum ux_code ux_interp_open_memory(const struct ux_memory_reader *reader,
					  const struct ux_interp_root *root, struct ux_interp **ret,
					  struct ux_error *err) UX_MUST;

/* Releases the object. NULL is allowed. Since 0.1. */
UX_API void ux_interp_close(struct ux_interp *i);

/* "Python 3.11.7", "PHP 8.2", ...; lives as long as i. Since 0.1. */
UX_API const char *ux_interp_version(const struct ux_interp *i);

/*
 * Resolves a pair of code object and instruction offset, as profilers capture it. Python's offset
 * counts bytes from the first instruction (f_lasti in 3.9 and before, twice f_lasti in 3.10,
 * instr_ptr less the address of co_code_adaptive from 3.11 on). PHP's and Ruby's offset counts
 * bytes from the first opcode. Strings are valid until the next call with i.
 *
 * UX_ENOTFOUND: no code object is at that address, or not any more. err may be NULL. Since 0.1.
 */
UX_API enum ux_code ux_interp_resolve(struct ux_interp *i, uint64_t code, uint64_t offset,
				      struct ux_interp_frame *ret, struct ux_error *err) UX_MUST;

/*
 * Calls fn with each thread that the interpreter knows, in the interpreter's order. Changes that
 * the process makes meanwhile can cost frames or threads, but are never an error: a stack is read
 * twice and reported when both results agree.
 *
 * UX_ENOTFOUND: the interpreter is gone. UX_ELIMIT: the walk needs more than 512 MiB of memory to
 * be read; the threads reported so far are correct. err may be NULL. Since 0.1.
 */
UX_API enum ux_code ux_interp_walk(struct ux_interp *i, ux_interp_thread_fn *fn, void *ctx,
				   struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
