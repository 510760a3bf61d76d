/* SPDX-License-Identifier: Apache-2.0 */
/* net/tls.c: certificates are loaded whole or not at all. */
#include "sweep.h"

#include "tls.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	EXPIRES = 2000000000
};

struct pair {
	gnutls_x509_privkey_t key;
	gnutls_datum_t key_pem, cert_pem;
};

static struct pair pair_make(int64_t expires)
{
	struct pair p;
	gnutls_x509_crt_t cert;
	assert_int_equal(gnutls_x509_privkey_init(&p.key), 0);
	assert_int_equal(
		gnutls_x509_privkey_generate(p.key, GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	assert_int_equal(gnutls_x509_crt_init(&cert), 0);
	assert_int_equal(gnutls_x509_crt_set_version(cert, 3), 0);
	assert_int_equal(gnutls_x509_crt_set_serial(cert, "\1", 1), 0);
	assert_int_equal(gnutls_x509_crt_set_activation_time(cert, 1000000000), 0);
	assert_int_equal(gnutls_x509_crt_set_expiration_time(cert, (time_t)expires), 0);
	assert_int_equal(gnutls_x509_crt_set_dn(cert, "CN=test", NULL), 0);
	assert_int_equal(gnutls_x509_crt_set_key(cert, p.key), 0);
	assert_int_equal(gnutls_x509_crt_sign2(cert, cert, p.key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &p.cert_pem), 0);
	assert_int_equal(gnutls_x509_privkey_export2(p.key, GNUTLS_X509_FMT_PEM, &p.key_pem), 0);
	gnutls_x509_crt_deinit(cert);
	return p;
}

static void pair_free(struct pair *p)
{
	gnutls_x509_privkey_deinit(p->key);
	gnutls_free(p->key_pem.data);
	gnutls_free(p->cert_pem.data);
}

static void put(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* How many certificates a handshake gets; -1: none is loaded. */
static int handshake(void)
{
	gnutls_certificate_retrieve_function2 *retrieve =
		(gnutls_certificate_retrieve_function2 *)(uintptr_t)ux_tls_certificate_callback();
	gnutls_pcert_st *certs = NULL;
	gnutls_privkey_t key = NULL;
	unsigned n = 0;
	if (retrieve(NULL, NULL, 0, NULL, 0, &certs, &n, &key) != 0)
		return -1;
	assert_non_null(certs);
	assert_non_null(key);
	return (int)n;
}

static char cert[64], key[64], other[64];

static void assert_refused(const char *c, const char *k, const char *says)
{
	struct ux_error err = UX_ERROR_INIT;
	assert_int_not_equal(ux_tls_load(c, k, &err), UX_OK);
	if (!strstr(err.text, says))
		fail_msg("'%s' is not in '%s'", says, err.text);
}

static void a_pair_is_loaded_replaced_and_unloaded(void **state)
{
	(void)state;
	struct pair one = pair_make(EXPIRES), two = pair_make(EXPIRES + 1000);
	static char large[UX_TLS_FILE_MAX + 1];
	assert_int_equal(ux_tls_expires(), 0);
	assert_int_equal(handshake(), -1);
	put(cert, one.cert_pem.data, one.cert_pem.size);
	put(key, one.key_pem.data, one.key_pem.size);
	/* A wrong file changes nothing: nothing is loaded. */
	assert_refused("/no/such/file", key, "cannot open /no/such/file");
	assert_refused(cert, "/no/such/file", "cannot open");
	assert_refused(cert, "/", "cannot read");
	assert_refused(key, cert, key);
	assert_int_equal(ux_tls_expires(), 0);
	assert_int_equal(ux_tls_load(cert, key, NULL), UX_OK);
	assert_int_equal(ux_tls_expires(), EXPIRES);
	assert_int_equal(handshake(), 1);
	assert_int_equal(ux_tls_load(cert, key, NULL), UX_OK); /* the same again */
	assert_int_equal(handshake(), 1);
	/* Now the earlier pair stays. */
	put(other, two.key_pem.data, two.key_pem.size);
	assert_refused(cert, other, "does not belong to the certificate");
	put(other, "", 0);
	assert_refused(other, key, other);
	assert_refused(cert, other, other);
	put(other, large, sizeof(large) - 1);
	assert_refused(other, key, other);
	put(other, large, sizeof(large));
	assert_refused(other, key, "has more than 1048576 bytes");
	assert_int_equal(ux_tls_expires(), EXPIRES);
	put(cert, two.cert_pem.data, two.cert_pem.size);
	put(key, two.key_pem.data, two.key_pem.size);
	assert_int_equal(ux_tls_load(cert, key, NULL), UX_OK);
	assert_int_equal(ux_tls_expires(), EXPIRES + 1000);
	ux_tls_unload();
	assert_int_equal(ux_tls_expires(), 0);
	assert_int_equal(handshake(), -1);
	ux_tls_unload(); /* does nothing */
	pair_free(&one);
	pair_free(&two);
}

static void a_long_path_is_shown_by_its_end(void **state)
{
	(void)state;
	char path[200];
	struct ux_error err = UX_ERROR_INIT;
	memset(path, 'x', sizeof(path));
	memcpy(path, "/none/", 6);
	memcpy(path + sizeof(path) - 8, "/my.pem", 8);
	assert_int_not_equal(ux_tls_load(path, key, &err), UX_OK);
	assert_non_null(strstr(err.text, "/my.pem"));
	assert_null(strstr(err.text, "/none"));
}

static int make_names(void **state)
{
	(void)state;
	char *const paths[] = {cert, key, other};
	for (size_t i = 0; i < ux_countof(paths); i++) {
		snprintf(paths[i], sizeof(cert), "/tmp/unhex-tls-XXXXXX");
		int fd = mkstemp(paths[i]);
		assert_true(fd >= 0);
		close(fd);
	}
	return 0;
}

static int remove_names(void **state)
{
	(void)state;
	unlink(cert);
	unlink(key);
	unlink(other);
	return 0;
}

UX_SUITE(tls)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_pair_is_loaded_replaced_and_unloaded),
		UX_TEST(a_long_path_is_shown_by_its_end),
	};
	return cmocka_run_group_tests(tests, make_names, remove_names);
}
