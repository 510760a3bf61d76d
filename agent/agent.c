/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's loop: waits for new mappings, and has them sent. */
#include "agent_work.h"

#include "clock.h"

#include <sys/resource.h>

enum {
	RETRY_MS = 10000, /* after the server could not be reached */
};

static void agent_deinit(struct ux_agent *a)
{
	ux_host_watch_deinit(&a->watch);
	ux_mapped_files_free(&a->files);
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

/* Sends what waits. That the server is away is noticed once, and is no failure. */
static enum ux_code agent_try_send(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_agent_send(a, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK && !a->away)
		agent_notice(a, "files wait until the server answers", &why);
	a->away = code != UX_OK;
	return UX_OK;
}

static enum ux_code agent_follow(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_host_watch_start(&a->watch, &why, err));
	if (why.code != UX_OK)
		agent_notice(a, "new mappings are found by scanning", &why);
	for (;;) {
		int64_t until = a->files.size > 0 ? ux_clock_ms() + RETRY_MS : INT64_MAX;
		UX_TRY(ux_host_watch_take(&a->watch, until, &a->files, err));
		UX_TRY(agent_try_send(a, err));
	}
}

static enum ux_code agent_once(struct ux_agent *a, struct ux_error *err)
{
	UX_TRY(ux_host_watch_once(&a->watch, err));
	UX_TRY(ux_host_watch_take(&a->watch, 0, &a->files, err));
	a->summary->seen = ux_host_watch_seen(&a->watch);
	return ux_agent_send(a, err);
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
	a.work.o = &a.push;
	a.push.threads = 1;
	agent_raise_files();
	UX_TRY(ux_host_watch_init(&a.watch, err));
	a.watch.debug_dirs = a.push.debug_dirs;
	UX_TRY(ux_push_client_open(&a.work.client, &a.push, err));
	return options->once ? agent_once(&a, err) : agent_follow(&a, err);
}
