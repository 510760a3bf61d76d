/* SPDX-License-Identifier: Apache-2.0 */
/* The server's TLS certificate. */
#include "tls.h"

#include "gnutls_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
	PATH_SHOWN = 80 /* bytes of a path shown in a message */
};

/*
 * A certificate chain and its key. A handshake uses it without a reference and may last as long as
 * the client wants, so a replaced chain is kept until the process ends: some kilobytes for each
 * renewal.
 */
struct chain {
	struct chain *older;
	struct ux_bytes files[2]; /* malloc'ed contents as read, to detect changes */
	gnutls_pcert_st certs[UX_TLS_CHAIN_MAX];
	unsigned n;
	gnutls_privkey_t key;
	int64_t expires;
};

/* The current chain: published with release, read by handshakes with acquire. */
static _Atomic(struct chain *) shown;

/* Returns the end of a path, which is more informative than its start. */
static const char *tls_path_tail(const char *path)
{
	size_t n = strlen(path);
	return n > PATH_SHOWN ? path + n - PATH_SHOWN : path;
}

static void tls_free_secret(struct ux_bytes b)
{
	if (b.data)
		explicit_bzero((void *)(uintptr_t)b.data, b.size);
	free((void *)(uintptr_t)b.data);
}

static void tls_chain_destroy(struct chain *c)
{
	for (unsigned i = 0; c && i < c->n; i++)
		gnutls_pcert_deinit(&c->certs[i]);
	if (c && c->key)
		gnutls_privkey_deinit(c->key);
	for (size_t i = 0; c && i < ux_countof(c->files); i++)
		tls_free_secret(c->files[i]);
	free(c);
}

static void tls_chain_guard(struct chain **c)
{
	tls_chain_destroy(*c);
}

static void tls_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static enum ux_code tls_read_file(const char *path, struct ux_bytes *ret, struct ux_error *err)
{
	ux_cleanup(tls_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %s", tls_path_tail(path));
	uint8_t *data = malloc(UX_TLS_FILE_MAX + 1);
	size_t n = 0;
	ssize_t r = data ? 1 : 0;
	while (r > 0 && n <= UX_TLS_FILE_MAX) {
		r = read(fd, data + n, UX_TLS_FILE_MAX + 1 - n);
		n += r > 0 ? (size_t)r : 0;
	}
	int why = errno;
	*ret = ux_bytes(data, n);
	if (!data)
		return ux_error_nomem(err);
	if (r < 0)
		return ux_error_os(err, why, "cannot read %s", tls_path_tail(path));
	if (n > UX_TLS_FILE_MAX)
		return ux_error_set(err, UX_EINVAL, "%s has more than %d bytes",
				    tls_path_tail(path), UX_TLS_FILE_MAX);
	return UX_OK;
}

static gnutls_datum_t tls_datum(struct ux_bytes b)
{
	return (gnutls_datum_t){(unsigned char *)(uintptr_t)b.data, (unsigned)b.size};
}

/* Reads the certificates in the order of the file, which must be the order of the chain. */
static enum ux_code tls_read_certificates(struct chain *c, const char *path, struct ux_error *err)
{
	gnutls_x509_crt_t certs[UX_TLS_CHAIN_MAX];
	const gnutls_datum_t pem = tls_datum(c->files[0]);
	unsigned n = UX_TLS_CHAIN_MAX;
	int r = gnutls_x509_crt_list_import(certs, &n, &pem, GNUTLS_X509_FMT_PEM,
					    GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED |
						    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	if (r < 0)
		return ux_error_set(err, UX_EINVAL, "%s: %.70s", tls_path_tail(path),
				    gnutls_strerror(r));
	n = (unsigned)r;
	for (r = 0; c->n < n && r == 0; c->n += r == 0)
		r = gnutls_pcert_import_x509(&c->certs[c->n], certs[c->n], 0);
	c->expires = n > 0 ? gnutls_x509_crt_get_expiration_time(certs[0]) : 0;
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(certs[i]);
	if (r != 0 || n == 0)
		return ux_error_set(err, UX_EINVAL, "%s: %.70s", tls_path_tail(path),
				    r != 0 ? gnutls_strerror(r) : "has no certificate");
	return UX_OK;
}

static enum ux_code tls_read_key(struct chain *c, const char *path, struct ux_error *err)
{
	const gnutls_datum_t pem = tls_datum(c->files[1]);
	int r = gnutls_privkey_init(&c->key);
	if (r == 0)
		r = gnutls_privkey_import_x509_raw(c->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (r != 0)
		return ux_error_set(err, UX_EINVAL, "%s: %.70s", tls_path_tail(path),
				    gnutls_strerror(r));
	return UX_OK;
}

/* Uses GnuTLS's own check that certificate and key match. */
static enum ux_code tls_check_pair(const struct chain *c, const char *key, struct ux_error *err)
{
	const gnutls_datum_t cert_pem = tls_datum(c->files[0]), key_pem = tls_datum(c->files[1]);
	gnutls_certificate_credentials_t both;
	int r = gnutls_certificate_allocate_credentials(&both);
	if (r != 0)
		return ux_error_nomem(err);
	r = gnutls_certificate_set_x509_key_mem(both, &cert_pem, &key_pem, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(both);
	if (r < 0)
		return ux_error_set(err, UX_EINVAL,
				    "%.80s does not belong to the certificate: %.60s", key,
				    gnutls_strerror(r));
	return UX_OK;
}

enum ux_code ux_tls_load(const char *certificate, const char *key, struct ux_error *err)
{
	ux_cleanup(tls_chain_guard) struct chain *c = calloc(1, sizeof(*c));
	struct chain *now = atomic_load_explicit(&shown, memory_order_acquire);
	if (!c)
		return ux_error_nomem(err);
	UX_TRY(ux_gnutls_load(err));
	UX_TRY(tls_read_file(certificate, &c->files[0], err));
	UX_TRY(tls_read_file(key, &c->files[1], err));
	if (now && ux_bytes_eq(now->files[0], c->files[0]) &&
	    ux_bytes_eq(now->files[1], c->files[1]))
		return UX_OK;
	UX_TRY(tls_read_certificates(c, certificate, err));
	UX_TRY(tls_read_key(c, key, err));
	UX_TRY(tls_check_pair(c, key, err));
	c->older = now;
	atomic_store_explicit(&shown, ux_take(&c), memory_order_release);
	return UX_OK;
}

int64_t ux_tls_expires(void)
{
	const struct chain *c = atomic_load_explicit(&shown, memory_order_acquire);
	return c ? c->expires : 0;
}

void ux_tls_unload(void)
{
	struct chain *c = atomic_exchange_explicit(&shown, NULL, memory_order_acquire);
	while (c) {
		struct chain *older = c->older;
		tls_chain_destroy(c);
		c = older;
	}
}

static int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities,
			int n_authorities, const gnutls_pk_algorithm_t *algorithms,
			int n_algorithms, gnutls_pcert_st **ret, unsigned *ret_n,
			gnutls_privkey_t *ret_key)
{
	(void)session, (void)authorities, (void)n_authorities, (void)algorithms, (void)n_algorithms;
	struct chain *c = atomic_load_explicit(&shown, memory_order_acquire);
	if (!c)
		return -1;
	*ret = c->certs;
	*ret_n = c->n;
	*ret_key = c->key;
	return 0;
}

void *ux_tls_certificate_callback(void)
{
	static gnutls_certificate_retrieve_function2 *const callback = tls_retrieve;
	return (void *)(uintptr_t)callback;
}
