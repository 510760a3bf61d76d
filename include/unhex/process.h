/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolizing addresses of live processes: in mapped files, in code made at run time, in the
 * kernel.
 */
#ifndef UNHEX_PROCESS_H
#define UNHEX_PROCESS_H

#include <sys/types.h>

#include <unhex/api.h>
#include <unhex/error.h>
#include <unhex/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A live process. Any number of threads may look up at the same time. It may be closed when no
 * other thread uses it any more.
 */
struct ux_process;

/*
 * Symbols that several processes share, so that a library that many of them map is read once.
 * Thread-safe.
 */
struct ux_process_cache;

/*
 * Finds the debug file of a build ID ("gnu:HEX") that is not on this machine, for example on a
 * server. *ret_path is malloc'ed. UX_ENOTFOUND: no such file. Any other failure but UX_ENOMEM is
 * reported in the answers (`lost`). It is called by one thread at a time.
 */
typedef enum ux_code ux_process_find_fn(void *ctx, const char *build_id, char **ret_path,
					struct ux_error *err);

/* Where symbols are searched. All zeros but for `size` is the default. */
struct ux_process_cache_opts {
	size_t size;            /* sizeof(struct ux_process_cache_opts) */
	const char *debug_dirs; /* separate debug files, "DIR:DIR"; NULL: /usr/lib/debug */
	const char
		*kernel_root; /* The folder that contains proc, sys, boot, lib/modules and
				 usr/lib/debug; the kernel's symbols are read from it. NULL: /. */
	ux_process_find_fn
		*find; /* called for debug files that are not in debug_dirs; may be NULL */
	void *find_ctx;
};

/*
 * All zeros but for `size` is the default; see struct ux_extract_opts for how structs of other
 * versions are handled.
 */
struct ux_process_opts {
	size_t size;                    /* sizeof(struct ux_process_opts) */
	struct ux_process_cache *cache; /* NULL: the process gets a cache of its own */
	uint32_t refresh_ms; /* minimum time between two reads of the process's mappings; 0: 100 */
	uint32_t flags;      /* must be 0 */
	const char *vmlinux; /* The running kernel's ELF file, for lines and inlined calls of kernel
				addresses. NULL: the file is used if the system has it in a usual
				location. */
};

/* The kind of code that an address belongs to. */
enum ux_process_kind {
	UX_PROCESS_NOTHING, /* not mapped, or nothing is known about it */
	UX_PROCESS_FILE,    /* a file that the process has mapped */
	UX_PROCESS_JIT,     /* code made at run time, from a perf map or a jitdump */
	UX_PROCESS_VDSO,   /* code that the kernel maps into each process; also the vsyscall page */
	UX_PROCESS_KERNEL, /* the kernel, its modules, its BPF programs */
	UX_PROCESS_KIND_COUNT
};

/* Why an answer has no frames. The numbers are stable; new ones are appended. */
enum ux_process_reason {
	UX_PROCESS_REASON_NONE,     /* the answer has frames, or the address was normalized */
	UX_PROCESS_REASON_UNMAPPED, /* nothing is mapped there; see retry_ms */
	UX_PROCESS_REASON_NOT_CODE, /* data, or a part of a file or of the kernel without code */
	UX_PROCESS_REASON_RUNTIME_CODE, /* executable memory that no perf map or jitdump describes;
					   see retry_ms */
	UX_PROCESS_REASON_NO_SYMBOLS,   /* the file has no symbols, and no debug file was found */
	UX_PROCESS_REASON_NO_FUNCTION,  /* the file has symbols, but no function there */
	UX_PROCESS_REASON_UNREADABLE,   /* a file or the kernel's list is hidden, or gone */
	UX_PROCESS_REASON_UNSUPPORTED,  /* damaged, too large, or not an ELF file */
	UX_PROCESS_REASON_KERNEL,       /* an address of the kernel cannot be normalized */
	UX_PROCESS_REASON_NO_CALL,      /* 0x0 as a return address */
	UX_PROCESS_REASON_COUNT
};

/* "none", "unmapped", "not code", "run-time code", "no symbols", "no function", "unreadable",
 * "unsupported", "kernel", "no call"; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_process_reason_name(enum ux_process_reason reason);

/* "nothing", "file", "jit", "vdso", "kernel"; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_process_kind_name(enum ux_process_kind kind);

/*
 * The answer for one address. The library allocates it, and later versions append fields. The
 * strings are never NULL. `module` is the file's path as the
 * process sees it, "[vdso]", "[vsyscall]", "[kernel]", "[bpf]", a kernel module such as "[ext4]",
 * or the perf map or jitdump that the symbol is from.
 */
struct ux_process_answer {
	uint64_t addr;
	enum ux_process_kind kind;
	uint32_t n;                    /* number of frames */
	const struct ux_frame *frames; /* innermost first */
	const char *module;            /* "": unknown */
	const char *build_id;          /* "gnu:HEX"; "": none, or unknown */
	uint64_t pc; /* The virtual address in the file, for files and the vDSO, and for the kernel
			and its modules when their files are available. Else the same as addr. */
	const char *reason; /* why there are no frames; "" when there are some */
	const char *lost; /* Why the answer may be incomplete, for example without lines. "": it is
			     complete. */
	enum ux_process_reason reason_code; /* `reason` for programs */
	uint32_t retry_ms; /* When the address may be found later, because a library or code is new:
			      milliseconds after which the process will be read again. 0: it will
			      not. */
	const char *id;    /* The best identity of the module, for ux_question_add(): "gnu:HEX", for
			      files without one "go:TEXT" or "file:HEX32". "": none, or unknown. */
	uint64_t function_size; /* bytes of the function that is the outermost frame; 0: unknown */
};

/* Answers and all that they point to. They stay valid after the process unloads a file or ends. */
struct ux_process_answers;

/*
 * opts may be NULL; the strings are copied. *ret is unchanged on failure. UX_EINVAL, UX_ENOMEM.
 * Since 0.1.
 */
UX_API enum ux_code ux_process_cache_create(const struct ux_process_cache_opts *opts,
					    struct ux_process_cache **ret,
					    struct ux_error *err) UX_MUST;

/*
 * Releases the caller's reference. Processes that were opened with the cache keep the parts that
 * they need. cache may be NULL. Since 0.1.
 */
UX_API void ux_process_cache_free(struct ux_process_cache *cache);

/*
 * Opens a process (or a thread, which stands for its process). When the process starts another
 * program (exec), lookups follow it. A later process with the same ID is never mistaken for it.
 * opts may be NULL; *ret is untouched on failure. UX_ENOTFOUND: no such process. UX_EDENIED:
 * reading its mappings requires the permission to trace the process. UX_ECONFLICT: the vmlinux
 * belongs to another build than the running kernel; also the codes of ux_extract_to_fn() for it.
 * err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_open(pid_t pid, const struct ux_process_opts *opts,
				    struct ux_process **ret, struct ux_error *err) UX_MUST;

/*
 * Opens only the kernel, for its addresses when no process can be opened, for example on an idle
 * processor. All other addresses are UX_PROCESS_REASON_UNMAPPED. opts may be NULL; *ret is
 * untouched on failure. UX_ECONFLICT, UX_EINVAL, UX_ENOMEM; the codes of ux_extract_to_fn() for
 * opts->vmlinux. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_open_kernel(const struct ux_process_opts *opts,
					   struct ux_process **ret, struct ux_error *err) UX_MUST;

/* Closes the process. Answers stay valid. p may be NULL. Since 0.1. */
UX_API void ux_process_close(struct ux_process *p);

/* The value of `time_ns` for the current time. */
#define UX_PROCESS_NOW UINT64_MAX

/*
 * Looks up n addresses of the process, in any order. Addresses in the upper half of the address
 * space are the kernel's. `time_ns`, of CLOCK_MONOTONIC, is when the addresses were captured; it
 * matters only for run-time code with time stamps (jitdump). UX_PROCESS_NOW is the current time.
 * flags: UX_LOOKUP_RETURN_ADDRESS (module.h).
 *
 * The first address in a file takes as long as reading the file's symbols. An unknown address
 * causes the mappings and the run-time code to be read again, as often as refresh_ms allows. When
 * the process has ended, addresses are looked up in the mappings that were read before.
 *
 * An address without symbols is not a failure. UX_ENOMEM. UX_EINVAL: an unknown flag. *ret is
 * unchanged on failure. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_lookup(struct ux_process *p, const uint64_t *addrs, size_t n,
				      uint64_t time_ns, uint32_t flags,
				      struct ux_process_answers **ret,
				      struct ux_error *err) UX_MUST;

/* One address of a batch. Zero all fields that are not needed. */
struct ux_process_address {
	uint64_t addr;
	uint64_t time_ns;  /* as in ux_process_lookup(); 0 is the current time, too */
	uint32_t flags;    /* UX_LOOKUP_RETURN_ADDRESS: for all of a stack but its first address */
	uint32_t reserved; /* must be 0 */
};

/*
 * As ux_process_lookup(), for addresses that each have their own time and flags: a whole stack is
 * one innermost address and many return addresses, and samples were captured one after another.
 * Since 0.1.
 */
UX_API enum ux_code ux_process_lookup_many(struct ux_process *p,
					   const struct ux_process_address *addresses, size_t n,
					   struct ux_process_answers **ret,
					   struct ux_error *err) UX_MUST;

/*
 * Finds out which file each address belongs to, and where in it, without reading symbols. The
 * answers have no frames. If `reason_code` is UX_PROCESS_REASON_NONE, `id` and `pc` are the
 * arguments for ux_question_add(), so that a server can answer later, on another machine, after the
 * process has ended. As in all answers, `pc` of a return address is not decremented: ask the server
 * with UX_QUESTION_RETURN_ADDRESSES. The first address in a file costs reading its headers and
 * notes, some 40 KiB.
 *
 * Code made at run time has no file (UX_PROCESS_REASON_RUNTIME_CODE), and addresses of the kernel
 * cannot be normalized (UX_PROCESS_REASON_KERNEL): use ux_process_lookup_many() for these. Codes of
 * ux_process_lookup(). Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_normalize(struct ux_process *p,
					 const struct ux_process_address *addresses, size_t n,
					 struct ux_process_answers **ret,
					 struct ux_error *err) UX_MUST;

/*
 * Reads the mappings and the run-time code now, regardless of refresh_ms, and the kernel's symbols
 * before the next lookup that needs them. Call it when new code is known to exist, for example
 * after an mmap event; lookups do it by themselves for addresses that they do not find.
 * UX_ENOTFOUND: the process has ended; the data read before stays usable. UX_EDENIED, UX_ENOMEM.
 * err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_refresh(struct ux_process *p, struct ux_error *err) UX_MUST;

/*
 * Returns the answer for addrs[i], i below n; valid until ux_process_answers_free(). Any thread.
 * Since 0.1.
 */
UX_API const struct ux_process_answer *ux_process_answer_at(const struct ux_process_answers *a,
							    size_t i);

/* Releases the object. NULL is allowed. Since 0.1. */
UX_API void ux_process_answers_free(struct ux_process_answers *a);

#ifdef __cplusplus
}
#endif
#endif
