/* SPDX-License-Identifier: Apache-2.0 */
/* The state of reading a perf.data file, which its parts share. */
#ifndef UX_PERF_READER_H
#define UX_PERF_READER_H

#include "perf_data.h"
#include "perf_process.h"
#include "profile_jit.h"
#include "profile_unwind.h"

/* An entry of the table of build IDs. */
struct ux_perf_file_id {
	uint32_t path; /* string */
	struct ux_id id;
};

UX_VEC(ux_perf_file_ids, struct ux_perf_file_id);

/* An address of a callchain. */
struct ux_perf_link {
	uint64_t address;
	uint32_t stack;    /* of the profile: this one and its callers */
	uint16_t unmapped; /* how many of these are in no mapping */
	uint8_t mode;      /* enum ux_perf_mode */
	bool returns;      /* it is a return address */
};

UX_VEC(ux_perf_links, struct ux_perf_link);

UX_VEC(ux_perf_words, uint64_t);

/*
 * Callchains that were seen last, by thread: the next one of the thread mostly has the same outer
 * callers, which are not looked up again.
 */
struct ux_perf_recent {
	uint64_t space;  /* version of the process's space */
	uint64_t before; /* of that before the last exec */
	uint64_t kernel; /* version of the kernel's */
	struct ux_perf_links links;
	struct ux_perf_words words; /* as in the file: the links are these and no others; or none */
};

enum {
	UX_PERF_RECENT = 64,
};

/* Of a stack: the address that called it on last, in which version of its space, and the result. */
struct ux_perf_next {
	uint64_t version;
	struct ux_perf_link link;
};

UX_VEC(ux_perf_nexts, struct ux_perf_next);

struct ux_perf_reader {
	struct ux_profile *profile;
	struct ux_perf_summary *summary;
	struct ux_profile_unwind *unwind; /* NULL: copies of stacks are not unwound */
	struct ux_profile_jit *jit;       /* NULL: jitdumps are not read */
	uint64_t jit_time; /* of the sample that is being read, by the clock of jitdumps; 0: its
			      time is of another clock */
	struct ux_perf_events events;
	struct ux_perf_processes processes;
	struct ux_perf_file_ids ids;
	struct ux_perf_inode_ids inode_ids;
	struct ux_perf_links links; /* of the sample that is being read */
	struct ux_perf_recent recent[UX_PERF_RECENT];
	struct ux_perf_nexts nexts; /* by stack; may be shorter than the stacks */
	bool has_types;             /* the profile's types are decided: there was a sample */
	bool one_value;             /* there are too many events for values of their own */
	uint64_t first_time;        /* of samples */
	uint64_t last_time;
	uint64_t wall_ns; /* wall clock at time clock_ns of the recording; 0: unknown */
	uint64_t clock_ns;
	bool swap;
};

/* --- perf_sample.c ---------------------------------------------------------------------------- */

/* Adds a sample to the profile. UX_ECORRUPT: it is damaged. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_perf_reader_sample(struct ux_perf_reader *r, const struct ux_perf_event *event,
				   const struct ux_perf_record *record, struct ux_error *err)
	ux_must;

/* Sets names and units of values and the times, when all has been read. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_perf_reader_finish_types(struct ux_perf_reader *r, struct ux_error *err) ux_must;
void ux_perf_reader_deinit_samples(struct ux_perf_reader *r);

/* --- perf_unwind.c ---------------------------------------------------------------------------- */

/*
 * Unwinds the copy of a stack. *ret_n is 0 when the sample has none, or of an unknown machine, or
 * when nothing is unwound; the frames are valid until the next call. UX_ENOMEM.
 */
enum ux_code ux_perf_reader_unwind(struct ux_perf_reader *r, const struct ux_perf_event *event,
				   const struct ux_perf_sample *sample,
				   const struct ux_perf_process *process,
				   const struct ux_unwind_frame **ret, size_t *ret_n,
				   struct ux_error *err) ux_must;

/* --- perf_feature.c --------------------------------------------------------------------------- */

/* Whether a feature's section is read. */
bool ux_perf_feature_is_read(uint64_t feature);

/* Takes the section of a feature. UX_ECORRUPT, UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_perf_reader_feature(struct ux_perf_reader *r, uint64_t feature,
				    struct ux_bytes bytes, struct ux_error *err) ux_must;

/* Takes one entry of the table of build IDs, which has the form of a record. As above. */
enum ux_code ux_perf_reader_build_id(struct ux_perf_reader *r, const struct ux_perf_record *record,
				     struct ux_error *err) ux_must;

/* Takes the name of an event, a record EVENT_UPDATE. As above. */
enum ux_code ux_perf_reader_update(struct ux_perf_reader *r, const struct ux_perf_record *record,
				   struct ux_error *err) ux_must;

/* Gives the modules without an ID one of the tables, by inode or by path. UX_ENOMEM. */
enum ux_code ux_perf_reader_finish_ids(struct ux_perf_reader *r, struct ux_error *err) ux_must;

#endif
