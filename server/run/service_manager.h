/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between systemd, or a compatible service manager, and the server. */
#ifndef UX_SERVICE_MANAGER_H
#define UX_SERVICE_MANAGER_H

#include "error.h"

/*
 * Returns the listening socket that was passed (LISTEN_PID, LISTEN_FDS: sd_listen_fds(3)), or -1,
 * and removes these variables from the environment. UX_EINVAL: several sockets were passed.
 */
enum ux_code ux_passed_socket(int *ret, struct ux_error *err) ux_must;

/*
 * Sends assignments, one on each line ("READY=1\nSTATUS=..."), to NOTIFY_SOCKET (sd_notify(3)), if
 * it is set. Errors are ignored.
 */
void ux_service_notify(const char *fmt, ...) ux_printf(1, 2);

/* Sends "RELOADING=1" with the timestamp that the protocol requires. */
void ux_service_reloading(void);

/* Returns the interval in seconds at which "WATCHDOG=1" should be sent; 0: never. */
unsigned ux_service_watchdog(void);

#endif
