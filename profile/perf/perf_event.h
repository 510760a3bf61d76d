/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a recording, and their samples: the meaning of each field of a record. */
#ifndef UX_PERF_EVENT_H
#define UX_PERF_EVENT_H

#include "cursor.h"
#include "perf_fields.h"
#include "profile.h"

/* The fields of perf_event_attr that the reader needs. */
struct ux_perf_attr {
	uint32_t type;
	uint32_t size; /* in the file */
	uint64_t config;
	uint64_t period; /* or the frequency */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags; /* bit n is flag number n, in either byte order */
	uint64_t branch_type;
	uint64_t registers; /* mask of the registers in a sample */
	int32_t clock;      /* clock of times, as clock_gettime(2) numbers them; -1: perf's own */
};

struct ux_perf_event {
	struct ux_perf_attr attr;
	uint32_t name;      /* string; 0: unknown */
	uint32_t value;     /* index of its first value in a sample */
	uint64_t period;    /* period of samples that do not have their own */
	uint32_t time_at;   /* offset of the time in a sample; 0: none */
	uint32_t time_tail; /* the same from the end of other records; 0: none */
};

UX_VEC(ux_perf_event_list, struct ux_perf_event);

/* Zeroed = empty. */
struct ux_perf_events {
	struct ux_perf_event_list list;
	struct ux_profile_numbers by_id;
	uint32_t id_at;   /* offset of the ID in a sample; 0: none */
	uint32_t id_tail; /* the same from the end of other records */
};

/* One record: its header, and all of its bytes, header included. */
struct ux_perf_record {
	struct ux_bytes bytes;
	uint32_t type;
	uint16_t misc;
};

enum {
	UX_PERF_RECORD_HEAD = 8,    /* bytes of a record's header */
	UX_PERF_RECORD_MAX = 65535, /* bytes of a record */
	UX_PERF_ATTR_MIN = 64,      /* bytes of the first version of perf_event_attr */
	UX_PERF_EVENTS_MAX = 65536, /* there are thousands of tracepoints */
};

struct ux_perf_sample {
	uint64_t ip;
	uint64_t time;
	uint64_t period;
	uint32_t pid;
	uint32_t tid;
	struct ux_bytes chain;     /* entries of 8 bytes */
	struct ux_bytes branches;  /* entries of 24 bytes, the newest first */
	uint64_t user_ip;          /* from the registers; 0: none */
	struct ux_bytes registers; /* values of the registers in the event's mask; empty: none */
	bool registers32;          /* they belong to a 32-bit process */
	struct ux_bytes stack;     /* copy of the top of the user's stack */
	bool has_stack;            /* the event copies stacks, and there was one */
};

/* Numbers of the program counter among the registers of perf. */
enum {
	UX_PERF_X86_64_IP = 8,
	UX_PERF_ARM64_PC = 32,
};

/*
 * Returns the number of the program counter in a mask of registers that perf requests on x86-64 or
 * arm64. -1: another mask.
 */
int ux_perf_ip_register(uint64_t mask);

/* Reads an attr; fields that the file's version lacks are zeroed. UX_ECORRUPT. */
enum ux_code ux_perf_attr_parse(struct ux_bytes bytes, bool swap, struct ux_perf_attr *ret,
				struct ux_error *err) ux_must;

/* Adds an event. UX_ELIMIT, UX_ENOMEM. */
enum ux_code ux_perf_events_add(struct ux_perf_events *e, const struct ux_perf_attr *attr,
				struct ux_error *err) ux_must;

/* Assigns an ID to the event that was added last. UX_ENOMEM. */
enum ux_code ux_perf_events_add_id(struct ux_perf_events *e, uint64_t id, struct ux_error *err)
	ux_must;
void ux_perf_events_deinit(struct ux_perf_events *e);

/* Returns the event of a record, or NULL; *ret_time is the record's time; 0: none. */
const struct ux_perf_event *ux_perf_events_find(const struct ux_perf_events *e,
						const struct ux_perf_record *record, bool swap,
						uint64_t *ret_time);

/* Reads a sample. UX_ECORRUPT, with the offset in the record. */
enum ux_code ux_perf_sample_parse(const struct ux_perf_event *event,
				  const struct ux_perf_record *record, bool swap,
				  struct ux_perf_sample *ret, struct ux_error *err) ux_must;

#endif
