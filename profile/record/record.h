/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records where programs spend their time: the kernel samples them at a frequency, and its records
 * are written as a perf.data file.
 */
#ifndef UX_RECORD_H
#define UX_RECORD_H

#include "error.h"

#include <sys/types.h>

enum {
	UX_RECORD_FREQUENCY = 99,        /* samples a second of each processor, the default */
	UX_RECORD_FREQUENCY_MAX = 50000, /* the kernel's own limit may be lower */
	UX_RECORD_STACK = 8192,          /* bytes of a stack that are copied, the default */
	UX_RECORD_STACK_MAX = 65528,     /* the kernel's limit */
};

/* How the callers of a sample are found. */
enum ux_record_calls {
	UX_RECORD_FRAME_POINTERS, /* the kernel follows frame pointers */
	/* registers and the top of the stack are copied, and the reader of the recording unwinds
	 * them */
	UX_RECORD_DWARF,
	UX_RECORD_NO_CALLS,
};

/* What to record: a command, a process with its threads, or everything. */
struct ux_record_options {
	char *const *command; /* its arguments, followed by NULL; NULL: start no command */
	pid_t pid;            /* 0: none */
	bool all;
	unsigned frequency;   /* 0: UX_RECORD_FREQUENCY */
	uint64_t duration_ms; /* 0: until the command or process ends, or a signal arrives */
	enum ux_record_calls calls;
	uint32_t stack_bytes; /* bytes of stack to copy for UX_RECORD_DWARF; 0: UX_RECORD_STACK */
};

/* Facts about a recording that a user should know. */
struct ux_record_result {
	uint64_t samples;
	uint64_t lost;          /* records for which there was no room */
	uint64_t bytes;         /* bytes of the recording */
	uint64_t took_ms;       /* how long it was recorded */
	bool no_counter;        /* there is no counter of cycles: a timer was used */
	bool no_kernel;         /* the kernel's code must not be sampled */
	int paranoid;           /* kernel.perf_event_paranoid */
	unsigned frequency;     /* the frequency in use */
	unsigned frequency_max; /* the kernel's limit, if it is below the requested frequency; 0: it
				   is not */
	bool small_rings;       /* the limit of locked memory allowed only small buffers */
	/* wait status of the command, as from waitpid(); -1: no command, or it still runs */
	int status;
	bool stopped; /* the command was ended by SIGTERM, because the recording ended */
};

/*
 * Records into fd, an empty file that can be written at any position. It blocks until the recording
 * has ended: after the duration, when the command or process ends, or by SIGINT, SIGTERM or SIGHUP,
 * which it takes while it records. A signal from another process is passed on to the command, and
 * with a command only the second signal ends the recording. A command that still runs then gets
 * SIGTERM. Must be called by the only thread of the process.
 *
 * UX_EDENIED: the message names the setting that would allow it. UX_ENOTFOUND: no such process or
 * command. UX_EUNSUPPORTED: the kernel has no such events. UX_EINVAL, UX_ELIMIT, UX_EIO, UX_ENOMEM.
 * Source: perf_event_open(2).
 */
enum ux_code ux_record(const struct ux_record_options *options, int fd,
		       struct ux_record_result *ret, struct ux_error *err) ux_must;

#endif
