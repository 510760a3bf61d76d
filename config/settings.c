/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the server's settings. */
#include "settings.h"

#include <string.h>

enum {
	/* memory for a configuration's strings: a multiple of the largest file */
	MEMORY_MOST = 8 << 20
};

static const char *const readings[] = {"auto", "open", "keyed", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

#define MS(seconds) (UINT64_C(1000) * (seconds))
#define DAY         MS(24 * 60 * 60)
#define K(n)        ((uint64_t)(n) << 10)
#define M(n)        ((uint64_t)(n) << 20)
#define G(n)        ((uint64_t)(n) << 30)
#define AT(field)   offsetof(struct ux_settings, field)

/*
 * One row for each key: section, key, type, destination, default, least, most, flags, words,
 * description. docs/configuration.md has the same rows; a test compares them, and
 * UNHEX_GOLDEN=write rewrites that page.
 */
static const struct ux_setting rows[] = {
	/* addresses and paths */
	{NULL, "listen", UX_SETTING_TEXT, AT(listen), "127.0.0.1:8420", 0, 0, 0, NULL,
	 "HOST:PORT to listen on; port 0 takes a free one. A socket that the service manager passes "
	 "goes first."},
	{NULL, "data", UX_SETTING_TEXT, AT(data), NULL, 0, 0, 0, NULL,
	 "The folder that keeps everything. Not set: $XDG_DATA_HOME/unhex."},
	{NULL, "reading", UX_SETTING_CHOICE, AT(reading), "auto", 0, 0, 0, readings,
	 "Who needs no key to read and to symbolize: open is everybody, keyed is nobody, auto is "
	 "everybody where the address is of this machine alone."},
	/* TLS */
	{NULL, "tls-certificate", UX_SETTING_TEXT, AT(tls_certificate), NULL, 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "A PEM file: the server's certificate, then those that lead to its root. Set, the server "
	 "speaks TLS 1.2 and 1.3 and nothing else. A reload reads it again."},
	{NULL, "tls-key", UX_SETTING_TEXT, AT(tls_key), NULL, 0, 0, UX_SETTING_LIVE, NULL,
	 "A PEM file: the certificate's private key."},
	/* the log */
	{NULL, "log-format", UX_SETTING_CHOICE, AT(log_format), "text", 0, 0, UX_SETTING_LIVE,
	 formats, "A line of the log is key=value (text) or an object (json)."},
	{NULL, "log-level", UX_SETTING_CHOICE, AT(log_level), "info", 0, 0, UX_SETTING_LIVE, levels,
	 "What is logged: this and what is worse. Requests are info, or error when they end in a "
	 "status of 500 and more."},
	/* access and rates */
	{NULL, "trusted-proxies", UX_SETTING_LIST, AT(trusted_proxies), NULL, 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Proxies that are believed about who asks (X-Forwarded-For, X-Forwarded-Proto, Forwarded): "
	 "addresses, networks like 10.0.0.0/8, or unix for sockets without addresses. Nobody else's "
	 "word counts."},
	{NULL, "origins", UX_SETTING_LIST, AT(origins), NULL, 0, 0, UX_SETTING_LIVE, NULL,
	 "Web sites, like https://profiler.example.org, whose pages may read also where a key is "
	 "needed, which they must have; * is any. Where reading is open to everybody, all pages may; "
	 "where it is open to this machine, those of https://profiler.firefox.com."},
	{NULL, "rate-key", UX_SETTING_COUNT, AT(rate_key), "0", 0, 1000000000, UX_SETTING_LIVE,
	 NULL,
	 "Requests a second of a key, unless it was made with a rate of its own; 0 is any number. "
	 "Above, they are answered by 429, those of debuginfod's clients wait."},
	{NULL, "rate-key-burst", UX_SETTING_COUNT, AT(rate_key_burst), "100", 1, 1000000000,
	 UX_SETTING_LIVE, NULL, "Requests of a key that may come at once after a pause."},
	{NULL, "rate-address", UX_SETTING_COUNT, AT(rate_address), "0", 0, 1000000000,
	 UX_SETTING_LIVE, NULL,
	 "The same of an address (of IPv6: of a network /64), key or not; this machine has no limit."},
	{NULL, "rate-address-burst", UX_SETTING_COUNT, AT(rate_address_burst), "100", 1, 1000000000,
	 UX_SETTING_LIVE, NULL, "Requests of an address that may come at once after a pause."},
	{NULL, "queue", UX_SETTING_TIME, AT(queue_ms), "30s", 0, MS(80), UX_SETTING_LIVE, NULL,
	 "How long a request of a debuginfod client waits at most for its turn; one that would wait "
	 "longer has its connection reset, which those clients answer by asking again."},
	{NULL, "uploads-key", UX_SETTING_COUNT, AT(uploads_key), "1000", 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Uploads of a key that may be open at a time, unless it was made with a number of its own; 0 "
	 "is any number. Above, they are answered by 429. What was announced an hour ago counts no "
	 "more."},
	{NULL, "uploads", UX_SETTING_COUNT, AT(uploads_all), "10000", 0, 0, UX_SETTING_LIVE, NULL,
	 "The same of all keys together."},
	{NULL, "uploads-key-bytes", UX_SETTING_BYTES, AT(uploads_bytes_key), "0", 0, 0,
	 UX_SETTING_LIVE, NULL, "Bytes that the open uploads of a key may have; 0 is any number."},
	{NULL, "uploads-bytes", UX_SETTING_BYTES, AT(uploads_bytes_all), "0", 0, 0, UX_SETTING_LIVE,
	 NULL, "The same of all keys together."},
	/* retention */
	{NULL, "keep-days", UX_SETTING_COUNT, AT(keep_days), "0", 0, 36500, UX_SETTING_LIVE, NULL,
	 "Modules that nobody used for so many days go, unless their namespace says otherwise; 0 "
	 "keeps them."},
	{NULL, "cache", UX_SETTING_BYTES, AT(cache_bytes), "0", 0, 0, UX_SETTING_LIVE, NULL,
	 "How much is kept of what can be had again (extracted, or from other servers); 0 is all."},
	{NULL, "audit-days", UX_SETTING_COUNT, AT(audit_days), "0", 0, 36500, UX_SETTING_LIVE, NULL,
	 "How long lines of the audit are kept; 0 is for ever."},
	{NULL, "sweep-every", UX_SETTING_TIME, AT(sweep_every_ms), "1h", MS(1), 30 * DAY,
	 UX_SETTING_LIVE, NULL, "How often the store is swept of what nobody needs."},
	{NULL, "sweep-grace", UX_SETTING_TIME, AT(sweep_grace_ms), "1d", MS(60), 365 * DAY,
	 UX_SETTING_LIVE, NULL, "How long garbage and unfinished uploads are left alone."},
	/* limits */
	{NULL, "connections", UX_SETTING_COUNT, AT(connections), "1024", 1, 1 << 20, 0, NULL,
	 "Connections at once; fewer where the process may not have so many descriptors. Others wait."},
	{NULL, "address-connections", UX_SETTING_COUNT, AT(address_connections), "256", 1, 1 << 20,
	 0, NULL,
	 "Of them, those of one address (of IPv6: network) that is not this machine's nor a trusted proxy's."},
	{NULL, "threads", UX_SETTING_COUNT, AT(threads), "0", 0, 1024, 0, NULL,
	 "Threads that answer requests; 0 takes two a processor, at least 4."},
	{NULL, "header-bytes", UX_SETTING_BYTES, AT(header_bytes), "32K", K(4), M(1), 0, NULL,
	 "Memory of a connection for the first line and header lines of a request."},
	{NULL, "body-bytes", UX_SETTING_BYTES, AT(body_bytes), "16M", K(1), G(1), UX_SETTING_LIVE,
	 NULL, "A body that is no upload; above, it is answered by 413."},
	{NULL, "upload-bytes", UX_SETTING_BYTES, AT(upload_bytes), "4G", K(1), 0, UX_SETTING_LIVE,
	 NULL, "One upload; above, it is answered by 413."},
	{NULL, "drain-bytes", UX_SETTING_BYTES, AT(drain_bytes), "32M", 0, G(1), UX_SETTING_LIVE,
	 NULL,
	 "What is read and thrown away of a refused body, so that the client gets to see the answer."},
	{NULL, "request-memory", UX_SETTING_BYTES, AT(request_memory), "64M", M(1), G(4),
	 UX_SETTING_LIVE, NULL, "Memory of one request besides its body and its answer."},
	{NULL, "memory", UX_SETTING_BYTES, AT(memory_bytes), "1G", M(16), 0, UX_SETTING_LIVE, NULL,
	 "Bodies and answers of all requests together; above, requests are answered by 503."},
	{NULL, "idle", UX_SETTING_TIME, AT(idle_ms), "30s", MS(1), MS(3600), 0, NULL,
	 "A connection that neither sends nor takes a byte for so long is closed, and one on which no "
	 "whole request header came."},
	{NULL, "slowest-rate", UX_SETTING_BYTES, AT(slowest_rate), "512", 1, G(1), 0, NULL,
	 "Bytes a second that bodies and answers move on the average, after \"idle\" for a start; slower "
	 "ones are cut."},
	{NULL, "stop", UX_SETTING_TIME, AT(stop_ms), "20s", 0, MS(3600), UX_SETTING_LIVE, NULL,
	 "How long requests in flight may take when the server stops; then they are cut."},
	{NULL, "open-modules", UX_SETTING_COUNT, AT(open_modules), "256", 1, 100000, 0, NULL,
	 "Modules that are kept mapped for lookups."},
	/* extraction */
	{NULL, "extract-memory", UX_SETTING_BYTES, AT(extract_memory), "2G", M(64), 0, 0, NULL,
	 "Memory that the reading of one uploaded file may take, besides the file."},
	{NULL, "extract-output", UX_SETTING_BYTES, AT(extract_output), "2G", M(1), 0, 0, NULL,
	 "Bytes of symbols that may come out of one uploaded file."},
	{NULL, "extract-time", UX_SETTING_TIME, AT(extract_ms), "10m", MS(1), MS(24 * 3600), 0,
	 NULL, "Processor time that the reading of one uploaded file may take."},
	/* upstreams */
	{NULL, "upstreams", UX_SETTING_LIST, AT(upstreams), NULL, 0, 0, UX_SETTING_LIVE, NULL,
	 "Who is asked, in this order, for what is not here: unhex+URL, debuginfod+URL, bucket+URL or "
	 "dir:/PATH, each with ,name=NAME ,token-file=FILE ,private behind it where needed "
	 "(docs/upstreams.md)."},
	{NULL, "upstream-absent", UX_SETTING_TIME, AT(upstream_absent_ms), "1h", MS(1), 365 * DAY,
	 UX_SETTING_LIVE, NULL, "How long an upstream is not asked again that said it has none."},
	{NULL, "upstream-failed", UX_SETTING_TIME, AT(upstream_failed_ms), "1m", MS(1), 365 * DAY,
	 UX_SETTING_LIVE, NULL, "The same of one that gave no answer, or a broken file."},
	{NULL, "upstream-bytes", UX_SETTING_BYTES, AT(upstream_bytes), "4G", K(1), 0,
	 UX_SETTING_LIVE, NULL, "One file of an upstream; a larger one is not taken."},
	{NULL, "upstream-time", UX_SETTING_TIME, AT(upstream_ms), "10m", MS(1), MS(24 * 3600),
	 UX_SETTING_LIVE, NULL, "How long one file of an upstream may take to come."},
};
static_assert(ux_countof(rows) <= UX_SETTINGS_MOST, "a file's reader remembers each");

const struct ux_setting_table ux_settings_table = {
	.rows = rows,
	.n_rows = ux_countof(rows),
};

void ux_settings_destroy(struct ux_settings *s)
{
	if (!s)
		return;
	ux_arena_deinit(&s->arena);
	free(s);
}

static void settings_guard(struct ux_settings **s)
{
	ux_settings_destroy(*s);
}

static enum ux_code settings_read_override(const struct ux_setting_word *w, struct ux_settings *s,
					   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_setting *row =
		ux_setting_find(&ux_settings_table, NULL, ux_bytes_cstr(w->key));
	if (!row)
		return ux_error_set(err, UX_EINVAL, "option %s: unknown key \"%.40s\"", w->option,
				    w->key);
	enum ux_code code = ux_setting_read(row, ux_bytes_cstr(w->value), s, &s->arena, &why);
	if (code == UX_EINVAL && strcmp(w->option, "--set") == 0)
		return ux_error_set(err, code, "option --set: %s %s", w->key, why.text);
	if (code == UX_EINVAL)
		return ux_error_set(err, code, "option %s %s", w->option, why.text);
	return code == UX_OK ? UX_OK : ux_error_set(err, code, "%s", why.text);
}

static enum ux_code settings_check(const struct ux_settings *s, struct ux_error *err)
{
	if (!s->tls_certificate != !s->tls_key)
		return ux_error_set(err, UX_EINVAL,
				    "tls-certificate and tls-key: one without the "
				    "other; expected both or none");
	return UX_OK;
}

enum ux_code ux_settings_load(const struct ux_settings_source *source, struct ux_settings **ret,
			      struct ux_error *err)
{
	ux_cleanup(settings_guard) struct ux_settings *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	ux_arena_init(&s->arena, MEMORY_MOST);
	UX_TRY(ux_setting_defaults(&ux_settings_table, NULL, s, &s->arena, err));
	if (source->file)
		UX_TRY(ux_config_read(&ux_settings_table, source->file, s, &s->arena, err));
	for (size_t i = 0; i < source->n_words; i++)
		UX_TRY(settings_read_override(&source->words[i], s, err));
	UX_TRY(settings_check(s, err));
	*ret = ux_take(&s);
	return UX_OK;
}

enum ux_code ux_settings_keep(const struct ux_settings *now, struct ux_settings *next,
			      ux_setting_changed_fn *changed, void *ctx, struct ux_error *err)
{
	for (size_t i = 0; i < ux_countof(rows); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out was = {0}, is = {0};
		if (rows[i].section)
			continue;
		ux_setting_write(&rows[i], now, &was);
		ux_setting_write(&rows[i], next, &is);
		UX_TRY(ux_out_status(&was, err));
		UX_TRY(ux_out_status(&is, err));
		if (ux_bytes_eq(ux_out_bytes(&was), ux_out_bytes(&is)))
			continue;
		if ((rows[i].flags & UX_SETTING_LIVE) == 0)
			UX_TRY(ux_setting_read(&rows[i], ux_out_bytes(&was), next, &next->arena,
					       err));
		changed(ctx, &rows[i]);
	}
	return UX_OK;
}
