/* SPDX-License-Identifier: Apache-2.0 */
/* signature: gpgv's status output, and keys in ASCII armour. Real keys are in
 * tests/e2e/test_crawl_debian.py. */
#include "sweep.h"

#include "signature.h"

#define GOOD "[GNUPG:] GOODSIG 6ED0E7B82643E131 Somebody's Key <a@b>\n"
#define VALID(hash)                                                                                      \
	"[GNUPG:] VALIDSIG 4CB50190207B4758A3F73A796ED0E7B82643E131 2026-07-11 1783765031 0 4 0 1 " hash \
	" 01 B8B80B5B623EAB6AD8775C45B7C5D7D6350947F8\n"

static void one_good_signature_of_a_strong_hash_is_enough(void **state)
{
	(void)state;
	static const char *const good[] = {
		"[GNUPG:] PLAINTEXT 74 0 \n[GNUPG:] NEWSIG\n" GOOD VALID("8"),
		"[GNUPG:] NO_PUBKEY 1234\n" GOOD VALID("10"),
		"[GNUPG:] EXPKEYSIG 99 old\n" GOOD VALID("8"),
	};
	for (size_t i = 0; i < ux_countof(good); i++)
		assert_int_equal(ux_signature_status(ux_bytes_cstr(good[i]), NULL), UX_OK);
}

static void each_other_status_is_refused_with_its_reason(void **state)
{
	(void)state;
	static const struct {
		const char *status, *word;
	} bad[] = {
		{"", "missing"},
		{GOOD, "missing"},
		{VALID("8"), "missing"},
		{"GOODSIG 1 x\nVALIDSIG 1 2 3 4 5 6 7 8\n", "missing"},
		{GOOD VALID("2"), "weak hash"},
		{GOOD VALID("1"), "weak hash"},
		{GOOD "[GNUPG:] VALIDSIG 1 2 3\n", "weak hash"},
		{GOOD VALID("8") "[GNUPG:] BADSIG 6ED0E7B82643E131 x\n",
		 "does not match its signature"},
		{"[GNUPG:] NO_PUBKEY 6ED0E7B82643E131\n",
		 "key is not in the keyrings: 6ED0E7B82643E131"},
		{"[GNUPG:] NO_PUBKEY \x1b[Km\n", "key is not in the keyrings: ????"},
		{"[GNUPG:] EXPKEYSIG 6ED0 x\n" VALID("8"), "expired"},
		{"[GNUPG:] REVKEYSIG 6ED0 x\n" VALID("8"), "revoked"},
		{"[GNUPG:] PLAINTEXT 74 0\n[GNUPG:] PLAINTEXT 74 0\n" GOOD VALID("8"),
		 "single signed text"},
		{GOOD VALID("8") "[GNUPG:] UNEXPECTED 0\n", "single signed text"},
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_signature_status(ux_bytes_cstr(bad[i].status), &err),
				 UX_EDENIED);
		if (!strstr(err.text, bad[i].word))
			fail_msg("%s: %s", bad[i].word, err.text);
	}
}

static void armour_is_decoded_without_its_headers_and_checksum(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	static const char text[] = "text\n-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 1\n\n"
				   "aGVs\r\nbG8=\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n";
	assert_int_equal(ux_armour_decode(ux_bytes_cstr(text), &out, NULL), UX_OK);
	assert_int_equal(out.size, 5);
	assert_memory_equal(out.data, "hello", 5);
}

static void damaged_armour_is_corrupt(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "aGVsbG8=", "-----BEGIN A-----\n\naGVsbG8=\n",
					  "-----BEGIN A-----\n\na*b\n-----END A-----\n",
					  "-----BEGIN A-----\n\n-----END A-----\n"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		assert_int_equal(ux_armour_decode(ux_bytes_cstr(bad[i]), &out, NULL), UX_ECORRUPT);
	}
}

UX_SUITE(signature)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_good_signature_of_a_strong_hash_is_enough),
		cmocka_unit_test(each_other_status_is_refused_with_its_reason),
		cmocka_unit_test(armour_is_decoded_without_its_headers_and_checksum),
		cmocka_unit_test(damaged_armour_is_corrupt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
