/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of this host on a thread of its own. */
#include "host_watch.h"

#include "clock.h"
#include "condition.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	/* ms to wait after a mapping event: a program maps its libraries one by one */
	SETTLE_MS = 100,
	/* ms between checks for new processes if the kernel sends no mapping events */
	LIST_MS = 5000,
	/* ms between checks for new processes if the kernel sends mapping events */
	LIST_EVENTS_MS = 60000,
	/* ms between scans while no process starts: each rereads a few known processes */
	TURN_MS = 60000,
};

/* Shows that the thread goes on. ctx: struct ux_host_watch. */
static void watch_beat(void *ctx)
{
	struct ux_host_watch *w = ctx;
	atomic_store_explicit(&w->alive_ms, (uint64_t)ux_clock_ms(), memory_order_relaxed);
}

enum ux_code ux_host_watch_init(struct ux_host_watch *w, struct ux_error *err)
{
	w->stop = -1;
	ux_file_room_init(&w->room, UX_FILE_ROOM_MAX);
	w->table.room = &w->room;
	w->table.opener = &w->opener;
	w->opener.works = watch_beat;
	w->opener.ctx = w;
	w->scan.works = watch_beat;
	w->scan.ctx = w;
	(void)pthread_mutex_init(&w->lock, NULL);
	ux_condition_init(&w->arrived);
	w->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return w->stop >= 0 ? UX_OK : ux_error_os(err, errno, "eventfd");
}

void ux_host_watch_deinit(struct ux_host_watch *w)
{
	if (w->started) {
		(void)eventfd_write(w->stop, 1);
		(void)pthread_join(w->thread, NULL);
	}
	ux_fd_close(&w->stop);
	ux_mapping_events_close(&w->events);
	ux_host_scan_deinit(&w->scan);
	ux_file_table_deinit(&w->table);
	ux_open_helper_deinit(&w->opener);
	ux_file_room_deinit(&w->room);
	ux_mapped_files_free(&w->inbox);
	ux_host_pids_deinit(&w->compilers);
	(void)pthread_cond_destroy(&w->arrived);
	(void)pthread_mutex_destroy(&w->lock);
}

static pthread_mutex_t *watch_lock(struct ux_host_watch *w)
{
	(void)pthread_mutex_lock(&w->lock);
	return &w->lock;
}

static void watch_unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

/* Moves all files of a list to the end of another one. */
static enum ux_code watch_move(struct ux_mapped_files *to, struct ux_mapped_files *from,
			       struct ux_error *err)
{
	if (!ux_mapped_files_reserve(to, to->size + from->size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < from->size; i++)
		to->data[to->size++] = from->data[i];
	from->size = 0;
	return UX_OK;
}

static enum ux_code watch_move_pids(struct ux_host_pids *to, struct ux_host_pids *from,
				    struct ux_error *err)
{
	if (!ux_host_pids_reserve(to, to->size + from->size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < from->size; i++)
		to->data[to->size++] = from->data[i];
	from->size = 0;
	return UX_OK;
}

/* Moves the files that were found to the inbox. */
static enum ux_code watch_deliver(struct ux_host_watch *w, struct ux_error *err)
{
	ux_cleanup(watch_unlock) pthread_mutex_t *lock = watch_lock(w);
	bool news = w->table.waiting.size > 0 || w->table.compilers.size > 0;
	UX_TRY(watch_move(&w->inbox, &w->table.waiting, err));
	UX_TRY(watch_move_pids(&w->compilers, &w->table.compilers, err));
	w->seen = (struct ux_host_seen){
		.processes = w->scan.processes.size,
		.denied = w->scan.denied,
		.files = w->table.found,
		.hidden = w->table.hidden,
		.untrusted = w->table.untrusted,
		.vanished = w->table.vanished,
		.hung = w->opener.hung,
		.events = w->events.seen,
		.lost = w->events.lost,
		.nameless = w->kernel.nameless,
		.kernel_why = w->kernel.why,
	};
	if (news)
		(void)pthread_cond_signal(&w->arrived);
	(void)lock;
	return UX_OK;
}

enum ux_code ux_host_watch_once(struct ux_host_watch *w, struct ux_error *err)
{
	UX_TRY(ux_host_scan_run(&w->scan, UX_HOST_SCAN_ALL, &w->table, err));
	UX_TRY(ux_host_kernel_look(&w->kernel, w->debug_dirs, &w->table, err));
	return watch_deliver(w, err);
}

/* Scans if there may be new processes; `all`: reads all processes. */
static enum ux_code watch_list(struct ux_host_watch *w, bool all, int64_t *scanned,
			       struct ux_error *err)
{
	int64_t now = ux_clock_ms();
	if (!ux_mapping_events_are_whole(&w->events)) {
		ux_mapping_events_close(&w->events);
		if (ux_mapping_events_open(&w->events, NULL) != UX_OK)
			ux_mapping_events_close(&w->events);
		all = true;
	}
	if (all)
		w->table.again_ms = 0;
	if (all || now - *scanned >= TURN_MS || ux_host_scan_is_due(&w->scan)) {
		*scanned = now;
		UX_TRY(ux_host_scan_run(&w->scan, all ? UX_HOST_SCAN_ALL : UX_HOST_SCAN_NEW,
					&w->table, err));
	}
	return ux_host_kernel_look(&w->kernel, w->debug_dirs, &w->table, err);
}

/* Returns the time at which the thread has to do something although there are no events. */
static int64_t watch_due(const struct ux_host_watch *w, int64_t listed)
{
	int64_t due = listed + (w->events.open ? LIST_EVENTS_MS : LIST_MS);
	return w->table.again_ms != 0 ? ux_min(due, w->table.again_ms) : due;
}

/* Follows the events of the kernel until the thread should end, and then returns UX_OK. */
static enum ux_code watch_follow(struct ux_host_watch *w, struct ux_error *err)
{
	UX_TRY(ux_host_watch_once(w, err));
	int64_t listed = ux_clock_ms(), scanned = listed;
	for (;;) {
		bool lost = false, stop = false;
		int64_t left = ux_max(watch_due(w, listed) - ux_clock_ms(), INT64_C(0));
		atomic_store_explicit(&w->alive_ms, 0, memory_order_relaxed);
		bool news = ux_mapping_events_wait(&w->events, w->stop, (int)left, &stop);
		watch_beat(w);
		if (stop)
			return UX_OK;
		if (news) {
			struct timespec t = {.tv_nsec = SETTLE_MS * UX_CLOCK_NS_IN_MS};
			(void)nanosleep(&t, NULL);
			UX_TRY(ux_mapping_events_take(&w->events, &w->table, &lost, err));
		}
		/* Skipped files are found again once there is room. */
		lost = lost || w->events.ended ||
		       (w->table.again_ms != 0 && w->table.again_ms <= ux_clock_ms()) ||
		       ux_file_room_has_eased(&w->room);
		if (lost || ux_clock_ms() >= watch_due(w, listed)) {
			listed = ux_clock_ms();
			/* Other processes may have got their IDs meanwhile. */
			ux_host_pid_set_deinit(&w->table.compilers_seen);
			UX_TRY(watch_list(w, lost, &scanned, err));
		}
		UX_TRY(watch_deliver(w, err));
	}
}

static void *watch_thread(void *ctx)
{
	struct ux_host_watch *w = ctx;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = watch_follow(w, &why);
	ux_cleanup(watch_unlock) pthread_mutex_t *lock = watch_lock(w);
	(void)lock;
	w->failed = code;
	w->why = why;
	(void)pthread_cond_signal(&w->arrived);
	return NULL;
}

enum ux_code ux_host_watch_start(struct ux_host_watch *w, struct ux_error *ret_why,
				 struct ux_error *err)
{
	*ret_why = (struct ux_error)UX_ERROR_INIT;
	/* Opened before the first scan, so that no mapping is missed in between. */
	if (ux_mapping_events_open(&w->events, ret_why) != UX_OK)
		ux_mapping_events_close(&w->events);
	int why = pthread_create(&w->thread, NULL, watch_thread, w);
	if (why != 0)
		return ux_error_os(err, why, "cannot start a thread");
	w->started = true;
	return UX_OK;
}

enum ux_code ux_host_watch_take(struct ux_host_watch *w, int64_t deadline_ms,
				struct ux_mapped_files *ret, struct ux_error *err)
{
	ux_cleanup(watch_unlock) pthread_mutex_t *lock = watch_lock(w);
	while (w->inbox.size == 0 && w->compilers.size == 0 && w->failed == UX_OK && w->started) {
		if (!ux_condition_wait(&w->arrived, lock, deadline_ms))
			break;
	}
	UX_TRY(watch_move(ret, &w->inbox, err));
	if (w->failed != UX_OK && err && err->code == UX_OK)
		*err = w->why;
	return w->failed;
}

enum ux_code ux_host_watch_take_compilers(struct ux_host_watch *w, struct ux_host_pids *ret,
					  struct ux_error *err)
{
	ux_cleanup(watch_unlock) pthread_mutex_t *lock = watch_lock(w);
	(void)lock;
	return watch_move_pids(ret, &w->compilers, err);
}

void ux_host_watch_give_back(struct ux_host_watch *w, const struct ux_mapped_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].counted)
			ux_file_room_give_back(&w->room, files[i].process_owner);
}

struct ux_host_seen ux_host_watch_seen(struct ux_host_watch *w)
{
	ux_cleanup(watch_unlock) pthread_mutex_t *lock = watch_lock(w);
	(void)lock;
	return w->seen;
}
