/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, which Linux's perf writes: into a file, or through a pipe, where records replace the
 * sections of the file's header. docs/formats/perf-data.md lists the parts that are read.
 */
#ifndef UX_PERF_DATA_H
#define UX_PERF_DATA_H

#include "profile.h"

struct ux_profile_jit;
struct ux_profile_unwind;

/* The source of the bytes. They are read once, from first to last. */
struct ux_perf_source {
	struct ux_bytes head; /* bytes that the caller has already read, or all of them */
	int fd;               /* the rest, at its position; not closed here; -1: nothing */
	struct ux_profile_unwind
		*unwind;            /* unwinds copies of stacks; NULL: only their leaf is kept */
	struct ux_profile_jit *jit; /* reads recorded jitdumps; NULL: they are not read */
};

/* Facts about a recording that a user should know, besides its profile. */
struct ux_perf_summary {
	uint64_t samples;
	uint64_t lost_records; /* records for which the kernel had no room */
	/* lost samples as the events count them; some are lost records too */
	uint64_t lost_samples;
	uint64_t unmapped;    /* addresses in no mapping, and addresses of guests */
	uint64_t not_unwound; /* samples with a copy of the stack; only their leaf is kept */
	uint64_t unwound;     /* samples whose copy of the stack was unwound */
	/* unwound samples whose outermost callers are not in the copied part of the stack */
	uint64_t unwound_short;
	uint64_t cut_bytes;     /* bytes of the largest copy among these */
	uint64_t unwound_wrong; /* modules that were unwound with files that have other build IDs */
	uint64_t unwound_lost;  /* unwound samples that end in code without unwind tables */
	uint64_t untimed;       /* addresses of run-time code that got the last code there: the
				   recording has no times of the jitdump's clock */
	uint64_t unsure;        /* addresses that were looked up by times of a clock that perf
				   script's text does not name */
	uint64_t deferred;      /* samples whose callers are in a record that is not read */
	uint64_t late;          /* records that came after later ones were used */
	uint64_t unkept_mappings; /* mappings beyond the limit */
	uint64_t auxtrace_bytes;  /* bytes of hardware traces, which were skipped */
	uint64_t unknown_records; /* records of types that this reader does not know */
	uint32_t unknown_type;    /* the first of these types */
	uint64_t damaged_records; /* records that were skipped because their content is damaged */
	struct ux_error damage;   /* the first damage, with its offset; UX_OK: none */
	bool truncated;           /* the rest of the recording is missing */
	bool pipe;                /* it was written into a pipe */
	bool swapped;             /* it has the other byte order than this machine */
	uint32_t host;            /* strings of the profile; 0: unknown */
	uint32_t os_release;
	uint32_t arch;
};

/* Returns whether a file that begins with `head` is perf.data. 8 bytes are enough. */
bool ux_perf_data_is(struct ux_bytes head);

/*
 * Reads a recording into an empty profile; p->keep_times may be set. Complete records are kept: a
 * file that ends too early, or that is damaged after its header, gives UX_OK and the damage in
 * *ret. Besides the profile it needs at most UX_PERF_WAITING_MAX bytes for records that wait for
 * earlier ones, and the mappings of the processes that were alive.
 *
 * Values of a sample: for each event, 1 and its period. With more than half of
 * UX_PROFILE_VALUES_MAX events: only the 1, for all of them together.
 *
 * Address kinds: files and the vdso UX_PROFILE_OFFSET; the kernel, its modules and JIT code
 * UX_PROFILE_ADDRESS. BPF programs are named. For a recorded jitdump there is a module of kind
 * UX_PROFILE_JIT with its path and process; its locations are named after the code that was at
 * their address at the time of the sample.
 *
 * UX_ECORRUPT, UX_EUNSUPPORTED: it has no valid header. UX_EIO, UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_perf_data_read(struct ux_perf_source source, struct ux_profile *p,
			       struct ux_perf_summary *ret, struct ux_error *err) ux_must;

#endif
