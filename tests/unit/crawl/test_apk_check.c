/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "apk_check.h"
#include "make_tar.h"
#include "text.h"

#include <libdeflate.h>
#include <nettle/sha1.h>

/* A package, and the SHA-1 of its control segment. */
struct apk {
	struct ux_out file;
	uint8_t sha1[SHA1_DIGEST_SIZE];
};

static void put_gzip(struct ux_out *out, struct ux_bytes content)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	assert_non_null(c);
	size_t max = libdeflate_gzip_compress_bound(c, content.size);
	uint8_t *to = malloc(max);
	assert_non_null(to);
	ux_out_put(out, to, libdeflate_gzip_compress(c, content.data, content.size, to, max));
	free(to);
	libdeflate_free_compressor(c);
}

/* fill: bytes of a script beside .PKGINFO, which cannot be compressed. */
static struct apk make_apk(bool sign, const char *info, struct ux_bytes data, size_t fill)
{
	struct apk a = {0};
	struct ux_out sign_tar = {0}, tar = {0}, script = {0};
	make_tar_add(&sign_tar, ".SIGN.RSA.a.rsa.pub", '0', "", ux_bytes_cstr("s"));
	uint32_t x = 1;
	for (size_t i = 0; i < fill; i++)
		ux_out_u8(&script, (uint8_t)((x = x * 1664525 + 1013904223) >> 24));
	make_tar_add(&tar, ".post-install", '0', "", ux_out_bytes(&script));
	make_tar_add(&tar, ".PKGINFO", '0', "", ux_bytes_cstr(info));
	if (sign)
		put_gzip(&a.file, ux_out_bytes(&sign_tar));
	size_t at = a.file.size;
	put_gzip(&a.file, ux_out_bytes(&tar));
	struct sha1_ctx ctx;
	sha1_init(&ctx);
	sha1_update(&ctx, a.file.size - at, a.file.data + at);
	sha1_digest(&ctx, sizeof(a.sha1), a.sha1);
	ux_out_put(&a.file, data.data, data.size);
	ux_out_deinit(&sign_tar);
	ux_out_deinit(&tar);
	ux_out_deinit(&script);
	return a;
}

static enum ux_code check(const struct apk *a, struct ux_bytes file, size_t piece,
			  struct ux_error *err)
{
	struct ux_apk_check c;
	*err = (struct ux_error)UX_ERROR_INIT;
	struct ux_apk_identity identity = {.size = SHA1_DIGEST_SIZE};
	memcpy(identity.hash, a->sha1, SHA1_DIGEST_SIZE);
	ux_apk_check_init(&c, &identity);
	for (size_t at = 0; at < file.size; at += piece)
		ux_apk_check_put(&c, ux_bytes(file.data + at, ux_min(piece, file.size - at)));
	enum ux_code code = ux_apk_check_end(&c, err);
	ux_apk_check_deinit(&c);
	return code;
}

/* SHA-256 of "data". */
#define HASH "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"

static void a_package_is_the_one_of_the_index_whatever_its_pieces(void **state)
{
	(void)state;
	static const size_t fills[] = {0, 3000, 300000};
	static const size_t pieces[] = {1, 7, 65536, 1 << 22};
	struct ux_error err;
	for (size_t f = 0; f < ux_countof(fills); f++)
		for (int sign = 0; sign < 2; sign++) {
			struct apk a = make_apk(sign, "pkgname = p\ndatahash = " HASH "\n",
						ux_bytes_cstr("data"), fills[f]);
			for (size_t p = 0; p < ux_countof(pieces); p++)
				if (check(&a, ux_out_bytes(&a.file), pieces[p], &err) != UX_OK)
					fail_msg("%zu %zu: %s", fills[f], pieces[p], err.text);
			ux_out_deinit(&a.file);
		}
}

static void a_package_without_a_good_datahash_is_refused(void **state)
{
	(void)state;
	static const char *const infos[] = {"",
					    "datahash = 00\n",
					    "datahash\n",
					    "# datahash = " HASH,
					    "datahash = " HASH "00\n",
					    "xdatahash = " HASH "\n"};
	struct ux_error err;
	for (size_t i = 0; i < ux_countof(infos); i++) {
		struct apk a = make_apk(true, infos[i], ux_bytes_cstr("data"), 0);
		assert_int_equal(check(&a, ux_out_bytes(&a.file), 100, &err), UX_ECORRUPT);
		assert_string_equal(err.text, "the package has no datahash");
		ux_out_deinit(&a.file);
	}
}

static void a_control_segment_over_its_limit_is_refused_without_its_rest(void **state)
{
	(void)state;
	struct ux_error err;
	struct apk a = make_apk(true, "datahash = " HASH "\n", ux_bytes_cstr("data"),
				UX_APK_HEAD_MAX + 1000);
	assert_int_equal(check(&a, ux_out_bytes(&a.file), 4096, &err), UX_ECORRUPT);
	ux_out_deinit(&a.file);
}

static void each_prefix_is_refused(void **state)
{
	(void)state;
	struct ux_error err;
	struct apk a = make_apk(true, "datahash = " HASH "\n", ux_bytes_cstr("data"), 0);
	for (size_t n = 0; n < a.file.size; n++)
		assert_int_equal(check(&a, ux_bytes(a.file.data, n), 64, &err), UX_ECORRUPT);
	ux_out_deinit(&a.file);
}

/* The signature is not read: the index has the hash of the part after it. */
static void each_changed_byte_behind_the_signature_is_refused(void **state)
{
	(void)state;
	struct ux_error err;
	struct apk a = make_apk(false, "datahash = " HASH "\n", ux_bytes_cstr("data"), 0);
	for (size_t i = 0; i < a.file.size; i++) {
		a.file.data[i] ^= 4;
		assert_int_equal(check(&a, ux_out_bytes(&a.file), 64, &err), UX_ECORRUPT);
		a.file.data[i] ^= 4;
	}
	assert_int_equal(check(&a, ux_out_bytes(&a.file), 64, &err), UX_OK);
	ux_out_deinit(&a.file);
}

/* An index of apk-tools 3 has the SHA-256 of the control segment, or 20 bytes of it. */
static void a_package_may_be_named_by_a_sha256_too(void **state)
{
	(void)state;
	for (unsigned size = SHA1_DIGEST_SIZE; size <= SHA256_DIGEST_SIZE; size += 12) {
		struct apk a = make_apk(false, "datahash = " HASH "\n", ux_bytes_cstr("data"), 100);
		struct ux_apk_identity identity = {.size = size, .sha256 = true};
		struct sha256_ctx ctx;
		sha256_init(&ctx);
		sha256_update(&ctx, a.file.size - 4, a.file.data);
		sha256_digest(&ctx, SHA256_DIGEST_SIZE, identity.hash);
		for (int good = 1; good >= 0; good--) {
			struct ux_apk_check c;
			struct ux_error err = UX_ERROR_INIT;
			identity.hash[size - 1] ^= !good;
			ux_apk_check_init(&c, &identity);
			ux_apk_check_put(&c, ux_out_bytes(&a.file));
			assert_int_equal(ux_apk_check_end(&c, &err), good ? UX_OK : UX_ECORRUPT);
			assert_true(good || strstr(err.text, "SHA-256") != NULL);
			ux_apk_check_deinit(&c);
		}
		ux_out_deinit(&a.file);
	}
}

/* Packages of version 3 are checked where they are unpacked, but only if the index named them so.
 */
static void a_package_of_version_3_is_left_to_the_child(void **state)
{
	(void)state;
	for (int sha256 = 0; sha256 < 2; sha256++) {
		struct ux_apk_identity identity = {.size = SHA1_DIGEST_SIZE, .sha256 = sha256};
		struct ux_apk_check c;
		struct ux_error err = UX_ERROR_INIT;
		ux_apk_check_init(&c, &identity);
		for (const char *p = "ADBd and the rest"; *p; p++)
			ux_apk_check_put(&c, ux_bytes((const uint8_t *)p, 1));
		assert_int_equal(ux_apk_check_end(&c, &err), sha256 ? UX_OK : UX_ECORRUPT);
		ux_apk_check_deinit(&c);
	}
}

UX_SUITE(apk_check)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_package_is_the_one_of_the_index_whatever_its_pieces),
		cmocka_unit_test(a_package_without_a_good_datahash_is_refused),
		cmocka_unit_test(a_control_segment_over_its_limit_is_refused_without_its_rest),
		cmocka_unit_test(each_prefix_is_refused),
		cmocka_unit_test(a_package_may_be_named_by_a_sha256_too),
		cmocka_unit_test(a_package_of_version_3_is_left_to_the_child),
		cmocka_unit_test(each_changed_byte_behind_the_signature_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
