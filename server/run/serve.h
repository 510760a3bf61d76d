/* SPDX-License-Identifier: Apache-2.0 */
/* The server: everything of `unhex serve` but its options' text. */
#ifndef UX_SERVE_H
#define UX_SERVE_H

#include "settings.h"

/*
 * Takes over settings, which were loaded from source; both are read again by a reload.
 * Serves until SIGTERM or SIGINT, then lets requests in flight end and returns UX_OK. Prints to
 * stdout, on the first start of a folder, "unhex: admin key TOKEN ..." once, and then
 * "unhex: serving on http://HOST:PORT data=DIR" when it is ready; logs to stderr. Blocks SIGTERM,
 * SIGINT and SIGPIPE in the process: call it from main() before there are threads.
 *
 * UX_EINVAL: an address that makes no sense. UX_EUNAVAILABLE: the address is taken. UX_ECONFLICT:
 * another server holds the folder.
 */
enum ux_code ux_server_run(const struct ux_settings_source *source, struct ux_settings *settings,
			   struct ux_error *err) ux_must;

#endif
