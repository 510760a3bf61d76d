/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a fetcher. */
#include "open_upstreams.h"

#include "event_log.h"
#include "upstreams.h"

enum {
	FOUND_S = 24 * 60 * 60 /* that what was found is not asked for again while it is here */
};

static void log_fetched(void *ctx, const struct ux_fetch_event *e)
{
	static const char *const words[] = {"found", "absent", "failed"};
	char id[200], artifact[200], reason[300];
	(void)ctx;
	ux_log_line(e->outcome == UX_FETCH_FAILED ? "warning" : "info", "fetch",
		    "upstream=%s ns=%s id=%s artifact=%s outcome=%s status=%u ms=%" PRIu64
		    " bytes=%" PRIu64 " reason=%s",
		    e->upstream->name, e->ns, ux_log_quote(ux_bytes_cstr(e->id), id, sizeof(id)),
		    ux_log_quote(ux_bytes_cstr(e->artifact), artifact, sizeof(artifact)),
		    words[e->outcome], e->status, e->took_ms, e->bytes,
		    ux_log_quote(ux_bytes_cstr(e->reason), reason, sizeof(reason)));
}

/* malloc'ed. */
static enum ux_code parse(const struct ux_setting_list *list, struct ux_upstream **ret,
			  struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups =
		calloc(ux_max(list->n, (size_t)1), sizeof(*ups));
	if (!ups)
		return ux_error_nomem(err);
	for (size_t i = 0; i < list->n; i++)
		UX_TRY(ux_upstream_parse(&ups[i], list->items[i], err));
	*ret = ux_take(&ups);
	return UX_OK;
}

enum ux_code ux_server_upstreams_check(const struct ux_settings *settings, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups = NULL;
	UX_TRY(parse(&settings->upstreams, &ups, err));
	return ux_fetcher_check(ups, settings->upstreams.n, err);
}

static enum ux_code open_fetcher(struct ux_server *s, const struct ux_settings *settings,
				 struct ux_fetcher **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups = NULL;
	const struct ux_setting_list *list = &settings->upstreams;
	UX_TRY(parse(list, &ups, err));
	const struct ux_fetcher_options options = {
		.upstreams = ups,
		.n = list->n,
		.times = {.absent = (int64_t)settings->upstream_absent_ms / 1000,
			  .failed = (int64_t)settings->upstream_failed_ms / 1000,
			  .found = FOUND_S},
		.limits = {.bytes = settings->upstream_bytes,
			   .most_ms = (int64_t)settings->upstream_ms},
		.arrived = ux_upstream_arrival,
		.log = log_fetched,
		.ctx = s,
	};
	return ux_fetcher_open(ret, s->store, &options, err);
}

enum ux_code ux_server_upstreams_open(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err)
{
	struct ux_fetcher *f = NULL;
	if (settings->upstreams.n == 0)
		return UX_OK;
	UX_TRY(open_fetcher(s, settings, &f, err));
	s->fetcher = f;
	s->missing = (struct ux_missing_modules){.fetch = ux_upstream_fetch_missing, .ctx = s};
	return UX_OK;
}

/* No waiter is in both: the old one has let go of all when the new one is seen. */
enum ux_code ux_server_upstreams_change(struct ux_server *s, const struct ux_settings *settings,
					struct ux_error *err)
{
	struct ux_fetcher *old = s->fetcher, *f = NULL;
	if (!old)
		return UX_OK;
	UX_TRY(open_fetcher(s, settings, &f, err));
	ux_fetcher_stop(old);
	ux_fetcher_replace(f, old);
	s->fetcher = f;
	return UX_OK;
}
