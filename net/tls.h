/* SPDX-License-Identifier: Apache-2.0 */
/* The server's TLS certificate, which can be replaced while it serves. */
#ifndef UX_TLS_H
#define UX_TLS_H

#include "bytes.h"
#include "error.h"

enum {
	UX_TLS_FILE_MAX = 1 << 20,
	UX_TLS_CHAIN_MAX = 16 /* certificates in a chain */
};

/*
 * Loads a certificate chain and its key from PEM files, for all connections accepted from now on;
 * open connections keep theirs. There is one certificate for the process. On failure the previous
 * one stays in use. UX_EINVAL: a file has no certificate or key, or the two do not match; also the
 * codes of ux_error_os(). Any thread, one at a time.
 */
enum ux_code ux_tls_load(const char *certificate, const char *key, struct ux_error *err) ux_must;

/*
 * Returns the expiry of the loaded certificate in seconds since 1970; 0: none is loaded. Any
 * thread.
 */
int64_t ux_tls_expires(void);

/* Unloads the certificate. Called after the last connection has ended. */
void ux_tls_unload(void);

/*
 * Returns a gnutls_certificate_retrieve_function2, as an opaque pointer, that returns the
 * certificate loaded last.
 */
void *ux_tls_certificate_callback(void);

/* GnuTLS priorities: TLS 1.3 and 1.2. */
#define UX_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

#endif
