/* SPDX-License-Identifier: Apache-2.0 */
/* The state of reading a perf.data file, shared by its parts. */
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
	uint32_t stack;    /* the profile's stack of this address and its callers */
	uint16_t unmapped; /* how many of its addresses are in no mapping */
	uint8_t mode;      /* enum ux_perf_mode */
	bool returns;      /* it is a return address */
};

UX_VEC(ux_perf_links, struct ux_perf_link);

UX_VEC(ux_perf_words, uint64_t);

/*
 * The latest callchains by thread: the thread's next one usually has the same outer callers, which
 * are not looked up again.
 */
struct ux_perf_recent {
	uint64_t space;  /* version of the process's space */
	uint64_t before; /* version of the space before the last exec */
	uint64_t kernel; /* version of the kernel's space */
	struct ux_perf_links links;
	struct ux_perf_words words; /* as in the file: the links are exactly these; or empty */
};

enum {
	UX_PERF_RECENT = 64,
};

/* For a stack: the address that it called last, the version of that address's space, and the
 * result. */
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
	uint64_t jit_time; /* time of the current sample by the clock of jitdumps; 0: its time is of
			      another clock */
	struct ux_perf_events events;
	struct ux_perf_processes processes;
	struct ux_perf_file_ids ids;
	struct ux_perf_inode_ids inode_ids;
	struct ux_perf_links links; /* links of the current sample */
	struct ux_perf_recent recent[UX_PERF_RECENT];
	struct ux_perf_nexts nexts; /* by stack; may be shorter than the stacks */
	bool has_types;             /* the profile's types are decided: there was a sample */
	bool one_value;             /* there are too many events for separate values */
	uint64_t first_time;        /* time of the first sample */
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

/* Sets names and units of values and the times, after everything was read. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_perf_reader_finish_types(struct ux_perf_reader *r, struct ux_error *err) ux_must;
void ux_perf_reader_deinit_samples(struct ux_perf_reader *r);

/* --- perf_unwind.c ---------------------------------------------------------------------------- */

/*
 * Unwinds the copy of a stack. *ret_n is 0 if the sample has none, if it is of an unknown machine,
 * or if nothing is unwound; the frames are valid until the next call. UX_ENOMEM.
 */
enum ux_code ux_perf_reader_unwind(struct ux_perf_reader *r, const struct ux_perf_event *event,
				   const struct ux_perf_sample *sample,
				   const struct ux_perf_process *process,
				   const struct ux_unwind_frame **ret, size_t *ret_n,
				   struct ux_error *err) ux_must;

/* --- perf_feature.c --------------------------------------------------------------------------- */

/* Returns whether a feature's section is read. */
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

/* Gives modules without an ID one from the tables, by inode or by path. UX_ENOMEM. */
enum ux_code ux_perf_reader_finish_ids(struct ux_perf_reader *r, struct ux_error *err) ux_must;

#endif
