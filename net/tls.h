/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate that a server shows, exchanged while it serves. */
#ifndef UX_TLS_H
#define UX_TLS_H

#include "bytes.h"
#include "error.h"

enum {
	UX_TLS_FILE_MOST = 1 << 20,
	UX_TLS_CHAIN_MOST = 16 /* certificates */
};

/*
 * Reads both PEM files and, when they are a pair, shows them to every client that comes from now
 * on; connections that are open keep what they have. What is shown is the process's: one server of
 * it speaks TLS. On failure what was shown before stays. UX_EINVAL: no certificate, no key, or not
 * of each other; the codes of ux_error_os(). Any thread, one at a time.
 */
enum ux_code ux_tls_load(const char *certificate, const char *key, struct ux_error *err) ux_must;

/* When the certificate ends, seconds since 1970; 0: none is loaded. Any thread. */
int64_t ux_tls_expires(void);

/* After the last connection. */
void ux_tls_unload(void);

/* A gnutls_certificate_retrieve_function2 that gives what ux_tls_load() loaded last, as a pointer
 * to hand on. */
void *ux_tls_certificate_callback(void);

/* The priorities for GnuTLS: 1.3 and 1.2. */
#define UX_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

#endif
