/* SPDX-License-Identifier: Apache-2.0 */
/* unhex symbolize --otlp-listen: names OpenTelemetry profiles in transit. */
#ifndef UX_OTLP_SIDECAR_H
#define UX_OTLP_SIDECAR_H

#include "profile_input.h"

/* Embed in a command's values and add UX_OTLP_OPTIONS to its table. */
struct ux_otlp_values {
	const char *listen;
	const char *forward;
	const char *headers;
	const char *queue;
	uint64_t queue_bytes; /* 0: the default */
	bool open;            /* other machines may send */
};

/* clang-format off */
#define UX_OTLP_OPTIONS(values, member) \
	{"otlp-listen", 0, UX_OPTION_TEXT, offsetof(values, member.listen), "HOST:PORT", \
	 "receive profiles by OTLP/HTTP until SIGTERM, instead of reading PROFILE"}, \
	{"otlp-open", 0, UX_OPTION_FLAG, offsetof(values, member.open), NULL, \
	 "let --otlp-listen receive from other machines, from everyone and without a key"}, \
	{"otlp-forward", 0, UX_OPTION_TEXT, offsetof(values, member.forward), "URL", \
	 "forward the profiles to this OTLP receiver"}, \
	{"otlp-headers", 0, UX_OPTION_TEXT, offsetof(values, member.headers), "FILE", \
	 "file of headers for the receiver, one NAME: VALUE per line"}, \
	{"otlp-queue", 0, UX_OPTION_TEXT, offsetof(values, member.queue), "DIR", \
	 "folder of the profiles that wait to be forwarded"}, \
	{"otlp-queue-bytes", 0, UX_OPTION_BYTES, offsetof(values, member.queue_bytes), "SIZE", \
	 "maximum disk space of waiting profiles [1G]"}
/* clang-format on */

/*
 * Takes profiles until SIGTERM or SIGINT. Prints "unhex: taking profiles on http://HOST:PORT" to
 * stdout when it is ready. Returns the exit status. A build without a server reports that it has
 * none.
 */
int ux_otlp_sidecar_run(const struct ux_command *cmd, const struct ux_otlp_values *values,
			struct ux_profile_options *options);

#endif
