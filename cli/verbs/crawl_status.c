/* SPDX-License-Identifier: Apache-2.0 */
/* unhex crawl status: the progress of a server's crawls. */
#include "remote.h"

#include "http_client.h"
#include "output.h"
#include "server_answer.h"

enum {
	FAILURES_SHOWN = 10,
	HOUR_S = 3600,
	DAY_S = 24 * HOUR_S,
};

static void crawl_status_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

/* Returns a number of an object; 0: absent. */
static uint64_t status_number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));
	return v > 0 ? (uint64_t)v : 0;
}

static void status_put_text(struct ux_out *out, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	ux_text(out, ux_bytes_cstr(text ? text : ""));
}

static void status_put_state(struct ux_out *out, const json_t *states, const char *name)
{
	const json_t *s = json_object_get(states, name);
	if (status_number(s, "packages") == 0)
		return;
	ux_out_fmt(out, "%-12s %" PRIu64 " packages, ", name, status_number(s, "packages"));
	ux_text_size(out, status_number(s, "bytes"));
	if (status_number(s, "modules") > 0) {
		ux_out_fmt(out, "; %" PRIu64 " modules, ", status_number(s, "modules"));
		ux_text_size(out, status_number(s, "bytes_fetched"));
		ux_out_cstr(out, " fetched, ");
		ux_text_size(out, status_number(s, "bytes_stored"));
		ux_out_cstr(out, " stored");
	}
	ux_out_u8(out, '\n');
}

static void status_put_duration(struct ux_out *out, uint64_t seconds)
{
	uint64_t minutes = (seconds + 59) / 60;
	if (seconds >= DAY_S)
		ux_out_fmt(out, "%" PRIu64 " d %" PRIu64 " h", seconds / DAY_S,
			   seconds % DAY_S / HOUR_S);
	else
		ux_out_fmt(out, "%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
}

static void status_put_rate(struct ux_out *out, const json_t *doc)
{
	const json_t *recent = json_object_get(doc, "recent");
	uint64_t seconds = status_number(recent, "seconds");
	ux_out_fmt(out, "%-12s %" PRIu64 "\n", "workers", status_number(doc, "workers"));
	if (seconds > 0) {
		ux_out_fmt(out, "%-12s %.1f packages a minute, ", "rate",
			   60.0 * (double)status_number(recent, "packages") / (double)seconds);
		ux_text_size(out, status_number(recent, "bytes_fetched") / seconds);
		ux_out_fmt(out, " a second, in the last %" PRIu64 " s\n", seconds);
	}
	if (json_object_get(doc, "estimate_s")) {
		ux_out_fmt(out, "%-12s about ", "time left");
		status_put_duration(out, status_number(doc, "estimate_s"));
		ux_out_u8(out, '\n');
	}
}

static void status_put_failures(struct ux_out *out, const json_t *doc)
{
	const json_t *causes = json_object_get(doc, "causes");
	const json_t *failures = json_object_get(doc, "failures");
	if (json_array_size(causes) == 0)
		return;
	ux_out_cstr(out, "failures by cause:");
	for (size_t i = 0; i < json_array_size(causes); i++) {
		const json_t *c = json_array_get(causes, i);
		ux_out_cstr(out, i > 0 ? ", " : " ");
		status_put_text(out, c, "cause");
		ux_out_fmt(out, " %" PRIu64, status_number(c, "packages"));
	}
	ux_out_cstr(out, "\nlast failures:\n");
	for (size_t i = 0; i < json_array_size(failures) && i < FAILURES_SHOWN; i++) {
		const json_t *f = json_array_get(failures, i);
		ux_out_cstr(out, "  ");
		status_put_text(out, f, "name");
		ux_out_u8(out, ' ');
		status_put_text(out, f, "version");
		ux_out_cstr(out, ", ");
		status_put_text(out, f, "state");
		ux_out_cstr(out, ", ");
		status_put_text(out, f, "cause");
		ux_out_cstr(out, ": ");
		status_put_text(out, f, "reason");
		ux_out_u8(out, '\n');
	}
}

static void status_put_document(struct ux_out *out, const json_t *doc)
{
	static const char *const states[] = {"done",   "leased",      "waiting",
					     "failed", "quarantined", "known"};
	for (size_t i = 0; i < ux_countof(states); i++)
		status_put_state(out, json_object_get(doc, "states"), states[i]);
	status_put_rate(out, doc);
	status_put_failures(out, doc);
}

enum ux_code ux_crawl_status(const struct ux_server_selection *server, bool json,
			     struct ux_out *out, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	const struct ux_http_call call = {.path = "/v1/crawl/status"};
	ux_cleanup(crawl_status_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	UX_TRY(ux_http_client_create(&client, &options, err));
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	UX_TRY(ux_server_answer(&answer, &doc, err));
	if (!json) {
		status_put_document(out, doc);
		return UX_OK;
	}
	return ux_server_answer_line(doc, out, err);
}
