/* SPDX-License-Identifier: Apache-2.0 */
/* A file that shrinks while it is mapped: a message and exit status 1 instead of a core dump. */
#ifndef UX_SIGBUS_H
#define UX_SIGBUS_H

/* Catches SIGBUS for the whole process; once, before there are threads. */
void ux_sigbus_init(void);

/* Names the file that the message is about. Kept, not copied; NULL: "a file". */
void ux_sigbus_reading(const char *path);

/* A file to remove before the process ends, or NULL. Kept, not copied. */
void ux_sigbus_remove(const char *path);

#endif
