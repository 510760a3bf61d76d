/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "minisign.h"

/* A pair of keys in files, a message, and its signature. */
struct signing {
	struct ux_out secret_file, public_file, signature;
	struct ux_minisign_secret secret;
	struct ux_minisign_public key;
};

static const char message[] = "the manifest of a folder";

/* False: this build has no libsodium. */
static bool signing_make(struct signing *s)
{
	struct ux_error err = UX_ERROR_INIT;
	*s = (struct signing){0};
	if (ux_minisign_generate(&s->secret_file, &s->public_file, &err) == UX_EUNSUPPORTED)
		return false;
	assert_int_equal(
		ux_minisign_secret_read(ux_out_bytes(&s->secret_file), NULL, &s->secret, &err),
		UX_OK);
	assert_int_equal(ux_minisign_public_read(ux_out_bytes(&s->public_file), &s->key, &err),
			 UX_OK);
	assert_memory_equal(s->secret.id, s->key.id, sizeof(s->key.id));
	assert_int_equal(ux_minisign_sign(&s->secret, ux_bytes_cstr(message), &s->signature, &err),
			 UX_OK);
	return true;
}

static void signing_free(struct signing *s)
{
	ux_out_deinit(&s->secret_file);
	ux_out_deinit(&s->public_file);
	ux_out_deinit(&s->signature);
}

static enum ux_code verify(const struct signing *s, const char *text, struct ux_bytes signature)
{
	return ux_minisign_verify(&s->key, ux_bytes_cstr(text), signature, NULL);
}

static void a_signature_is_that_of_its_key_and_message(void **state)
{
	(void)state;
	struct signing s, other;
	struct ux_out again = {0};
	if (!signing_make(&s))
		return;
	assert_true(signing_make(&other));
	assert_int_equal(verify(&s, message, ux_out_bytes(&s.signature)), UX_OK);
	assert_int_equal(verify(&s, "another message", ux_out_bytes(&s.signature)), UX_ECORRUPT);
	assert_int_equal(verify(&s, "", ux_out_bytes(&s.signature)), UX_ECORRUPT);
	assert_int_equal(verify(&other, message, ux_out_bytes(&s.signature)), UX_ECORRUPT);
	assert_int_equal(ux_minisign_sign(&s.secret, ux_bytes_cstr(message), &again, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&again), ux_out_bytes(&s.signature)));
	ux_out_deinit(&again);
	signing_free(&s);
	signing_free(&other);
}

/* A key of the same number, which anyone can make, is another key. */
static void the_number_of_a_key_proves_nothing(void **state)
{
	(void)state;
	struct signing s, other;
	if (!signing_make(&s))
		return;
	assert_true(signing_make(&other));
	memcpy(other.key.id, s.key.id, sizeof(s.key.id));
	assert_int_equal(verify(&other, message, ux_out_bytes(&s.signature)), UX_ECORRUPT);
	signing_free(&s);
	signing_free(&other);
}

/* The bytes of a text without the padding of its base64 at its end, which may be left out. */
static size_t unpadded(struct ux_bytes text)
{
	while (text.size > 0 && strchr("=\n", text.data[text.size - 1]))
		text.size--;
	return text.size;
}

/* Changes each character of the lines that count: base64 of the signature, the trusted comment. */
static void no_changed_signature_is_taken(void **state)
{
	(void)state;
	struct signing s;
	if (!signing_make(&s))
		return;
	const uint8_t *untrusted = memchr(s.signature.data, '\n', s.signature.size);
	assert_non_null(untrusted);
	for (size_t i = (size_t)(untrusted - s.signature.data) + 1; i < s.signature.size; i++) {
		uint8_t was = s.signature.data[i];
		if (was == '\n' || was == '=')
			continue;
		s.signature.data[i] = was == 'A' ? 'B' : 'A';
		if (verify(&s, message, ux_out_bytes(&s.signature)) != UX_ECORRUPT)
			fail_msg("byte %zu", i);
		s.signature.data[i] = was;
	}
	for (size_t n = 0; n < unpadded(ux_out_bytes(&s.signature)); n++)
		if (verify(&s, message, ux_bytes(s.signature.data, n)) == UX_OK)
			fail_msg("%zu of %zu bytes are a signature", n, s.signature.size);
	signing_free(&s);
}

static void a_key_is_read_from_its_file_or_its_line_and_nothing_else(void **state)
{
	(void)state;
	struct signing s;
	struct ux_minisign_public key;
	struct ux_minisign_secret secret;
	if (!signing_make(&s))
		return;
	struct ux_bytes file = ux_out_bytes(&s.public_file);
	const uint8_t *line = memchr(file.data, '\n', file.size);
	assert_non_null(line);
	size_t at = (size_t)(line - file.data) + 1;
	struct ux_bytes one = ux_bytes(file.data + at, file.size - at - 1);
	assert_int_equal(ux_minisign_public_read(one, &key, NULL), UX_OK);
	assert_memory_equal(key.key, s.key.key, sizeof(key.key));
	for (size_t n = 0; n < unpadded(one); n++)
		assert_int_equal(ux_minisign_public_read(ux_bytes(one.data, n), &key, NULL),
				 UX_ECORRUPT);
	struct ux_bytes whole = ux_out_bytes(&s.secret_file);
	for (size_t n = 0; n < unpadded(whole); n++)
		if (ux_minisign_secret_read(ux_bytes(whole.data, n), NULL, &secret, NULL) == UX_OK)
			fail_msg("%zu of %zu bytes are a key", n, whole.size);
	signing_free(&s);
}

static void a_key_that_was_wiped_is_gone(void **state)
{
	(void)state;
	static const struct ux_minisign_secret none;
	struct signing s;
	if (!signing_make(&s))
		return;
	ux_minisign_secret_wipe(&s.secret);
	assert_memory_equal(&s.secret, &none, sizeof(none));
	signing_free(&s);
}

UX_SUITE(minisign)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_that_of_its_key_and_message),
		cmocka_unit_test(the_number_of_a_key_proves_nothing),
		cmocka_unit_test(no_changed_signature_is_taken),
		cmocka_unit_test(a_key_is_read_from_its_file_or_its_line_and_nothing_else),
		cmocka_unit_test(a_key_that_was_wiped_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
