/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarder of a running server. */
#include "forwarding.h"

#include "event_log.h"
#include "forwarder.h"

static void forwarding_log(void *ctx, const char *level, const char *event, const char *text)
{
	char quoted[300];
	(void)ctx;
	ux_log_line(level, event, "what=%s",
		    ux_log_quote(ux_bytes_cstr(text), quoted, sizeof(quoted)));
}

static struct ux_forward_options forwarding_options(const struct ux_settings *settings)
{
	return (struct ux_forward_options){
		.url = settings->otlp_forward,
		.header_file = settings->otlp_forward_headers,
		.bytes_max = settings->otlp_queue_bytes,
		.connections = (unsigned)settings->otlp_forward_connections,
		.log = forwarding_log,
	};
}

enum ux_code ux_forwarding_check(const struct ux_settings *settings, struct ux_error *err)
{
	const struct ux_forward_options options = forwarding_options(settings);
	return options.url ? ux_forward_check(&options, err) : UX_OK;
}

enum ux_code ux_forwarding_open(struct ux_server *s, const struct ux_settings *settings,
				const char *dir, struct ux_error *err)
{
	static const char name[] = "/otlp-queue";
	struct ux_forward_options options = forwarding_options(settings);
	ux_cleanup(ux_free_ptr) char *beside = malloc(strlen(dir) + sizeof(name));
	if (!options.url)
		return UX_OK;
	if (!beside)
		return ux_error_nomem(err);
	memcpy(beside, dir, strlen(dir));
	memcpy(beside + strlen(dir), name, sizeof(name));
	options.dir = settings->otlp_queue ? settings->otlp_queue : beside;
	return ux_forwarder_open(&s->forwarder, &options, err);
}
