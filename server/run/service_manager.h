/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager (systemd's protocol) gives and wants to know. */
#ifndef UX_SERVICE_MANAGER_H
#define UX_SERVICE_MANAGER_H

#include "error.h"

/*
 * The one listening socket that was passed (LISTEN_PID, LISTEN_FDS: sd_listen_fds(3)), or -1. The
 * variables are taken out of the environment. UX_EINVAL: several were passed.
 */
enum ux_code ux_passed_socket(int *ret, struct ux_error *err) ux_must;

/*
 * Sends assignments, one a line ("READY=1\nSTATUS=..."), to NOTIFY_SOCKET (sd_notify(3)), if there
 * is one; a manager that does not listen changes nothing.
 */
void ux_service_notify(const char *fmt, ...) ux_printf(1, 2);

/* "RELOADING=1" with the time that the manager wants beside it. */
void ux_service_reloading(void);

/* How often, in seconds, the manager wants to hear "WATCHDOG=1"; 0: never. */
unsigned ux_service_watchdog(void);

#endif
