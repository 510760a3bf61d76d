/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's loop: waits for new mappings, and has them sent. */
#include "agent_work.h"

#include "clock.h"

#include <sys/resource.h>

enum {
	SETTLE_MS = 100,        /* after an event: a program maps its libraries one by one */
	LIST_MS = 5000,         /* between two lists of processes without events... */
	LIST_EVENTS_MS = 60000, /* ...and with them */
	RETRY_MS = 10000,       /* after the server could not be reached */
};

static void agent_deinit(struct ux_agent *a)
{
	ux_mapping_events_close(&a->events);
	ux_host_scan_deinit(&a->scan);
	ux_file_table_deinit(&a->table);
	ux_push_by_id_deinit(&a->done);
	ux_push_client_close(&a->work.client);
	ux_push_archives_close(&a->work);
}

/* Files that wait are open. */
static void agent_raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = ux_min(limit.rlim_max, (rlim_t)UX_MAPPED_WAITING_MOST * 2);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void agent_notice(const struct ux_agent *a, const char *what, const struct ux_error *why)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	char line[UX_ERROR_TEXT + UX_ERROR_SECTION + 256];
	snprintf(line, sizeof(line), "%.100s: %s", what, ux_error_format(why, text, sizeof(text)));
	if (a->o->notice)
		a->o->notice(a->o->push.ctx, line);
}

static enum ux_code agent_scan(struct ux_agent *a, enum ux_host_scan_depth depth,
			       struct ux_error *err)
{
	UX_TRY(ux_host_scan_run(&a->scan, depth, &a->table, err));
	a->summary->processes = a->scan.processes.size;
	a->summary->denied = a->scan.denied;
	a->summary->files = a->table.found;
	a->summary->hidden = a->table.hidden;
	return UX_OK;
}

/* Sends what waits. That the server is away is noticed once, and is no failure. */
static enum ux_code agent_try_send(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_agent_send(a, &a->table.waiting, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK && !a->away)
		agent_notice(a, "files wait until the server answers", &why);
	a->away = code != UX_OK;
	return UX_OK;
}

static enum ux_code agent_follow(struct ux_agent *a, struct ux_error *err)
{
	int64_t list_ms = a->events.open ? LIST_EVENTS_MS : LIST_MS;
	int64_t listed = ux_clock_ms();
	for (;;) {
		bool lost = false;
		UX_TRY(agent_try_send(a, err));
		int64_t left = listed + list_ms - ux_clock_ms();
		if (a->away)
			left = ux_min(left, (int64_t)RETRY_MS);
		if (ux_mapping_events_wait(&a->events, (int)ux_max(left, INT64_C(0)))) {
			struct timespec t = {.tv_nsec = SETTLE_MS * UX_CLOCK_NS_IN_MS};
			(void)nanosleep(&t, NULL);
			UX_TRY(ux_mapping_events_take(&a->events, &a->table, &lost, err));
		}
		lost = lost || (a->table.left && a->table.waiting.size == 0);
		if (!lost && ux_clock_ms() < listed + list_ms)
			continue;
		listed = ux_clock_ms();
		if (lost || ux_host_scan_is_due(&a->scan))
			UX_TRY(agent_scan(a, lost ? UX_HOST_SCAN_ALL : UX_HOST_SCAN_NEW, err));
		a->table.left = a->table.left && !lost;
	}
}

enum ux_code ux_agent_run(const struct ux_agent_options *options, struct ux_agent_summary *ret,
			  struct ux_error *err)
{
	*ret = (struct ux_agent_summary){0};
	ux_cleanup(agent_deinit) struct ux_agent a = {
		.o = options,
		.summary = ret,
		.push = options->push,
		.work = {.summary = &ret->push, .scratch = -1},
	};
	struct ux_error why = UX_ERROR_INIT;
	a.work.o = &a.push;
	a.push.threads = 1;
	agent_raise_files();
	UX_TRY(ux_push_client_open(&a.work.client, &a.push, err));
	/* Before the first scan, so that nothing is missed between. */
	if (!options->once && ux_mapping_events_open(&a.events, &why) != UX_OK) {
		ux_mapping_events_close(&a.events);
		agent_notice(&a, "new mappings are found by scanning", &why);
	}
	UX_TRY(agent_scan(&a, UX_HOST_SCAN_ALL, err));
	return options->once ? ux_agent_send(&a, &a.table.waiting, err) : agent_follow(&a, err);
}
