/* SPDX-License-Identifier: Apache-2.0 */
/* Opens events, and explains refusals of the kernel. */
#include "record_event.h"

#include "proc_files.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	SMALL_FILE = 1 << 16,       /* bytes of files with one or a few lines */
	RING_BYTES = 1 << 19,       /* perf's own default, which the default limit allows */
	RING_DWARF_BYTES = 1 << 22, /* copies of stacks are large */
};

/* The user's registers that unwinding may need: what perf requests too. */
#if defined(__x86_64__)
static const uint64_t record_registers = 0xff0fff;
#elif defined(__aarch64__)
static const uint64_t record_registers = 0x1ffffffff;
#else
static const uint64_t record_registers = 0;
#endif

/* --- settings of the kernel ------------------------------------------------------------------- */

/* Returns the number in a file of one line; `otherwise` if it cannot be read. */
static int record_setting(const char *path, int otherwise)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	if (ux_proc_read(AT_FDCWD, path, SMALL_FILE, &text, NULL) != UX_OK)
		return otherwise;
	bool negative = text.bytes.size > 0 && text.bytes.data[0] == '-';
	uint64_t v = 0;
	struct ux_bytes digits = ux_bytes(text.bytes.data + negative, text.bytes.size - negative);
	if (ux_digits_parse(digits, 10, &v) == 0 || v > INT_MAX)
		return otherwise;
	return negative ? -(int)v : (int)v;
}

/* Returns whether system calls of this process are filtered, as in most containers. */
static bool record_is_filtered(void)
{
	ux_cleanup(ux_read_deinit) struct ux_read status = {0};
	if (ux_proc_read(AT_FDCWD, "/proc/self/status", SMALL_FILE, &status, NULL) != UX_OK ||
	    status.bytes.size == 0)
		return false;
	return memmem(status.bytes.data, status.bytes.size, "\nSeccomp:\t2", 11) != NULL;
}

/* Raises the limit of open files: each thread has an event on each processor, which may exceed the
 * default. */
static void record_raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* --- attributes ------------------------------------------------------------------------------- */

static unsigned record_frequency(const struct ux_record_options *o, struct ux_record_result *result)
{
	unsigned f = o->frequency ? o->frequency : UX_RECORD_FREQUENCY;
	int max = record_setting("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	if (max > 0 && f > (unsigned)max)
		f = result->frequency_max = (unsigned)max;
	return result->frequency = f;
}

static void record_attr_init(struct perf_event_attr *a, const struct ux_record_options *o,
			     struct ux_record_result *result)
{
	*a = (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(*a),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = record_frequency(o, result),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER,
		.read_format = PERF_FORMAT_ID,
		.disabled = 1,
		.inherit = !o->all,
		.freq = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1,
		.enable_on_exec = o->command != NULL,
		.watermark = 1,
		.sample_id_all = 1,
		.exclude_guest = 1,
		.mmap2 = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.ksymbol = 1,
		.bpf_event = 1,
		.build_id = 1,
	};
	if (o->calls != UX_RECORD_NO_CALLS)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (o->calls == UX_RECORD_DWARF) {
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->exclude_callchain_user = 1;
		a->mmap_data = 1; /* perf finds unwind tables by the position of their part of a
				     file */
		a->sample_regs_user = record_registers;
		a->sample_stack_user = o->stack_bytes ? o->stack_bytes : UX_RECORD_STACK;
	}
}

enum ux_code ux_record_events_init(struct ux_record_events *e, const struct ux_record_options *o,
				   struct ux_record_result *result, struct ux_error *err)
{
	if (o->calls == UX_RECORD_DWARF && record_registers == 0)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "stack unwinding is not supported on this architecture");
	record_attr_init(&e->attr, o, result);
	e->ring_size = o->calls == UX_RECORD_DWARF ? RING_DWARF_BYTES : RING_BYTES;
	e->attr.wakeup_watermark = (uint32_t)(e->ring_size / 4);
	result->paranoid = record_setting("/proc/sys/kernel/perf_event_paranoid", 2);
	record_raise_files();
	return ux_cpus_read(&e->cpus, err);
}

void ux_record_events_deinit(struct ux_record_events *e)
{
	for (size_t i = 0; i < e->rings.size; i++)
		ux_record_ring_unmap(&e->rings.data[i]);
	for (size_t i = 0; i < e->fds.size; i++)
		(void)close(e->fds.data[i]);
	ux_record_rings_deinit(&e->rings);
	ux_record_fds_deinit(&e->fds);
	ux_record_fds_deinit(&e->polls);
	ux_record_ids_deinit(&e->ids);
	ux_cpus_deinit(&e->cpus);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int record_open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Reports why the kernel did not open an event, and what would change that. */
static enum ux_code record_refused(int why, pid_t tid, const struct ux_record_result *result,
				   struct ux_error *err)
{
	int max = tid < 0 ? 0 : 2;
	switch (why) {
	case EACCES:
	case EPERM:
		if (result->paranoid > max)
			return ux_error_set(
				err, UX_EDENIED,
				"not permitted: kernel.perf_event_paranoid is %d; use "
				"CAP_PERFMON, root, or: sysctl kernel.perf_event_paranoid=%d",
				result->paranoid,
				tid < 0                ? 0
				: result->paranoid > 2 ? 2
						       : 1);
		if (record_is_filtered())
			return ux_error_set(err, UX_EDENIED,
					    "the container's seccomp filter forbids "
					    "perf_event_open; docker: --cap-add PERFMON, or "
					    "--security-opt seccomp=FILE that allows it");
		return ux_error_set(
			err, UX_EDENIED,
			"not permitted: the process belongs to another user or has more "
			"privileges; use CAP_PERFMON or root");
	case ENOSYS:
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"the kernel lacks perf_event_open, or a seccomp filter blocks it");
	case ESRCH:
		return ux_error_set(err, UX_ENOTFOUND, "no such process");
	case EMFILE:
	case ENFILE:
		return ux_error_set(
			err, UX_ELIMIT,
			"too many threads and CPUs for the limit of open files; raise ulimit -n");
	default:
		return ux_error_os(err, why, "perf_event_open");
	}
}

/* Returns whether an error means that the machine has no counter of cycles. */
static bool record_is_absent(int why)
{
	return why == ENOENT || why == EOPNOTSUPP || why == ENODEV || why == EBUSY;
}

/*
 * Changes the attributes after a refusal, for older or stricter kernels. False: nothing is left to
 * try.
 */
static bool record_attr_reduce(struct perf_event_attr *a, int why, struct ux_record_result *result)
{
	if (a->type == PERF_TYPE_HARDWARE && record_is_absent(why)) {
		a->type = PERF_TYPE_SOFTWARE;
		a->config = PERF_COUNT_SW_CPU_CLOCK;
		return result->no_counter = true;
	}
	if ((why == EACCES || why == EPERM) && !a->exclude_kernel) {
		a->exclude_kernel = 1;
		a->exclude_hv = 1;
		a->ksymbol = a->bpf_event = 0; /* functions that enter the kernel */
		return result->no_kernel = true;
	}
	if ((why == EINVAL || why == E2BIG) && a->build_id) {
		a->build_id = 0; /* before Linux 5.12 */
		return true;
	}
	if ((why == EINVAL || why == E2BIG) && a->ksymbol) {
		a->ksymbol = a->bpf_event = 0; /* before Linux 5.1 */
		return true;
	}
	if (why == EINVAL && a->exclude_guest) {
		a->exclude_guest = 0;
		return true;
	}
	if (why == EINVAL && a->type == PERF_TYPE_HARDWARE) {
		a->type = PERF_TYPE_SOFTWARE; /* the counter cannot raise interrupts */
		a->config = PERF_COUNT_SW_CPU_CLOCK;
		return result->no_counter = true;
	}
	return false;
}

/* Maps a ring of the size that the limit of locked memory allows. */
static enum ux_code record_add_ring(struct ux_record_events *e, int fd,
				    struct ux_record_result *result, struct ux_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ux_record_ring ring = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_EDENIED;
	while (code == UX_EDENIED && e->ring_size >= page) {
		why = (struct ux_error)UX_ERROR_INIT;
		code = ux_record_ring_map(&ring, fd, e->ring_size, &why);
		if (code == UX_EDENIED) {
			e->ring_size /= 2;
			result->small_rings = true;
		}
	}
	if (code == UX_EDENIED)
		return ux_error_set(
			err, UX_EDENIED,
			"cannot lock memory for records; raise kernel.perf_event_mlock_kb or "
			"ulimit -l");
	if (code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (!ux_record_rings_append(&e->rings, ring)) {
		ux_record_ring_unmap(&ring);
		return ux_error_nomem(err);
	}
	return ux_record_fds_append(&e->polls, fd) ? UX_OK : ux_error_nomem(err);
}

/* Keeps an event, which writes into the ring of processor number `cpu`. */
static enum ux_code record_add_event(struct ux_record_events *e, int fd, size_t cpu,
				     struct ux_record_result *result, struct ux_error *err)
{
	uint64_t id = 0;
	if (!ux_record_fds_append(&e->fds, fd)) {
		(void)close(fd);
		return ux_error_nomem(err);
	}
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0)
		return ux_error_os(err, errno, "cannot read the ID of an event");
	if (!ux_record_ids_append(&e->ids, id))
		return ux_error_nomem(err);
	if (cpu == e->rings.size)
		return record_add_ring(e, fd, result, err);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->polls.data[cpu]) != 0)
		return ux_error_os(err, errno, "cannot join the buffers of events");
	return UX_OK;
}

enum ux_code ux_record_events_open(struct ux_record_events *e, pid_t tid,
				   struct ux_record_result *result, struct ux_error *err)
{
	for (size_t i = 0; i < e->cpus.size; i++) {
		int fd = record_open_event(&e->attr, tid, e->cpus.data[i]);
		while (fd < 0 && e->fds.size == 0) {
			int why = errno;
			if (!record_attr_reduce(&e->attr, why, result))
				return record_refused(why, tid, result, err);
			fd = record_open_event(&e->attr, tid, e->cpus.data[i]);
		}
		if (fd < 0)
			return record_refused(errno, tid, result, err);
		UX_TRY(record_add_event(e, fd, i, result, err));
	}
	return UX_OK;
}

void ux_record_events_enable(const struct ux_record_events *e, bool on)
{
	for (size_t i = 0; i < e->fds.size; i++)
		(void)ioctl(e->fds.data[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}
