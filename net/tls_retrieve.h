/* SPDX-License-Identifier: Apache-2.0 */
/* What GnuTLS calls for a certificate; apart, so that few files know its types. */
#ifndef UX_TLS_RETRIEVE_H
#define UX_TLS_RETRIEVE_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

/* gnutls_certificate_retrieve_function2: what ux_tls_load() loaded last. */
int ux_tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int n_authorities,
		    const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
		    gnutls_pcert_st **ret, unsigned *ret_n, gnutls_privkey_t *ret_key);

#endif
