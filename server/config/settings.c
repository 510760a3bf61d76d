/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the server's settings. */
#include "settings.h"

#include <string.h>

enum {
	/* memory for a configuration's strings: a multiple of the largest file */
	MEMORY_MAX = 8 << 20
};

static const char *const readings[] = {"auto", "open", "keyed", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const s3_styles[] = {"path", "host", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

#define MS(seconds) (UINT64_C(1000) * (seconds))
#define DAY         MS(24 * 60 * 60)
#define K(n)        ((uint64_t)(n) << 10)
#define M(n)        ((uint64_t)(n) << 20)
#define G(n)        ((uint64_t)(n) << 30)
#define AT(field)   offsetof(struct ux_settings, field)

/*
 * One row for each key: section, key, type, destination, default, min, max, flags, words,
 * description. docs/configuration.md has the same rows: a test compares them, and rewrites the page
 * if UNHEX_GOLDEN=write is set.
 */
static const struct ux_setting rows[] = {
	/* addresses and paths */
	{NULL, "listen", UX_SETTING_TEXT, AT(listen), "127.0.0.1:8420", 0, 0, 0, NULL,
	 "HOST:PORT to listen on; port 0 picks a free port. A socket passed by "
	 "the service manager takes precedence."},
	{NULL, "probe-listen", UX_SETTING_TEXT, AT(probe_listen), NULL, 0, 0, 0, NULL,
	 "HOST:PORT of a second listener, which answers only /healthz and "
	 "/readyz, by a thread that does nothing else. Without TLS and keys: "
	 "keep it from clients. Default: none."},
	{NULL, "data", UX_SETTING_TEXT, AT(data), NULL, 0, 0, 0, NULL,
	 "Folder of the store. Default: $XDG_DATA_HOME/unhex."},
	{NULL, "serve-from", UX_SETTING_TEXT, AT(serve_from), NULL, 0, 0, 0, NULL,
	 "Folder made by unhex clone, or a bucket (s3://BUCKET/PREFIX, with the "
	 "settings s3-*), to serve instead of an own store. The server "
	 "does not "
	 "write to it, has no keys and accepts no uploads; its other data "
	 "is in "
	 "a temporary folder. Excludes data."},
	{NULL, "serve-from-key", UX_SETTING_TEXT, AT(serve_from_key), NULL, 0, 0, 0, NULL,
	 "Minisign public key, as text or a file, that must have signed the "
	 "manifest of serve-from."},
	{NULL, "serve-from-max-age", UX_SETTING_TIME, AT(serve_from_max_age_ms), "0", 0, 3650 * DAY,
	 0, NULL,
	 "The server does not start if the manifest of serve-from was signed longer ago; 0: any "
	 "age."},
	{NULL, "index", UX_SETTING_TEXT, AT(index), NULL, 0, 0, 0, NULL,
	 "Database of the index: postgres://[USER@]HOST[:PORT]/NAME, with the "
	 "parameters of libpq (passfile=FILE has the password). Default: "
	 "a file "
	 "in the folder of the store."},
	{NULL, "blobs", UX_SETTING_TEXT, AT(blobs), NULL, 0, 0, 0, NULL,
	 "Bucket for all uploaded and extracted files: s3://BUCKET or "
	 "s3://BUCKET/PREFIX. The folder of the store then only caches "
	 "copies. "
	 "Default: the folder of the store."},
	{NULL, "blob-cache", UX_SETTING_BYTES, AT(blob_cache), "10G", 0, G(UINT64_C(1) << 20), 0,
	 NULL,
	 "Maximum bytes of cached copies of the bucket's files, in the folder "
	 "cache of the store; 0: no limit."},
	{NULL, "blob-parts", UX_SETTING_BYTES, AT(blob_parts), "4M", 0, G(UINT64_C(1) << 20), 0,
	 NULL,
	 "Compressed bytes of one GSYM in the bucket that lookups fetch in "
	 "parts, on demand. If they need more, the server fetches the "
	 "whole file "
	 "once. 0: always fetch the whole file."},
	{NULL, "s3-endpoint", UX_SETTING_TEXT, AT(s3_endpoint), NULL, 0, 0, 0, NULL,
	 "URL of the bucket's server. Default: Amazon's for the region."},
	{NULL, "s3-region", UX_SETTING_TEXT, AT(s3_region), NULL, 0, 0, 0, NULL,
	 "Region of the bucket. Default: AWS_REGION or AWS_DEFAULT_REGION of the "
	 "environment, or us-east-1."},
	{NULL, "s3-keys", UX_SETTING_TEXT, AT(s3_keys), NULL, 0, 0, 0, NULL,
	 "File with the bucket's access keys: aws_access_key_id and "
	 "aws_secret_access_key, as in the section [default] of AWS's "
	 "files. "
	 "Default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
	 "AWS_SESSION_TOKEN of the environment."},
	{NULL, "s3-ca", UX_SETTING_TEXT, AT(s3_cafile), NULL, 0, 0, 0, NULL,
	 "PEM file with the root certificates trusted for the endpoint. Default: "
	 "the system's."},
	{NULL, "s3-style", UX_SETTING_CHOICE, AT(s3_style), "path", 0, 0, 0, s3_styles,
	 "Position of the bucket's name in URLs. path: https://HOST/BUCKET; "
	 "host: https://BUCKET.HOST, which some of Amazon's regions "
	 "require."},
	{NULL, "s3-public-endpoint", UX_SETTING_TEXT, AT(s3_public_endpoint), NULL, 0, 0, 0, NULL,
	 "URL at which clients reach the bucket's server, for presigned URLs. "
	 "Default: s3-endpoint."},
	{NULL, "presigned-downloads", UX_SETTING_BYTES, AT(presigned_downloads), "0", 0,
	 G(UINT64_C(1) << 20), 0, NULL,
	 "Minimum size of the bucket's files for which debuginfod clients get "
	 "status 302 and a presigned URL instead of the content. 0: never "
	 "redirect."},
	{NULL, "presigned-uploads", UX_SETTING_BYTES, AT(presigned_uploads), "0", 0,
	 G(UINT64_C(1) << 20), 0, NULL,
	 "Minimum size of files that capable clients upload directly to a "
	 "presigned URL of the bucket. The server still checks the "
	 "announced "
	 "hash. 0: never."},
	{NULL, "presigned-expiry", UX_SETTING_TIME, AT(presigned_expiry_ms), "15m", MS(10), 7 * DAY,
	 0, NULL, "Lifetime of a presigned URL."},
	{NULL, "index-replica", UX_SETTING_TEXT, AT(index_replica), NULL, 0, 0, 0, NULL,
	 "Physical replica of the index database, for module lookups. While it "
	 "is unreachable, the server reads the database itself."},
	{NULL, "node", UX_SETTING_TEXT, AT(node), NULL, 0, 0, 0, NULL,
	 "Unique name of this server among the servers that share an index: "
	 "letters, digits, '.', '_' and '-'. Default: the host name and "
	 "random "
	 "digits, stored in the file node of the store's folder."},
	{NULL, "admin-key", UX_SETTING_TEXT, AT(admin_key), NULL, 0, 0, 0, NULL,
	 "A file with the token of the admin key that the first start of a store "
	 "creates, for "
	 "systems that make secrets themselves: ux_ and 52 characters of a-z and "
	 "2-7. It may not be "
	 "readable by others, and is not read once there are keys. Not set: a "
	 "new one, which goes "
	 "to admin-key in the store's folder."},
	{NULL, "session-key", UX_SETTING_TEXT, AT(session_key), NULL, 0, 0, 0, NULL,
	 "File with at least 32 secret bytes. Give all servers that share an "
	 "address the same file, so that a sign-in is valid at each of "
	 "them. "
	 "Default: a secret generated by this process."},
	{NULL, "reading", UX_SETTING_CHOICE, AT(reading), "auto", 0, 0, 0, readings,
	 "Who may read and symbolize without a key. open: everyone; "
	 "keyed: no one; auto: everyone if the server listens only on "
	 "a loopback address, otherwise no one."},
	{NULL, "metrics", UX_SETTING_CHOICE, AT(metrics), "auto", 0, 0, UX_SETTING_LIVE, readings,
	 "Who may read /metrics and the counters on /status, which cover all "
	 "namespaces, without a key of scope metrics. open: everyone; "
	 "keyed: no "
	 "one; auto: clients on this machine if \"reading\" is auto and the "
	 "server listens only on a loopback address, otherwise no one."},
	{NULL, "speedscope", UX_SETTING_TEXT, AT(speedscope), NULL, 0, 0, 0, NULL,
	 "Folder dist/release of the npm package speedscope, the viewer to which "
	 "profile pages link. Default: the speedscope installed with "
	 "unhex, if "
	 "any."},
	/* TLS */
	{NULL, "tls-certificate", UX_SETTING_TEXT, AT(tls_certificate), NULL, 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "PEM file with the server's certificate, followed by the intermediate "
	 "certificates. If set, the server accepts only TLS 1.2 and 1.3. A "
	 "reload reads the file again."},
	{NULL, "tls-key", UX_SETTING_TEXT, AT(tls_key), NULL, 0, 0, UX_SETTING_LIVE, NULL,
	 "PEM file with the certificate's private key."},
	/* the log */
	{NULL, "log-format", UX_SETTING_CHOICE, AT(log_format), "text", 0, 0, UX_SETTING_LIVE,
	 formats, "Format of a log line: key=value (text) or a JSON object (json)."},
	{NULL, "log-level", UX_SETTING_CHOICE, AT(log_level), "info", 0, 0, UX_SETTING_LIVE, levels,
	 "Minimum level of log lines. Requests are logged as info, or as error "
	 "if their status is 500 or more."},
	{NULL, "log-sample", UX_SETTING_COUNT, AT(log_sample), "1", 0, 1000000, UX_SETTING_LIVE,
	 NULL,
	 "One in N successful requests is logged, chosen at random, with "
	 "sample=N in its line; 0: none. Requests with a status of 400 or "
	 "more, "
	 "and responses that did not reach the client, are always logged."},
	/* access and rates */
	{NULL, "trusted-proxies", UX_SETTING_LIST, AT(trusted_proxies), NULL, 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Proxies whose client headers are trusted (X-Forwarded-For, "
	 "X-Forwarded-Proto, Forwarded): addresses, networks such as "
	 "10.0.0.0/8, "
	 "or unix for Unix sockets. Headers of other peers are ignored."},
	{NULL, "origins", UX_SETTING_LIST, AT(origins), NULL, 0, 0, UX_SETTING_LIVE, NULL,
	 "Origins such as https://profiler.example.org whose pages may send "
	 "requests with a key; *: any origin. If everyone may read, pages "
	 "of "
	 "every origin may read; if only this machine may, pages of "
	 "https://profiler.firefox.com and https://www.speedscope.app may."},
	{NULL, "rate-key", UX_SETTING_COUNT, AT(rate_key), "0", 0, 1000000000, UX_SETTING_LIVE,
	 NULL,
	 "Requests per second of one key, unless the key has its own rate; 0: no "
	 "limit. Requests above the limit get 429; requests of debuginfod "
	 "clients wait."},
	{NULL, "rate-key-burst", UX_SETTING_COUNT, AT(rate_key_burst), "100", 1, 1000000000,
	 UX_SETTING_LIVE, NULL, "Burst of requests of one key after a pause."},
	{NULL, "rate-address", UX_SETTING_COUNT, AT(rate_address), "0", 0, 1000000000,
	 UX_SETTING_LIVE, NULL,
	 "Requests per second of one address (IPv6: one /64 network), with or "
	 "without a key; 0: no limit. Loopback addresses have no limit."},
	{NULL, "rate-address-burst", UX_SETTING_COUNT, AT(rate_address_burst), "100", 1, 1000000000,
	 UX_SETTING_LIVE, NULL, "Burst of requests of one address after a pause."},
	{NULL, "queue", UX_SETTING_TIME, AT(queue_ms), "30s", 0, MS(80), UX_SETTING_LIVE, NULL,
	 "Maximum time that a request of a debuginfod client waits under a rate "
	 "limit. If it would wait longer, the server resets the "
	 "connection, and "
	 "the client retries."},
	{NULL, "uploads-key", UX_SETTING_COUNT, AT(uploads_key), "1000", 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Maximum open uploads of one key, unless the key has its own limit; 0: "
	 "no limit. Further uploads get 429. Uploads announced more than "
	 "an hour "
	 "ago do not count."},
	{NULL, "uploads", UX_SETTING_COUNT, AT(uploads_all), "10000", 0, 0, UX_SETTING_LIVE, NULL,
	 "Maximum open uploads of all keys together; 0: no limit."},
	{NULL, "uploads-key-bytes", UX_SETTING_BYTES, AT(uploads_bytes_key), "0", 0, 0,
	 UX_SETTING_LIVE, NULL, "Maximum bytes of the open uploads of one key; 0: no limit."},
	{NULL, "uploads-bytes", UX_SETTING_BYTES, AT(uploads_bytes_all), "0", 0, 0, UX_SETTING_LIVE,
	 NULL, "Maximum bytes of the open uploads of all keys together; 0: no limit."},
	/* retention */
	{NULL, "keep-days", UX_SETTING_COUNT, AT(keep_days), "0", 0, 36500, UX_SETTING_LIVE, NULL,
	 "Days after which unused modules are removed, unless their namespace "
	 "has its own limit; 0: never."},
	{NULL, "cache", UX_SETTING_BYTES, AT(cache_bytes), "0", 0, 0, UX_SETTING_LIVE, NULL,
	 "Maximum bytes of recreatable data (extracted, or fetched from "
	 "upstreams); 0: no limit."},
	{NULL, "crawl-host-jobs", UX_SETTING_COUNT, AT(crawl_host_jobs), "4", 1, 1000,
	 UX_SETTING_LIVE, NULL,
	 "Maximum packages of one host, such as a mirror, that all workers of a "
	 "crawl lease at a time."},
	{NULL, "crawl-packages", UX_SETTING_COUNT, AT(crawl_packages), "4194304", 1, 0,
	 UX_SETTING_LIVE, NULL, "Maximum packages of crawls in one namespace."},
	{NULL, "crawl-repositories", UX_SETTING_COUNT, AT(crawl_repositories), "10000", 1, 0,
	 UX_SETTING_LIVE, NULL, "Maximum package repositories in one namespace."},
	{NULL, "keep-profiles", UX_SETTING_TIME, AT(keep_profiles_ms), "0", 0, 3650 * DAY,
	 UX_SETTING_LIVE, NULL,
	 "How long to keep profiles, uploaded or received as OpenTelemetry "
	 "messages; 0: keep none."},
	{NULL, "profile-bytes", UX_SETTING_BYTES, AT(profile_bytes), "4G", 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Maximum bytes of kept profiles; above it, the oldest profiles of the "
	 "largest namespace are removed. 0: no limit."},
	{NULL, "profile-count", UX_SETTING_COUNT, AT(profile_count), "1000000", 0, 0,
	 UX_SETTING_LIVE, NULL,
	 "Maximum kept profiles of one namespace; for each further one its "
	 "oldest profile is removed. 0: no limit."},
	{NULL, "min-free", UX_SETTING_BYTES, AT(min_free_bytes), "64M", 0, 0, UX_SETTING_LIVE, NULL,
	 "Bytes that must stay free on the disk of the store, but at most a "
	 "twentieth of the disk. Uploads that do not fit get 507 "
	 "(disk_full)."},
	{NULL, "audit-days", UX_SETTING_COUNT, AT(audit_days), "0", 0, 36500, UX_SETTING_LIVE, NULL,
	 "Days to keep entries of the audit log; 0: forever."},
	{NULL, "sweep-every", UX_SETTING_TIME, AT(sweep_every_ms), "1h", MS(1), 30 * DAY,
	 UX_SETTING_LIVE, NULL, "Interval between removals of unreferenced data from the store."},
	{NULL, "sweep-grace", UX_SETTING_TIME, AT(sweep_grace_ms), "1d", MS(60), 365 * DAY,
	 UX_SETTING_LIVE, NULL,
	 "Minimum age of unreferenced data and unfinished uploads that are "
	 "removed."},
	/* limits */
	{NULL, "connections", UX_SETTING_COUNT, AT(connections), "1024", 1, 1 << 20, 0, NULL,
	 "Maximum connections served at a time; fewer if the limit of file "
	 "descriptors is lower. Others wait."},
	{NULL, "address-connections", UX_SETTING_COUNT, AT(address_connections), "256", 1, 1 << 20,
	 0, NULL,
	 "Maximum connections of one address (IPv6: one network), except "
	 "loopback addresses and trusted proxies."},
	{NULL, "threads", UX_SETTING_COUNT, AT(threads), "0", 0, 1024, 0, NULL,
	 "Threads that answer requests, and as many threads that only "
	 "move bytes and answer probes; 0: two per processor, at "
	 "least 4. One client (a key, or an address without a key) "
	 "occupies at most half of the answering threads, the keys of one "
	 "namespace at most three quarters."},
	{NULL, "client-queue", UX_SETTING_COUNT, AT(client_queue), "256", 1, 1 << 20, 0, NULL,
	 "Maximum requests of one client that wait for a thread; further "
	 "requests get 429. Namespaces take turns, and in each its clients."},
	{NULL, "request-time", UX_SETTING_TIME, AT(request_ms), "30s", MS(1), MS(3600),
	 UX_SETTING_LIVE, NULL,
	 "Deadline of a request, from its last byte to its response; then it "
	 "gets 503 and the code deadline. Transfers, and waiting for "
	 "upstream "
	 "files in debuginfod's protocol, do not count."},
	{NULL, "header-bytes", UX_SETTING_BYTES, AT(header_bytes), "32K", K(4), M(1), 0, NULL,
	 "Memory per connection for the request line and headers."},
	{NULL, "body-bytes", UX_SETTING_BYTES, AT(body_bytes), "16M", K(1), G(1), UX_SETTING_LIVE,
	 NULL,
	 "Maximum size of a request body other than an upload, on routes that "
	 "accept large bodies; larger bodies get 413."},
	{NULL, "otlp-bytes", UX_SETTING_BYTES, AT(otlp_bytes), "64M", K(1), G(1), UX_SETTING_LIVE,
	 NULL,
	 "Maximum size of a decompressed message of OpenTelemetry profiles; "
	 "larger messages get 413."},
	{NULL, "otlp-forward", UX_SETTING_TEXT, AT(otlp_forward), NULL, 0, 0, 0, NULL,
	 "URL of the receiver to which symbolized OpenTelemetry profiles are "
	 "forwarded; without a path, /v1development/profiles is added. "
	 "Default: "
	 "do not forward."},
	{NULL, "otlp-forward-headers", UX_SETTING_TEXT, AT(otlp_forward_headers), NULL, 0, 0, 0,
	 NULL,
	 "File with headers for that receiver, such as Authorization: one NAME: "
	 "VALUE per line."},
	{NULL, "otlp-forward-connections", UX_SETTING_COUNT, AT(otlp_forward_connections), "1", 1,
	 16, 0, NULL,
	 "Connections to that receiver. One connection keeps the order of all "
	 "messages; several keep the order per sender."},
	{NULL, "otlp-queue", UX_SETTING_TEXT, AT(otlp_queue), NULL, 0, 0, 0, NULL,
	 "Folder of messages that wait to be forwarded. Default: otlp-queue in "
	 "the folder of the store."},
	{NULL, "otlp-queue-bytes", UX_SETTING_BYTES, AT(otlp_queue_bytes), "1G", M(1), 0, 0, NULL,
	 "Maximum compressed bytes of waiting messages on disk; further messages "
	 "get 429."},
	{NULL, "upload-bytes", UX_SETTING_BYTES, AT(upload_bytes), "4G", K(1), 0, UX_SETTING_LIVE,
	 NULL, "Maximum size of an upload; larger uploads get 413."},
	{NULL, "drain-bytes", UX_SETTING_BYTES, AT(drain_bytes), "32M", 0, G(1), UX_SETTING_LIVE,
	 NULL,
	 "Bytes of a refused body that are read and discarded, so that the "
	 "client sees the response."},
	{NULL, "request-memory", UX_SETTING_BYTES, AT(request_memory), "64M", M(1), G(4),
	 UX_SETTING_LIVE, NULL, "Memory per request, in addition to its body and response."},
	{NULL, "memory", UX_SETTING_BYTES, AT(memory_bytes), "1G", M(16), 0, UX_SETTING_LIVE, NULL,
	 "Memory for the bodies and responses of all requests together; requests "
	 "above it get 503. One client (a key, or an address without a "
	 "key) uses "
	 "at most half of it, and bodies are received while less than "
	 "half is "
	 "used. Requests of up to 64 KiB do not count. Caches of open "
	 "modules "
	 "use a quarter of it in addition, 8 MiB to 1 GiB."},
	{NULL, "idle", UX_SETTING_TIME, AT(idle_ms), "30s", MS(1), MS(3600), 0, NULL,
	 "Time without a byte sent or received, or without a complete request "
	 "header, after which a connection is closed."},
	{NULL, "slowest-rate", UX_SETTING_BYTES, AT(slowest_rate), "512", 1, G(1), 0, NULL,
	 "Minimum bytes per second of bodies and responses in each period of "
	 "\"idle\"; slower connections are closed. While a quarter of "
	 "\"memory\" "
	 "is in use, connections that hold some of it must move 32 KiB per "
	 "second."},
	{NULL, "stop", UX_SETTING_TIME, AT(stop_ms), "20s", 0, MS(3600), UX_SETTING_LIVE, NULL,
	 "How long a stopping server waits for requests in flight before it "
	 "closes their connections. The process ends at most 10 seconds "
	 "later."},
	{NULL, "watchdog", UX_SETTING_TIME, AT(watchdog_ms), "3m", MS(1), MS(3600), UX_SETTING_LIVE,
	 NULL,
	 "How long a thread may be busy with one request or with periodic work. "
	 "Above it, /healthz answers 503 and the server stops notifying "
	 "systemd's watchdog, which restarts it."},
	{NULL, "open-modules", UX_SETTING_COUNT, AT(open_modules), "256", 1, 100000, 0, NULL,
	 "Maximum modules that stay mapped for lookups."},
	/* extraction */
	{NULL, "extract-workers", UX_SETTING_COUNT, AT(extract_workers), "0", 0, 256, 0, NULL,
	 "Uploaded files that are extracted at a time; 0: one per processor, at "
	 "least 2. Namespaces take turns. With at least 2, one is "
	 "reserved for "
	 "files that take less than 15 s."},
	{NULL, "extract-memory", UX_SETTING_BYTES, AT(extract_memory), "2G", M(64), 0, 0, NULL,
	 "Memory for the extraction of one uploaded file, in addition to the "
	 "file."},
	{NULL, "extract-output", UX_SETTING_BYTES, AT(extract_output), "2G", M(1), 0, 0, NULL,
	 "Maximum output in bytes of the extraction of one uploaded file."},
	{NULL, "extract-time", UX_SETTING_TIME, AT(extract_ms), "10m", MS(1), MS(24 * 3600), 0,
	 NULL, "CPU time for the extraction of one uploaded file."},
	/* upstreams */
	{NULL, "upstreams", UX_SETTING_LIST, AT(upstreams), "system", 0, 0, UX_SETTING_LIVE, NULL,
	 "Upstreams to query, in this order, for missing modules: unhex+URL, "
	 "debuginfod+URL, bucket+URL, packages+URL, dir:/PATH or "
	 "packages:/PATH, "
	 "each optionally followed by ,name=NAME ,token-file=FILE "
	 ",private; or system: the debuginfod servers in DEBUGINFOD_URLS, or "
	 "else in the files /etc/debuginfod/*.urls. Empty: none."},
	{NULL, "upstream-absent", UX_SETTING_TIME, AT(upstream_absent_ms), "1h", MS(1), 365 * DAY,
	 UX_SETTING_LIVE, NULL, "How long to cache that an upstream lacks a module."},
	{NULL, "upstream-failed", UX_SETTING_TIME, AT(upstream_failed_ms), "1m", MS(1), 365 * DAY,
	 UX_SETTING_LIVE, NULL, "How long to cache that an upstream failed or sent a broken file."},
	{NULL, "upstream-bytes", UX_SETTING_BYTES, AT(upstream_bytes), "4G", K(1), 0,
	 UX_SETTING_LIVE, NULL, "Maximum size of a file fetched from an upstream."},
	{NULL, "upstream-kept", UX_SETTING_BYTES, AT(upstream_kept), "20G", 0, 0, UX_SETTING_LIVE,
	 NULL,
	 "Maximum bytes of files fetched from upstreams and of the data "
	 "extracted from them; above it, the least recently used are "
	 "removed. In "
	 "a namespace with a quota, the quota applies too. 0: no limit."},
	{NULL, "upstream-time", UX_SETTING_TIME, AT(upstream_ms), "10m", MS(1), MS(24 * 3600),
	 UX_SETTING_LIVE, NULL, "Timeout of the transfer of one file from an upstream."},
};
static_assert(ux_countof(rows) <= UX_SETTINGS_MAX, "a file's reader remembers each");

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
				    "set both tls-certificate and tls-key, or neither");
	return UX_OK;
}

enum ux_code ux_settings_load(const struct ux_settings_source *source, struct ux_settings **ret,
			      struct ux_error *err)
{
	ux_cleanup(settings_guard) struct ux_settings *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	ux_arena_init(&s->arena, MEMORY_MAX);
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
