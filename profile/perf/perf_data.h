/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, which Linux's perf writes: into a file, or through a pipe, in which the sections of
 * the file's header are records. docs/formats/perf-data.md says what is read.
 */
#ifndef UX_PERF_DATA_H
#define UX_PERF_DATA_H

#include "profile.h"

struct ux_profile_jit;
struct ux_profile_unwind;

/* Where the bytes come from. They are read once, from the first to the last. */
struct ux_perf_source {
	struct ux_bytes head; /* bytes that the caller has read already, or all of them */
	int fd;               /* what follows, at its position; not closed here; -1: nothing */
	struct ux_profile_unwind *unwind; /* unwinds copies of stacks; NULL: their leaf is kept */
	struct ux_profile_jit *jit;       /* reads recorded jitdumps; NULL: they are not read */
};

/* What a user should know about a recording beside its profile. */
struct ux_perf_summary {
	uint64_t samples;
	uint64_t lost_records;  /* for which the kernel had no room */
	uint64_t lost_samples;  /* as the events count them; some of them are lost records too */
	uint64_t unmapped;      /* addresses in no mapping, and those of guests */
	uint64_t not_unwound;   /* samples with a copy of the stack: their leaf alone is kept */
	uint64_t unwound;       /* samples whose copy of the stack was unwound */
	uint64_t unwound_short; /* of these: the outermost callers are not in the copy */
	uint64_t cut_bytes;     /* of the largest copy of these */
	uint64_t unwound_wrong; /* modules that were unwound by files with other build IDs */
	uint64_t unwound_lost;  /* of the unwound: they end in code without unwind tables */
	uint64_t untimed;       /* addresses of run-time code, where the last code there is taken:
				   the recording has no times of the jitdump's clock */
	uint64_t unsure;        /* those that were looked up by times of a clock that the text of
				   perf script does not name */
	uint64_t deferred;      /* samples of which the callers are in a record that is not read */
	uint64_t late;          /* records that came after later ones were used */
	uint64_t unkept_mappings; /* beyond the limit of mappings */
	uint64_t auxtrace_bytes;  /* of hardware traces, which were skipped */
	uint64_t unknown_records; /* of types that this reader does not know */
	uint32_t unknown_type;    /* of the first one of these */
	uint64_t damaged_records; /* left out, because their content is damaged */
	struct ux_error damage;   /* the first damage, with its offset; UX_OK: there is none */
	bool truncated;           /* the rest of the recording is missing */
	bool pipe;                /* it was written into a pipe */
	bool swapped;             /* it has the other byte order than this machine */
	uint32_t host;            /* strings of the profile; 0: unknown */
	uint32_t os_release;
	uint32_t arch;
};

/* Whether a file that begins so is perf.data. 8 bytes are enough. */
bool ux_perf_data_is(struct ux_bytes head);

/*
 * Reads a recording into an empty profile; p->keep_times may be set. What is complete is kept: a
 * file that ends too early, or that is damaged behind its header, gives UX_OK and the damage in
 * *ret. Beside the profile it needs at most UX_PERF_WAITING_MAX bytes for records that wait for
 * earlier ones, and the mappings of the processes that were alive.
 *
 * Values of a sample: for each event, 1 and its period. With more than half of
 * UX_PROFILE_VALUES_MAX events: the 1 alone, for all of them together.
 *
 * Address kinds: files and the vdso UX_PROFILE_OFFSET; the kernel, its modules and JIT code
 * UX_PROFILE_ADDRESS. BPF programs are named. For a recorded jitdump there is a module of kind
 * UX_PROFILE_JIT with its path and process; its locations are named, by what was at their address
 * at the time of the sample.
 *
 * UX_ECORRUPT, UX_EUNSUPPORTED: it has no valid header. UX_EIO, UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_perf_data_read(struct ux_perf_source source, struct ux_profile *p,
			       struct ux_perf_summary *ret, struct ux_error *err) ux_must;

#endif
