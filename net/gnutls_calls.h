/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GnuTLS, linked or loaded on demand.
 *
 * Together with libmicrohttpd, which needs it, it took a third of the command's startup time, and
 * only servers and the verification of distributions' indexes use it. With UX_GNUTLS_SONAME, the
 * file name of the library, its functions are called through the pointers of ux_gnutls.
 */
#ifndef UX_GNUTLS_CALLS_H
#define UX_GNUTLS_CALLS_H

#include "error.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* Functions of GnuTLS that we use. */
#define UX_GNUTLS_CALLS(X)                         \
	X(gnutls_certificate_allocate_credentials) \
	X(gnutls_certificate_free_credentials)     \
	X(gnutls_certificate_set_x509_key_mem)     \
	X(gnutls_pcert_deinit)                     \
	X(gnutls_pcert_import_x509)                \
	X(gnutls_pk_to_sign)                       \
	X(gnutls_privkey_deinit)                   \
	X(gnutls_privkey_import_x509_raw)          \
	X(gnutls_privkey_init)                     \
	X(gnutls_pubkey_deinit)                    \
	X(gnutls_pubkey_get_pk_algorithm)          \
	X(gnutls_pubkey_import)                    \
	X(gnutls_pubkey_init)                      \
	X(gnutls_pubkey_verify_data2)              \
	X(gnutls_strerror)                         \
	X(gnutls_x509_crt_deinit)                  \
	X(gnutls_x509_crt_get_expiration_time)     \
	X(gnutls_x509_crt_list_import)

/*
 * Loads GnuTLS for the life of the process, once, if it is not linked. Call no function of it
 * before it has returned UX_OK. UX_EUNSUPPORTED: it is not installed, or lacks a function. Any
 * thread.
 */
enum ux_code ux_gnutls_load(struct ux_error *err) ux_must;

#ifdef UX_GNUTLS_SONAME
/* The functions of the loaded library; NULL before it is loaded. */
struct ux_gnutls_calls {
#define CALL(name) __typeof__(&(name)) name;
	UX_GNUTLS_CALLS(CALL)
#undef CALL
};

extern struct ux_gnutls_calls ux_gnutls;

#define gnutls_certificate_allocate_credentials ux_gnutls.gnutls_certificate_allocate_credentials
#define gnutls_certificate_free_credentials     ux_gnutls.gnutls_certificate_free_credentials
#define gnutls_certificate_set_x509_key_mem     ux_gnutls.gnutls_certificate_set_x509_key_mem
#define gnutls_pcert_deinit                     ux_gnutls.gnutls_pcert_deinit
#define gnutls_pcert_import_x509                ux_gnutls.gnutls_pcert_import_x509
#define gnutls_pk_to_sign                       ux_gnutls.gnutls_pk_to_sign
#define gnutls_privkey_deinit                   ux_gnutls.gnutls_privkey_deinit
#define gnutls_privkey_import_x509_raw          ux_gnutls.gnutls_privkey_import_x509_raw
#define gnutls_privkey_init                     ux_gnutls.gnutls_privkey_init
#define gnutls_pubkey_deinit                    ux_gnutls.gnutls_pubkey_deinit
#define gnutls_pubkey_get_pk_algorithm          ux_gnutls.gnutls_pubkey_get_pk_algorithm
#define gnutls_pubkey_import                    ux_gnutls.gnutls_pubkey_import
#define gnutls_pubkey_init                      ux_gnutls.gnutls_pubkey_init
#define gnutls_pubkey_verify_data2              ux_gnutls.gnutls_pubkey_verify_data2
#define gnutls_strerror                         ux_gnutls.gnutls_strerror
#define gnutls_x509_crt_deinit                  ux_gnutls.gnutls_x509_crt_deinit
#define gnutls_x509_crt_get_expiration_time     ux_gnutls.gnutls_x509_crt_get_expiration_time
#define gnutls_x509_crt_list_import             ux_gnutls.gnutls_x509_crt_list_import
#endif

#endif
