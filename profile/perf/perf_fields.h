/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the perf.data format. Sources: the kernel's include/uapi/linux/perf_event.h for the
 * kernel's records, tools/perf/Documentation/perf.data-file-format.txt for perf's own.
 */
#ifndef UX_PERF_FIELDS_H
#define UX_PERF_FIELDS_H

#include <stdint.h>

/* Types of records: the kernel's, then perf's own. */
enum {
	UX_PERF_MMAP = 1,
	UX_PERF_LOST = 2,
	UX_PERF_COMM = 3,
	UX_PERF_EXIT = 4,
	UX_PERF_FORK = 7,
	UX_PERF_SAMPLE = 9,
	UX_PERF_MMAP2 = 10,
	UX_PERF_LOST_SAMPLES = 13,
	UX_PERF_KSYMBOL = 17,
	UX_PERF_KERNEL_LAST = 22, /* CALLCHAIN_DEFERRED */

	/* records from here on have no time, and are not in the order of time */
	UX_PERF_USER_FIRST = 64,
	UX_PERF_HEADER_ATTR = 64,
	UX_PERF_HEADER_TRACING_DATA = 66,
	UX_PERF_HEADER_BUILD_ID = 67,
	UX_PERF_FINISHED_ROUND = 68,
	UX_PERF_AUXTRACE = 71,
	UX_PERF_EVENT_UPDATE = 78,
	UX_PERF_HEADER_FEATURE = 80,
	UX_PERF_COMPRESSED = 81,
	UX_PERF_COMPRESSED2 = 83,
	UX_PERF_USER_LAST = 84, /* BPF_METADATA */
};

/* Flags of a record's `misc`. Bit 13 means different things in different records. */
enum {
	UX_PERF_MISC_MODE = 7, /* mask of enum ux_perf_mode */
	UX_PERF_MISC_COMM_EXEC = 1 << 13,
	UX_PERF_MISC_FORK_EXEC = 1 << 13, /* perf made the record: mappings are not inherited */
	UX_PERF_MISC_MMAP_BUILD_ID = 1 << 14,
	UX_PERF_MISC_BUILD_ID_SIZE = 1 << 15,
};

/* Mode of a processor. */
enum ux_perf_mode {
	UX_PERF_MODE_UNKNOWN = 0,
	UX_PERF_MODE_KERNEL = 1,
	UX_PERF_MODE_USER = 2,
	UX_PERF_MODE_HYPERVISOR = 3,
	UX_PERF_MODE_GUEST_KERNEL = 4,
	UX_PERF_MODE_GUEST_USER = 5,
};

/* Bits of an event's sample_type, in the order in which a sample has the fields, except for
 * IDENTIFIER. */
enum {
	UX_PERF_SAMPLE_IP = 1 << 0,
	UX_PERF_SAMPLE_TID = 1 << 1,
	UX_PERF_SAMPLE_TIME = 1 << 2,
	UX_PERF_SAMPLE_ADDR = 1 << 3,
	UX_PERF_SAMPLE_READ = 1 << 4, /* comes after PERIOD */
	UX_PERF_SAMPLE_CALLCHAIN = 1 << 5,
	UX_PERF_SAMPLE_ID = 1 << 6, /* comes after ADDR */
	UX_PERF_SAMPLE_CPU = 1 << 7,
	UX_PERF_SAMPLE_PERIOD = 1 << 8,
	UX_PERF_SAMPLE_STREAM_ID = 1 << 9, /* comes before CPU */
	UX_PERF_SAMPLE_RAW = 1 << 10,
	UX_PERF_SAMPLE_BRANCH_STACK = 1 << 11,
	UX_PERF_SAMPLE_REGS_USER = 1 << 12,
	UX_PERF_SAMPLE_STACK_USER = 1 << 13,
	UX_PERF_SAMPLE_IDENTIFIER = 1 << 16, /* comes first, and last in other records */
};

/* Kind of process whose registers a sample has. 0: a kernel thread, which has none. */
enum {
	UX_PERF_ABI_32 = 1,
	UX_PERF_ABI_64 = 2,
};

/* Bits of read_format. */
enum {
	UX_PERF_READ_ENABLED = 1 << 0,
	UX_PERF_READ_RUNNING = 1 << 1,
	UX_PERF_READ_ID = 1 << 2,
	UX_PERF_READ_GROUP = 1 << 3,
	UX_PERF_READ_LOST = 1 << 4,
};

/* Bits of branch_sample_type. */
enum {
	UX_PERF_BRANCH_CALL_STACK = 1 << 11,
	UX_PERF_BRANCH_HW_INDEX = 1 << 17,
	UX_PERF_BRANCH_COUNTERS = 1 << 19,
};

/* Numbers of bits in the flags of perf_event_attr. */
enum {
	UX_PERF_ATTR_FREQ = 10,
	UX_PERF_ATTR_SAMPLE_ID_ALL = 18,
	UX_PERF_ATTR_USE_CLOCKID = 25,
};

/* Types of events, and software events. */
enum {
	UX_PERF_TYPE_HARDWARE = 0,
	UX_PERF_TYPE_SOFTWARE = 1,
	UX_PERF_SW_CPU_CLOCK = 0,
	UX_PERF_SW_TASK_CLOCK = 1,
	UX_PERF_SW_DUMMY = 9,
};

/* Entries of a callchain from here on are marks: the following code is of that mode. */
#define UX_PERF_CONTEXT_FIRST         ((uint64_t)-4095)
#define UX_PERF_CONTEXT_HYPERVISOR    ((uint64_t)-32)
#define UX_PERF_CONTEXT_KERNEL        ((uint64_t)-128)
#define UX_PERF_CONTEXT_USER          ((uint64_t)-512)
#define UX_PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define UX_PERF_CONTEXT_GUEST         ((uint64_t)-2048)
#define UX_PERF_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define UX_PERF_CONTEXT_GUEST_USER    ((uint64_t)-2560)

/* Numbers of feature sections. */
enum {
	UX_PERF_FEATURE_BUILD_ID = 2,
	UX_PERF_FEATURE_HOSTNAME = 3,
	UX_PERF_FEATURE_OS_RELEASE = 4,
	UX_PERF_FEATURE_ARCH = 6,
	UX_PERF_FEATURE_EVENT_DESC = 12,
	UX_PERF_FEATURE_CLOCK_DATA = 29,
	/* unhex's own, which perf ignores: IDs of files without a GNU build ID, by inode */
	UX_PERF_FEATURE_FILE_IDS = 255,
	UX_PERF_FEATURES = 256,
};

#endif
