/* SPDX-License-Identifier: Apache-2.0 */
/* A file that shrinks while it is mapped: a message and exit status 1 instead of a core dump. */
#ifndef UX_SIGBUS_H
#define UX_SIGBUS_H

/* Installs the handler of SIGBUS; to be called once, before there are threads. */
void ux_sigbus_init(void);

/* Sets the file name for the message. The pointer is kept; NULL: "a file". */
void ux_sigbus_reading(const char *path);

/* Sets a file to remove before the process ends, or NULL. The pointer is kept. */
void ux_sigbus_remove(const char *path);

#endif
