/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of live processes: of their files, of code made at run time, of the kernel. */
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
 * A live process. Any number of threads may look up at once; closing is one thread's, when no other
 * is in it any more.
 */
struct ux_process;

/* Symbols that processes share, so that a library many have mapped is read once. Any thread. */
struct ux_process_cache;

/*
 * Finds the debug file of a build ID ("gnu:HEX") that is not on this machine, as from a server:
 * *ret_path is malloc'ed. UX_ENOTFOUND: there is none; any other failure, but UX_ENOMEM, is told
 * with the answers (`lost`). Called by one thread at a time.
 */
typedef enum ux_code ux_process_find_fn(void *ctx, const char *build_id, char **ret_path,
					struct ux_error *err);

/* How symbols are found. All zeros but for `size` is the default. */
struct ux_process_cache_opts {
	size_t size;              /* sizeof(struct ux_process_cache_opts) */
	const char *debug_dirs;   /* separate debug files, "DIR:DIR"; NULL: /usr/lib/debug */
	const char *kernel_root;  /* folder with what the kernel exports and is loaded from: proc,
				     sys, boot, lib/modules, usr/lib/debug; NULL: / */
	ux_process_find_fn *find; /* of debug files that are nowhere there; NULL: none */
	void *find_ctx;
};

/* All zeros but for `size` is the default; see struct ux_extract_opts for versions. */
struct ux_process_opts {
	size_t size;                    /* sizeof(struct ux_process_opts) */
	struct ux_process_cache *cache; /* NULL: one of its own */
	uint32_t refresh_ms; /* what has changed is looked for this often at most; 0: 100 */
	uint32_t flags;      /* none yet */
	const char *vmlinux; /* the running kernel's ELF file, for lines and inlined calls of kernel
				addresses; NULL: where the system has it, if it does */
};

/* What an address belongs to. */
enum ux_process_kind {
	UX_PROCESS_NOTHING, /* not mapped, or nothing is known of it */
	UX_PROCESS_FILE,    /* a file it has mapped */
	UX_PROCESS_JIT,     /* code made at run time, from a perf map or a jitdump */
	UX_PROCESS_VDSO,    /* code that the kernel gives each process; with the vsyscall page */
	UX_PROCESS_KERNEL,  /* the kernel, its modules, its BPF programs */
	UX_PROCESS_KIND_COUNT
};

/* "nothing", "file", "jit", "vdso", "kernel"; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_process_kind_name(enum ux_process_kind kind);

/*
 * The answer for one address. The strings are never NULL. `module` is the path as the process sees
 * it; "[vdso]", "[vsyscall]"; "[kernel]", "[ext4]", "[bpf]"; the perf map or jitdump it is from.
 */
struct ux_process_answer {
	uint64_t addr;
	enum ux_process_kind kind;
	uint32_t n;                    /* frames */
	const struct ux_frame *frames; /* innermost first */
	const char *module;            /* "": unknown */
	const char *build_id;          /* "gnu:HEX"; "": none, or unknown */
	uint64_t pc;        /* in a file and the vDSO, and in the kernel and its modules where
			       their files are there: the virtual address in the file; else addr */
	const char *reason; /* why there are no frames; "" when there are some */
	const char *lost;   /* why there may be less than there could be, such as no line; "" */
};

/* Answers, with all they point to: also what the process has unloaded since. */
struct ux_process_answers;

/* opts may be NULL; strings are copied. *ret is untouched on failure. UX_EINVAL, UX_ENOMEM.
 * Since 0.1. */
UX_API enum ux_code ux_process_cache_create(const struct ux_process_cache_opts *opts,
					    struct ux_process_cache **ret,
					    struct ux_error *err) UX_MUST;

/* Processes that were opened with it keep what they need. NULL is fine. Since 0.1. */
UX_API void ux_process_cache_free(struct ux_process_cache *cache);

/*
 * Opens a process (or a thread, which stands for its process). It is followed when it runs another
 * program, and never mistaken for a later one of the same number. opts may be NULL; *ret is
 * untouched on failure. UX_ENOTFOUND: no such process. UX_EDENIED: whoever may not trace the
 * process may not read its mappings. UX_ECONFLICT: the vmlinux is of another build than the running
 * kernel; the codes of ux_extract_to_fn() for it. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_open(pid_t pid, const struct ux_process_opts *opts,
				    struct ux_process **ret, struct ux_error *err) UX_MUST;

/* Answers live on. NULL is fine. Since 0.1. */
UX_API void ux_process_close(struct ux_process *p);

/* The time that means now. */
#define UX_PROCESS_NOW UINT64_MAX

/*
 * Looks up n addresses as they were in the process, in any order; addresses in the upper half are
 * the kernel's. `time_ns`, of CLOCK_MONOTONIC, says when they were, for code that was made at run
 * time and has times (jitdump); UX_PROCESS_NOW. flags: UX_LOOKUP_RETURN_ADDRESS (module.h).
 *
 * The first address of a file takes as long as reading its symbols. An address that is not known
 * makes it look for new mappings and new code, as often as refresh_ms allows. When the process has
 * ended, what was seen of it still answers.
 *
 * An address without symbols is no failure. UX_ENOMEM; UX_EINVAL: an unknown flag. *ret is
 * untouched on failure. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_process_lookup(struct ux_process *p, const uint64_t *addrs, size_t n,
				      uint64_t time_ns, uint32_t flags,
				      struct ux_process_answers **ret,
				      struct ux_error *err) UX_MUST;

/* The answer for addrs[i], i below n; lives as long as a. Any thread. Since 0.1. */
UX_API const struct ux_process_answer *ux_process_answer_at(const struct ux_process_answers *a,
							    size_t i);

/* NULL is fine. Since 0.1. */
UX_API void ux_process_answers_free(struct ux_process_answers *a);

#ifdef __cplusplus
}
#endif
#endif
