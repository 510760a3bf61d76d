/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets from text. */
#ifndef UX_LISTEN_H
#define UX_LISTEN_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for "[IPv6%zone]:65535" and for "unix:" with a path. */
enum {
	UX_LISTEN_TEXT = 128
};

/* A listening TCP socket for "HOST:PORT"; address gets where it really listens. */
enum ux_code ux_listen_open(const char *text, unsigned backlog, int *ret_fd, char *address,
			    size_t size, struct ux_error *err) ux_must;

/* UX_EINVAL when "HOST:PORT" makes no sense or resolves to nothing; nothing is opened. */
enum ux_code ux_listen_check(const char *text, struct ux_error *err) ux_must;

/* True when "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_listen_is_loopback(const char *text);

/*
 * The same words for a socket that somebody else opened: "HOST:PORT", or "unix:PATH". UX_EINVAL: it
 * is no stream socket that listens. It becomes non-blocking and close-on-exec.
 */
enum ux_code ux_listen_adopt(int fd, char *address, size_t size, struct ux_error *err) ux_must;

#endif
