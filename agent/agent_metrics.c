/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and state of the agent, for Prometheus. */
#include "agent_metrics.h"

#include "clock.h"
#include "http_server.h"
#include "metric_text.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 16,
	CONNECTIONS_MAX = 16,
	STALLED_MS = 60000, /* ms without a sign; the watching thread gives a sign each 10 s */
	MS_IN_S = 1000,
};

static const char unix_prefix[] = "unix:";

/* Data of the HTTP server, which stay until it stops. */
struct ux_metrics_server {
	struct ux_http_app app;
	struct ux_http_memory memory;
};

struct metric_row {
	const char *name, *type, *help;
	uint64_t value;
};

static void metric_rows_write(struct ux_out *out, const struct metric_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ux_metric_one(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

static uint64_t metric_read(const _Atomic uint64_t *metric)
{
	return atomic_load_explicit(metric, memory_order_relaxed);
}

static void metrics_write_modules(const struct ux_agent_metrics *m, struct ux_out *out)
{
	ux_metric_head(out, "unhex_agent_modules_total", "counter", "Modules by result.");
	for (unsigned i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		ux_out_fmt(out, "unhex_agent_modules_total{result=\"%s\"} %" PRIu64 "\n",
			   ux_push_status_name((enum ux_push_status)i),
			   metric_read(&m->modules[i]));
}

static void metrics_write_host(struct ux_agent_metrics *m, struct ux_out *out)
{
	const struct ux_host_seen s = ux_host_watch_seen(m->watch);
	const struct metric_row rows[] = {
		{"unhex_agent_processes", "gauge", "Processes seen by the last scan.", s.processes},
		{"unhex_agent_denied_processes", "gauge",
		 "Processes whose mappings this user may not read.", s.denied},
		{"unhex_agent_files_total", "counter", "Distinct mapped files found.", s.files},
		{"unhex_agent_untrusted_files_total", "counter",
		 "Mapped files left out because others than root can change them.", s.untrusted},
		{"unhex_agent_hidden_files_total", "counter",
		 "Mapped files that this user may not open, counted at each scan.", s.hidden},
		{"unhex_agent_vanished_files_total", "counter",
		 "Mapped files that were gone before they were opened, counted at each scan.",
		 s.vanished},
		{"unhex_agent_hung_total", "counter",
		 "Times that a file system did not answer, so that its files were put off.",
		 s.hung + metric_read(&m->hung)},
		{"unhex_agent_mapping_events_total", "counter",
		 "New mappings reported by the kernel.", s.events},
		{"unhex_agent_lost_events_total", "counter",
		 "Full scans because the kernel dropped reports.", s.lost},
	};
	metric_rows_write(out, rows, ux_countof(rows));
}

static void metrics_write_queue(const struct ux_agent_metrics *m, struct ux_out *out)
{
	const struct ux_disk_queue_state q =
		m->queue ? ux_disk_queue_state(m->queue) : (struct ux_disk_queue_state){0};
	const struct metric_row rows[] = {
		{"unhex_agent_queued_modules_total", "counter",
		 "Modules whose symbols were queued while the server was unreachable.",
		 metric_read(&m->queued)},
		{"unhex_agent_queue_modules", "gauge", "Modules whose symbols are queued on disk.",
		 q.messages},
		{"unhex_agent_queue_bytes", "gauge", "Size of the queue on disk in bytes.",
		 q.bytes},
		{"unhex_agent_queue_limit_bytes", "gauge", "Maximum size of the queue in bytes.",
		 q.bytes_max},
		{"unhex_agent_queue_oldest_seconds", "gauge",
		 "Age of the oldest queue entry in seconds.", q.oldest_s},
		{"unhex_agent_queue_dropped_total", "counter",
		 "Modules dropped from the queue to make room.", q.dropped},
		{"unhex_agent_queue_lost_total", "counter", "Modules whose queue file was lost.",
		 q.lost},
	};
	metric_rows_write(out, rows, ux_countof(rows));
}

static void metrics_write_runtime(const struct ux_agent_metrics *m, struct ux_out *out)
{
	const struct metric_row rows[] = {
		{"unhex_agent_runtime_processes", "gauge",
		 "Processes whose run-time code is tracked.", metric_read(&m->runtime_processes)},
		{"unhex_agent_runtime_left_out_total", "counter",
		 "Processes with run-time code beyond the limit of tracked processes.",
		 metric_read(&m->runtime_left_out)},
		{"unhex_agent_runtime_snapshots_total", "counter",
		 "Snapshots of run-time code with new symbols.",
		 metric_read(&m->runtime_snapshots)},
		{"unhex_agent_runtime_bytes_total", "counter",
		 "Bytes of symbols in these snapshots.", metric_read(&m->runtime_bytes)},
	};
	metric_rows_write(out, rows, ux_countof(rows));
}

void ux_agent_metrics_write(struct ux_agent_metrics *m, struct ux_out *out)
{
	const struct metric_row rows[] = {
		{"unhex_agent_server_up", "gauge", "1 if the last request reached the server.",
		 !metric_read(&m->away)},
		{"unhex_agent_waiting_files", "gauge",
		 "Files that were found and are not yet processed.", metric_read(&m->waiting)},
		{"unhex_agent_upload_bytes_total", "counter",
		 "Bytes of symbols that were uploaded.", metric_read(&m->upload_bytes)},
		{"unhex_agent_known_answers", "gauge",
		 "Cached answers of the server, for files and for IDs.", metric_read(&m->known)},
		{"unhex_agent_unwritten_answers_total", "counter",
		 "Answers that could not be written to disk.", metric_read(&m->not_written)},
		{"unhex_agent_cpu_seconds_total", "counter",
		 "CPU time of the agent and its children.", metric_read(&m->cpu_ms) / MS_IN_S},
		{"unhex_agent_paused_seconds_total", "counter",
		 "Time spent waiting for the CPU or bandwidth limit.",
		 metric_read(&m->paused_ms) / MS_IN_S},
	};
	ux_metric_head(out, "unhex_build_info", "gauge", "Version of unhex; always 1.");
	ux_out_fmt(out, "unhex_build_info{version=\"%s\"} 1\n", UX_VERSION);
	metric_rows_write(out, rows, ux_countof(rows));
	metrics_write_modules(m, out);
	metrics_write_host(m, out);
	metrics_write_queue(m, out);
	metrics_write_runtime(m, out);
}

/* --- serving them ----------------------------------------------------------------------------- */

static enum ux_code metrics_answer(struct ux_request *req, struct ux_response *res)
{
	ux_agent_metrics_write(req->app, &req->out);
	return ux_response_out(req, res, UX_METRIC_TEXT_TYPE);
}

static bool metrics_is_old(uint64_t sign_ms, uint64_t now_ms, uint64_t max_ms)
{
	return sign_ms != 0 && sign_ms < now_ms && now_ms - sign_ms > max_ms;
}

const char *ux_agent_metrics_stalled(const struct ux_agent_metrics *m, uint64_t now_ms)
{
	if (metrics_is_old(metric_read(&m->watch->alive_ms), now_ms, STALLED_MS))
		return "finding files";
	return metrics_is_old(metric_read(&m->alive_ms), now_ms, STALLED_MS + m->patience_ms)
		       ? "sending symbols"
		       : NULL;
}

/* A probe that asks whether the port answers would never find a loop that hangs. */
static enum ux_code metrics_answer_health(struct ux_request *req, struct ux_response *res)
{
	const char *what = ux_agent_metrics_stalled(req->app, (uint64_t)ux_clock_ms());
	ux_out_fmt(&req->out, "{\"status\":\"%s\"%s%s%s}\n", what ? "stalled" : "ok",
		   what ? ",\"part\":\"" : "", what ? what : "", what ? "\"" : "");
	UX_TRY(ux_response_out(req, res, "application/json"));
	res->status = what ? 503 : res->status;
	return UX_OK;
}

static const struct ux_route metrics_routes[] = {
	{UX_METHOD_GET, "/metrics", metrics_answer, NULL, 0, "for Prometheus", .probe = true},
	{UX_METHOD_GET, "/healthz", metrics_answer_health, NULL, 0, "liveness probe",
	 .probe = true},
};

/* Listens on a Unix socket. A socket that an ended process left there is replaced, any other file
 * is not. */
static enum ux_code metrics_listen_unix(const char *path, int *ret, struct ux_error *err)
{
	struct stat st;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) == 0 || strlen(path) >= sizeof(address.sun_path))
		return ux_error_set(err, UX_EINVAL,
				    "path of %zu bytes is too long for a Unix socket",
				    strlen(path));
	memcpy(address.sun_path, path, strlen(path));
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret >= 0 && bind(*ret, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(*ret, BACKLOG) == 0)
		return UX_OK;
	int status = errno;
	if (*ret >= 0)
		close(*ret);
	*ret = -1;
	return ux_error_os(err, status, "cannot listen on %s", path);
}

enum ux_code ux_agent_metrics_open(struct ux_agent_metrics *m, const char *address,
				   struct ux_error *err)
{
	struct ux_http_endpoint endpoint = {.listen = address, .fd = -1};
	const char *path = strncmp(address, unix_prefix, strlen(unix_prefix)) == 0
				   ? address + strlen(unix_prefix)
				   : NULL;
	m->server = calloc(1, sizeof(*m->server));
	m->socket = path ? strdup(path) : NULL;
	if (!m->server || (path && !m->socket))
		return ux_error_nomem(err);
	m->server->app = (struct ux_http_app){
		.routes = metrics_routes,
		.n_routes = ux_countof(metrics_routes),
		.ctx = m,
		.memory = &m->server->memory,
		.limits = ux_http_limits_default(
			(struct ux_http_limits){.connections = CONNECTIONS_MAX, .threads = 1}),
	};
	m->server->memory.max = m->server->app.limits.memory_bytes;
	if (path)
		UX_TRY(metrics_listen_unix(path, &endpoint.fd, err));
	return ux_http_server_open_at(&m->http, &endpoint, &m->server->app, err);
}

void ux_agent_metrics_close(struct ux_agent_metrics *m)
{
	if (m->http && m->socket)
		(void)unlink(m->socket);
	ux_http_server_cut(m->http);
	free(m->socket);
	free(m->server);
	*m = (struct ux_agent_metrics){0};
}
