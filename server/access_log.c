/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr. */
#include "access_log.h"

#include "json_out.h"
#include "server.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum {
	QUOTED = 400, /* room for a text of strangers, quoted */
	LINE = 1280   /* room for two of them and all the rest */
};

static int stamp(char *buf, size_t size)
{
	struct timespec t;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	size_t n = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return (int)n + snprintf(buf + n, size - n, ".%03ldZ", t.tv_nsec / 1000000);
}

/* One write a line: lines of several threads do not mix. */
void ux_log_line(const char *level, const char *event, const char *fmt, ...)
{
	char line[LINE], when[40];
	va_list args;
	stamp(when, sizeof(when));
	int n = snprintf(line, sizeof(line), "time=%s level=%s event=%s ", when, level, event);
	va_start(args, fmt);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
	va_end(args);
	size_t size = ux_min((size_t)n + (size_t)ux_max(m, 0), sizeof(line) - 2);
	line[size] = '\n';
	if (write(STDERR_FILENO, line, size + 1) < 0)
		return; /* nobody listens, and there is nobody to tell */
}

/* Whole escapes and both quotes, however little fits: a cut quote would swallow what follows. */
const char *ux_log_quote(struct ux_bytes s, char *buf, size_t size)
{
	static const char cut[] = "...";
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t shown = ux_min(s.size, size);
	do {
		struct ux_json j = ux_json_make(&out);
		ux_out_reset(&out);
		ux_json_str(&j, ux_bytes(s.data, shown));
	} while (out.size + sizeof(cut) > size && shown-- > 0);
	snprintf(buf, size, "%.*s%s", (int)out.size, out.data ? (char *)out.data : "\"\"",
		 shown == s.size ? "" : cut);
	return buf;
}

void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us)
{
	(void)ctx;
	const struct ux_caller *caller = req->caller;
	char path[QUOTED], why[QUOTED + 8] = "";
	const char *key = caller && caller->key_id[0] != '\0' ? caller->key_id : "-";
	if (req->err.code != UX_OK) {
		char text[256], quoted[QUOTED];
		ux_error_format(&req->err, text, sizeof(text));
		snprintf(why, sizeof(why), " error=%s",
			 ux_log_quote(ux_bytes_cstr(text), quoted, sizeof(quoted)));
	}
	uint64_t bytes = res->fd_size > 0 ? res->fd_size : res->body.size;
	ux_log_line(res->status >= 500 ? "error" : "info", "request",
		    "request=%" PRIu64 " method=%s path=%s status=%u sent=%s "
		    "duration_us=%" PRIu64 " in=%" PRIu64 " out=%" PRIu64 " key=%s%s",
		    req->id, ux_method_name(req->method),
		    ux_log_quote(req->path, path, sizeof(path)), res->status, sent ? "yes" : "no",
		    duration_us, req->body_size, bytes, key, why);
}
