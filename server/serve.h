/* SPDX-License-Identifier: Apache-2.0 */
/* The server: everything of `unhex serve` but its options' text. */
#ifndef UX_SERVE_H
#define UX_SERVE_H

#include "error.h"

/* Who may read and symbolize without a key. */
enum ux_reading {
	UX_READING_AUTO, /* anyone on this machine when listening on loopback, keys elsewhere */
	UX_READING_OPEN,
	UX_READING_KEYED,
};

struct ux_server_options {
	const char *listen; /* NULL: 127.0.0.1:8420; port 0 takes a free one */
	const char *data;   /* folder; NULL: ux_store_default_dir() */
	enum ux_reading reading;
	int64_t keep_s; /* modules unused for so long go, unless their namespace says; 0: never */
	uint64_t cache_bytes; /* of what can be had again; 0: no bound */
};

/*
 * Serves until SIGTERM or SIGINT, then lets requests in flight end and returns UX_OK. Prints to
 * stdout, on the first start of a folder, "unhex: admin key TOKEN ..." once, and then
 * "unhex: serving on http://HOST:PORT data=DIR" when it is ready; logs to stderr. Blocks SIGTERM,
 * SIGINT and SIGPIPE in the process: call it from main() before there are threads.
 *
 * UX_EINVAL: an address that makes no sense. UX_EUNAVAILABLE: the address is taken. UX_ECONFLICT:
 * another server holds the folder.
 */
enum ux_code ux_server_run(const struct ux_server_options *options, struct ux_error *err) ux_must;

#endif
