/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles SIGBUS, which is raised when a file shrinks while it is mapped: the command prints a
 * message and exits with status 1 instead of dumping core. SIGINT, SIGTERM and SIGHUP still end it.
 * All of them first remove its unfinished files.
 */
#ifndef UX_SIGBUS_H
#define UX_SIGBUS_H

/* Installs the handlers. It must be called once, before threads are created. */
void ux_sigbus_init(void);

/* Sets the file name for the message; with NULL the message says "a file". The string must stay
 * valid. */
void ux_sigbus_reading(const char *path);

#endif
