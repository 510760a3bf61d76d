/* SPDX-License-Identifier: Apache-2.0 */
/* One recording, from its first event to the end of its file. */
#include "record.h"

#include "clock.h"
#include "perf_fields.h"
#include "record_command.h"
#include "record_event.h"
#include "record_file.h"
#include "record_host.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
	WAIT_MS = 100,       /* ms between reads of the rings at most */
	SCANS_MAX = 16,      /* scans of a process that keeps making new threads */
	THREADS_MAX = 32768, /* threads of a process */
};

UX_VEC(record_polls, struct pollfd);

/* The state of a recording. */
struct recording {
	const struct ux_record_options *options;
	struct ux_record_result *result;
	struct ux_record_events events;
	struct ux_record_file file;
	struct ux_record_host host;
	struct ux_record_command command;
	struct record_polls polls; /* the rings, then the signals */
	sigset_t signals;          /* signals that were blocked before */
	bool masked;               /* the signals of the recording are blocked */
	int signal_fd;
	int64_t started_ns;
	unsigned interrupts;
	bool hung_up; /* the thread whose events were opened first has ended */
	bool done;
};

static void recording_deinit(struct recording *r)
{
	ux_record_command_deinit(&r->command);
	ux_record_events_deinit(&r->events);
	ux_record_file_deinit(&r->file);
	ux_record_host_deinit(&r->host);
	record_polls_deinit(&r->polls);
	if (r->signal_fd >= 0)
		(void)close(r->signal_fd);
	if (r->masked)
		(void)sigprocmask(SIG_SETMASK, &r->signals, NULL);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Takes over the signals that end a recording. Ignored signals stay ignored, as nohup requires. */
static enum ux_code recording_take_signals(struct recording *r, struct ux_error *err)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction before;
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ux_countof(numbers); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaddset(&set, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, &r->signals) != 0)
		return ux_error_os(err, errno, "cannot block signals");
	r->masked = true;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd >= 0 ? UX_OK : ux_error_os(err, errno, "cannot wait for signals");
}

static void recording_on_signal(struct recording *r, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return; /* the command is looked at in each round */
	r->interrupts++;
	if (r->command.pid == 0 || r->interrupts > 1) {
		r->done = true;
		return;
	}
	/* A terminal sends its signals to the command, too. */
	if (info->ssi_code <= 0)
		(void)kill(r->command.pid, (int)info->ssi_signo);
}

static void recording_read_signals(struct recording *r)
{
	struct signalfd_siginfo info;
	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		recording_on_signal(r, &info);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Opens events for the threads of a process that have none yet. */
static enum ux_code recording_open_threads(struct recording *r, struct ux_record_fds *known,
					   bool *ret_more, struct ux_error *err)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/task", r->options->pid);
	DIR *folder = opendir(path);
	enum ux_code code = UX_OK;
	pid_t tid = 0;
	*ret_more = false;
	if (!folder)
		return ux_error_set(err, UX_ENOTFOUND, "process %d does not exist",
				    r->options->pid);
	while (code == UX_OK && (tid = ux_record_next_number(folder)) > 0) {
		bool is_known = false;
		for (size_t i = 0; i < known->size; i++)
			is_known = is_known || known->data[i] == tid;
		if (is_known)
			continue;
		struct ux_error why = UX_ERROR_INIT;
		code = known->size < THREADS_MAX && ux_record_fds_append(known, tid)
			       ? ux_record_events_open(&r->events, tid, r->result, &why)
			       : ux_error_set(&why, UX_ELIMIT, "more than %d threads", THREADS_MAX);
		if (code == UX_ENOTFOUND)
			code = UX_OK; /* it has ended meanwhile */
		else if (code != UX_OK && err && err->code == UX_OK)
			*err = why;
		*ret_more = true;
	}
	(void)closedir(folder);
	return code;
}

/* Threads made by a thread with events inherit them; threads made before are searched for. */
static enum ux_code recording_open_process(struct recording *r, struct ux_error *err)
{
	ux_cleanup(ux_record_fds_deinit) struct ux_record_fds known = {0};
	bool more = true;
	for (unsigned i = 0; more && i < SCANS_MAX; i++)
		UX_TRY(recording_open_threads(r, &known, &more, err));
	return r->events.fds.size > 0 ? UX_OK
				      : ux_error_set(err, UX_ENOTFOUND, "process %d does not exist",
						     r->options->pid);
}

static enum ux_code recording_open(struct recording *r, struct ux_error *err)
{
	const struct ux_record_options *o = r->options;
	UX_TRY(ux_record_events_init(&r->events, o, r->result, err));
	if (o->command) {
		UX_TRY(ux_record_command_fork(&r->command, o->command, &r->signals, err));
		return ux_record_events_open(&r->events, r->command.pid, r->result, err);
	}
	return o->all ? ux_record_events_open(&r->events, -1, r->result, err)
		      : recording_open_process(r, err);
}

/* --- records ---------------------------------------------------------------------------------- */

/* Reads the head of the record at an offset. The kernel wrote it. False: there is no whole record.
 */
static bool recording_head(const struct ux_out *out, size_t at, struct perf_event_header *ret)
{
	if (out->size < at + sizeof(*ret))
		return false;
	memcpy(ret, out->data + at, sizeof(*ret));
	return ret->size >= sizeof(*ret) && ret->size <= out->size - at;
}

/* Counts the samples and losses among the records from `from` on, and reads the files that were
 * mapped. */
static enum ux_code recording_note(struct recording *r, size_t from, struct ux_error *err)
{
	const struct ux_out *out = &r->file.out;
	struct perf_event_header head;
	for (size_t at = from; recording_head(out, at, &head); at += head.size) {
		uint64_t n = 0;
		if (head.type == UX_PERF_SAMPLE)
			r->result->samples++;
		UX_TRY(ux_record_host_mapped(&r->host, ux_bytes(out->data + at, head.size), err));
		/* The number follows the event's number in one kind of record, and the header in
		 * the other. */
		size_t n_at = head.type == UX_PERF_LOST ? 2 * sizeof(n) : sizeof(n);
		if ((head.type == UX_PERF_LOST || head.type == UX_PERF_LOST_SAMPLES) &&
		    head.size >= n_at + sizeof(n)) {
			memcpy(&n, out->data + at + n_at, sizeof(n));
			r->result->lost += n;
		}
	}
	return UX_OK;
}

/* Removes the samples among the records from `from` on. */
static void recording_drop_samples(struct recording *r, size_t from)
{
	struct ux_out *out = &r->file.out;
	struct perf_event_header head;
	size_t to = from;
	for (size_t at = from; recording_head(out, at, &head); at += head.size) {
		if (head.type == UX_PERF_SAMPLE)
			continue;
		memmove(out->data + to, out->data + at, head.size);
		to += head.size;
	}
	out->size = to;
}

/* Moves the rings' records into the file; without samples, if `tracking_only`. */
static enum ux_code recording_drain(struct recording *r, bool tracking_only, struct ux_error *err)
{
	for (size_t i = 0; i < r->events.rings.size; i++) {
		size_t from = r->file.out.size;
		ux_record_ring_drain(&r->events.rings.data[i], &r->file.out);
		UX_TRY(ux_out_status(&r->file.out, err));
		if (tracking_only)
			recording_drop_samples(r, from);
		UX_TRY(recording_note(r, from, err));
	}
	ux_record_file_round(&r->file);
	return ux_record_file_flush(&r->file, err);
}

/*
 * Adds the running processes. The kernel already tracks processes and mappings, so that nothing is
 * missed in between. Samples count only afterwards: a process that ended before it was read has no
 * mappings, and its part of the profile would have no names.
 */
static enum ux_code recording_add_host(struct recording *r, struct ux_error *err)
{
	const struct ux_record_options *o = r->options;
	r->host.file = &r->file;
	r->host.data = o->calls == UX_RECORD_DWARF;
	UX_TRY(ux_record_host_kernel(&r->host, err));
	if (!r->events.attr.exclude_kernel)
		UX_TRY(ux_record_host_programs(&r->host, err));
	if (o->all)
		UX_TRY(ux_record_host_processes(&r->host, err));
	else if (!o->command)
		UX_TRY(ux_record_host_process(&r->host, o->pid, err));
	UX_TRY(ux_record_file_flush(&r->file, err));
	return o->command ? UX_OK : recording_drain(r, /* tracking_only= */ true, err);
}

/* --- the recording ---------------------------------------------------------------------------- */

/* Lists the descriptors to wait for. */
static enum ux_code recording_make_polls(struct recording *r, struct ux_error *err)
{
	size_t n = r->events.polls.size;
	if (!record_polls_reserve(&r->polls, n + 1))
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		r->polls.data[i] = (struct pollfd){.fd = r->events.polls.data[i], .events = POLLIN};
	r->polls.data[n] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
	r->polls.size = n + 1;
	return UX_OK;
}

/* Returns whether a process has ended whose first thread has: it may remain as a zombie. */
static bool recording_process_ended(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	while (folder && ux_record_next_number(folder) > 0)
		n++;
	if (folder)
		(void)closedir(folder);
	return n <= 1;
}

/* Returns whether the recorded command or process has ended. An event hangs up when its thread has
 * ended. */
static bool recording_has_ended(struct recording *r)
{
	if (r->options->command)
		return ux_record_command_ended(&r->command);
	return r->options->pid > 0 && r->hung_up && recording_process_ended(r->options->pid);
}

/* Returns the ms to wait for records. */
static int recording_wait_ms(const struct recording *r)
{
	int64_t left = WAIT_MS;
	if (r->options->duration_ms > 0)
		left = (int64_t)r->options->duration_ms -
		       (ux_clock_ns() - r->started_ns) / UX_CLOCK_NS_IN_MS;
	return (int)ux_max(ux_min(left, (int64_t)WAIT_MS), (int64_t)0);
}

static enum ux_code recording_run(struct recording *r, struct ux_error *err)
{
	while (!r->done) {
		int wait = recording_wait_ms(r);
		if (wait == 0 || recording_has_ended(r))
			break;
		int n = poll(r->polls.data, r->polls.size, wait);
		if (n < 0 && errno != EINTR)
			return ux_error_os(err, errno, "cannot wait for records");
		/* An event whose threads have all ended is always ready: stop waiting for it. */
		for (size_t i = 0; n > 0 && i + 1 < r->polls.size; i++)
			if ((r->polls.data[i].revents & (POLLHUP | POLLERR)) != 0) {
				r->polls.data[i].fd = -1;
				r->hung_up = true;
			}
		recording_read_signals(r);
		UX_TRY(recording_drain(r, /* tracking_only= */ false, err));
	}
	return UX_OK;
}

static enum ux_code recording_make(struct recording *r, struct ux_error *err)
{
	UX_TRY(recording_take_signals(r, err));
	UX_TRY(recording_open(r, err));
	UX_TRY(recording_make_polls(r, err));
	struct ux_record_head head = {
		.attr = &r->events.attr,
		.ids = r->events.ids.data,
		.n_ids = r->events.ids.size,
		.n_cpus = r->events.cpus.size,
		.wall_ns = ux_clock_read(CLOCK_REALTIME),
		.clock_ns = ux_clock_ns(),
	};
	UX_TRY(ux_record_file_begin(&r->file, &head, err));
	if (!r->options->command)
		ux_record_events_enable(&r->events, true);
	UX_TRY(recording_add_host(r, err));
	r->started_ns = ux_clock_ns();
	if (r->options->command)
		UX_TRY(ux_record_command_start(&r->command, err));
	UX_TRY(recording_run(r, err));
	r->result->took_ms = (uint64_t)((ux_clock_ns() - r->started_ns) / UX_CLOCK_NS_IN_MS);
	ux_record_events_enable(&r->events, false);
	UX_TRY(recording_drain(r, /* tracking_only= */ false, err));
	r->result->stopped = ux_record_command_stop(&r->command);
	r->result->status = r->command.status;
	r->result->bytes = r->file.size;
	return ux_record_file_end(&r->file, &head, err);
}

enum ux_code ux_record(const struct ux_record_options *options, int fd,
		       struct ux_record_result *ret, struct ux_error *err)
{
	*ret = (struct ux_record_result){.status = -1};
	ux_cleanup(recording_deinit) struct recording r = {
		.options = options,
		.result = ret,
		.file = {.fd = fd},
		.command = UX_RECORD_COMMAND_INIT,
		.signal_fd = -1,
	};
	return recording_make(&r, err);
}
