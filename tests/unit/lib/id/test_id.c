/* SPDX-License-Identifier: Apache-2.0 */
/* lib/id. */
#include "sweep.h"

#include "id.h"

static struct ux_id parsed(const char *text)
{
	struct ux_id id = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_id_parse(ux_bytes_cstr(text), &id, &err), UX_OK);
	return id;
}

/* Returns the text's ID in the only form that we write. */
static const char *formatted(const char *text)
{
	static char out[UX_ID_TEXT];
	struct ux_id id = parsed(text);
	return ux_id_format(&id, out);
}

static const char *refused(const char *text, enum ux_code code)
{
	static struct ux_error err;
	struct ux_id id = {.size = 77};
	err = (struct ux_error)UX_ERROR_INIT;
	struct ux_bytes guarded = guard(ux_bytes_cstr(text));
	assert_int_equal(ux_id_parse(guarded, &id, &err), code);
	assert_int_equal(id.size, 77);
	guard_free(guarded);
	return err.text;
}

static void text_forms_are_read_and_written(void **state)
{
	(void)state;
	static const char *const same[] = {
		"gnu:93ac61ec5a8eb1396f9fbd350e3169a558528a40",
		"gnu:00",
		"go:abc/def:1-2_3",
		"file:caf6e5907166ac76eef618e5f7f59cd9",
		"uuid:f4c1e5fe2f28034fcceb0776ec00b125",
		"cubin-crc:036a7ef2",
	};
	for (size_t i = 0; i < ux_countof(same); i++)
		assert_string_equal(formatted(same[i]), same[i]);
	assert_string_equal(formatted("93AC61ec"), "gnu:93ac61ec");
	assert_string_equal(formatted("gnu:ABCDEF"), "gnu:abcdef");
	assert_string_equal(formatted("uuid:F4C1E5FE-2F28-034F-CCEB-0776EC00B125"),
			    "uuid:f4c1e5fe2f28034fcceb0776ec00b125");
	struct ux_id none = {0};
	char text[UX_ID_TEXT];
	assert_string_equal(ux_id_format(&none, text), "");
}

static void file_ids_are_read_in_every_spelling(void **state)
{
	(void)state;
	static const char *const one[] = {
		"file:12345678124397ff87654321877484a8",
		"file:12345678124397FF87654321877484A8",
		"file:0x12345678124397ff87654321877484a8",
		"file:0X12345678124397ff87654321877484a8",
		"file:12345678-1243-97ff-8765-4321877484a8",
		"file:EjRWeBJDl_-HZUMhh3SEqA",
		"file:EjRWeBJDl/+HZUMhh3SEqA",
	};
	for (size_t i = 0; i < ux_countof(one); i++)
		assert_string_equal(formatted(one[i]), one[0]);
}

static void cubin_crcs_are_read_as_profilers_print_them(void **state)
{
	(void)state;
	static const char *const one[] = {
		"cubin-crc:036a7ef2",
		"cubin-crc:36A7EF2",
		"cubin-crc:0x36a7ef2",
		"cubin-crc:00000000036a7ef2",
	};
	for (size_t i = 0; i < ux_countof(one); i++)
		assert_string_equal(formatted(one[i]), one[0]);
	struct ux_id made = ux_id_of_cubin_crc(0x36a7ef2), read = parsed(one[0]);
	assert_true(ux_id_eq(&made, &read));
	assert_string_equal(ux_id_type_name(UX_ID_CUBIN_CRC), "cubin-crc");
	refused("cubin-crc:", UX_EINVAL);
	refused("cubin-crc:xyz", UX_EINVAL);
	assert_string_equal(refused("cubin-crc:1036a7ef2", UX_EINVAL),
			    "\"cubin-crc:1036a7ef2\" is not an ID; expected up to 8 hexadecimal "
			    "digits");
	struct ux_id id;
	assert_int_equal(ux_id_make(UX_ID_CUBIN_CRC, UX_STR("abc"), &id, NULL), UX_EINVAL);
}

static void nonsense_is_refused_with_its_reason(void **state)
{
	(void)state;
	const char *digits = "is not an ID; expected an even number of hexadecimal digits";
	assert_non_null(strstr(refused("", UX_EINVAL), digits));
	assert_non_null(strstr(refused("gnu:", UX_EINVAL), digits));
	assert_string_equal(refused("gnu:123", UX_EINVAL),
			    "\"gnu:123\" is not an ID; expected an even number of hexadecimal "
			    "digits");
	assert_non_null(strstr(refused("xyz", UX_EINVAL), digits));
	assert_non_null(strstr(refused("GNU:12", UX_EINVAL),
			       "expected the prefix gnu:, go:, file:, uuid: or "));
	assert_non_null(strstr(refused(":12", UX_EINVAL),
			       "expected the prefix gnu:, go:, file:, uuid: or "));
	assert_string_equal(refused("go:", UX_EINVAL), "Go build ID is empty");
	assert_string_equal(refused("go:a b", UX_EINVAL),
			    "Go build ID has byte 0x20, expected printable ASCII");
	assert_string_equal(refused("file:1234", UX_EINVAL),
			    "\"file:1234\" is not an ID; expected 32 hexadecimal digits");
	refused("file:caf6e5907166ac76eef618e5f7f59cd", UX_EINVAL);
	refused("file:caf6e5907166ac76eef618e5f7f59cd99", UX_EINVAL);
	refused("file:caf6e5907166ac76eef618e5f7f59cdg", UX_EINVAL);
	/* base64: one character less, one more, padding, a last one with more than two bits */
	refused("file:EjRWeBJDl_-HZUMhh3SEq", UX_EINVAL);
	refused("file:EjRWeBJDl_-HZUMhh3SEqAA", UX_EINVAL);
	refused("file:EjRWeBJDl_-HZUMhh3SEqA==", UX_EINVAL);
	refused("file:EjRWeBJDl_-HZUMhh3SEqB", UX_EINVAL);
	refused("file:EjRWeBJDl_-HZUMhh3S*qA", UX_EINVAL);
	refused("uuid:EjRWeBJDl_-HZUMhh3SEqA", UX_EINVAL);
}

static void lengths_are_bounded(void **state)
{
	(void)state;
	char text[300] = "gnu:";
	memset(text + 4, 'a', 2 * UX_ID_GNU_MAX);
	assert_int_equal(parsed(text).size, UX_ID_GNU_MAX);
	assert_string_equal(formatted(text), text);
	memset(text + 4, 'a', 2 * UX_ID_GNU_MAX + 2);
	assert_string_equal(refused(text, UX_ELIMIT),
			    "GNU build ID of 65 bytes; the maximum is 64");
	memset(text, 0, sizeof(text));
	memcpy(text, "go:", 3);
	memset(text + 3, 'b', UX_ID_GO_MAX);
	assert_string_equal(formatted(text), text);
	text[3 + UX_ID_GO_MAX] = 'b';
	assert_string_equal(refused(text, UX_ELIMIT),
			    "Go build ID of 129 bytes; the maximum is 128");
}

static void any_bytes_are_refused_or_round_trip(void **state)
{
	(void)state;
	uint32_t random = 1;
	static const char alphabet[] = "0123456789abcdefABCDEFgnuofileud:-_+/x=\n\xff";
	for (unsigned i = 0; i < 100000; i++) {
		char text[40];
		size_t n = 0;
		random = random * 1664525 + 1013904223;
		for (size_t max = random >> 26; n < max && n < sizeof(text); n++) {
			random = random * 1664525 + 1013904223;
			text[n] = alphabet[(random >> 16) % (sizeof(alphabet) - 1)];
		}
		struct ux_id id, again;
		if (ux_id_parse(ux_bytes(text, n), &id, NULL) != UX_OK)
			continue;
		char out[UX_ID_TEXT];
		assert_int_equal(ux_id_parse(ux_bytes_cstr(ux_id_format(&id, out)), &again, NULL),
				 UX_OK);
		assert_memory_equal(&id, &again, sizeof(id));
	}
}

static void file_ids_equal_the_published_vectors(void **state)
{
	(void)state;
	static const struct {
		size_t size;
		const char *hex, *base64;
	} vectors[] = {
		{0, "file:af5570f5a1810b7af78caf4bc70a660f", "file:r1Vw9aGBC3r3jK9LxwpmDw"},
		{1, "file:7a60908fc4d8e26999280e6ae45c3688", "file:emCQj8TY4mmZKA5q5Fw2iA"},
		{4095, "file:f7750919ea69622eb9b947d71e77064e", "file:93UJGeppYi65uUfXHncGTg"},
		{4096, "file:4cdb9f62104345f9dbb1263b7f5cce39", "file:TNufYhBDRfnbsSY7f1zOOQ"},
		{4097, "file:91eebf638bd4fd2a3fdd47a4cbb042cf", "file:ke6_Y4vU_So_3Ueky7BCzw"},
		{8191, "file:450545541f59b07f3171fd28af65822f", "file:RQVFVB9ZsH8xcf0or2WCLw"},
		{8192, "file:3c6adcb49ed504baf0fb0140ee1e131e", "file:PGrctJ7VBLrw-wFA7h4THg"},
		{8193, "file:0bb9ee12da882f8d6677c539ca93a150", "file:C7nuEtqIL41md8U5ypOhUA"},
		{1000000, "file:c5c326c8db0d1ee5b1c6fb1d21d553e9", "file:xcMmyNsNHuWxxvsdIdVT6Q"},
	};
	static uint8_t pattern[1000000];
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(7 * i + 3);
	char text[UX_ID_TEXT];
	for (size_t i = 0; i < ux_countof(vectors); i++) {
		struct ux_bytes file = guard(ux_bytes(pattern, vectors[i].size));
		struct ux_id id = ux_file_id(file);
		assert_string_equal(ux_id_format(&id, text), vectors[i].hex);
		assert_string_equal(formatted(vectors[i].base64), vectors[i].hex);
		guard_free(file);
	}
	struct ux_id id = ux_file_id(UX_STR("\x7f\x45\x4c\x46\0\1\2\3\4"));
	assert_string_equal(ux_id_format(&id, text), "file:caf6e5907166ac76eef618e5f7f59cd9");
	uint8_t zeros[123] = {0};
	id = ux_file_id(ux_bytes(zeros, sizeof(zeros)));
	assert_string_equal(ux_id_format(&id, text), "file:f4c1e5fe2f28034fcceb0776ec00b125");
	id = ux_file_id(UX_BYTES_NONE);
	assert_string_equal(ux_id_format(&id, text), vectors[0].hex);
	assert_string_equal(formatted("file:9MHl_i8oA0_M6wd27ACxJQ"),
			    "file:f4c1e5fe2f28034fcceb0776ec00b125");
	assert_string_equal(formatted("file:w081hfyhtXn7RY6CeFGlmQ"),
			    "file:c34f3585fca1b579fb458e827851a599");
}

static void kernel_file_ids_come_from_the_build_id(void **state)
{
	(void)state;
	char text[UX_ID_TEXT];
	struct ux_id gnu = parsed("f8e1cf0f60558098edaec164ac7749df");
	struct ux_id id = ux_file_id_of_kernel(&gnu);
	assert_string_equal(ux_id_format(&id, text), "file:026a2d6a60ee6b4eb8ec85adf2e76f4d");
	id = ux_file_id_swapped(&id);
	assert_string_equal(ux_id_format(&id, text), "file:b8ec85adf2e76f4d026a2d6a60ee6b4e");
	static const char constant[] = "file:fffffffffffffffdfffffffffffffffd";
	id = ux_file_id_of_kernel(NULL);
	assert_string_equal(ux_id_format(&id, text), constant);
	gnu = parsed("01020304050607");
	id = ux_file_id_of_kernel(&gnu);
	assert_string_equal(ux_id_format(&id, text), constant);
	gnu = parsed("go:0102030405060708");
	id = ux_file_id_of_kernel(&gnu);
	assert_string_equal(ux_id_format(&id, text), constant);
	gnu = parsed("0102030405060708");
	id = ux_file_id_of_kernel(&gnu);
	assert_string_not_equal(ux_id_format(&id, text), constant);
}

static void ids_come_from_notes(void **state)
{
	(void)state;
	struct ux_id id;
	char text[UX_ID_TEXT];
	assert_int_equal(ux_id_of_note(UX_STR("GNU"), 3, UX_STR("\1\2"), &id, NULL), UX_OK);
	assert_string_equal(ux_id_format(&id, text), "gnu:0102");
	assert_int_equal(ux_id_of_note(UX_STR("Go"), 4, UX_STR("a/b"), &id, NULL), UX_OK);
	assert_string_equal(ux_id_format(&id, text), "go:a/b");
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_id_of_note(UX_STR("GNU"), 4, UX_STR("x"), &id, &err), UX_ENOTFOUND);
	assert_int_equal(ux_id_of_note(UX_STR("Go"), 3, UX_STR("x"), &id, &err), UX_ENOTFOUND);
	assert_int_equal(ux_id_of_note(UX_STR("GNU"), 3, UX_BYTES_NONE, &id, &err), UX_ENOTFOUND);
	assert_int_equal(ux_id_of_note(UX_STR("Go"), 4, UX_STR("a b"), &id, &err), UX_ENOTFOUND);
	assert_int_equal(err.code, UX_OK);
}

static void go_ids_of_two_links_differ_in_their_outer_parts(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool differs;
	} cases[] = {
		{"l/p/c/e", "l/p/c/e", false},   {"l/p/c/e", "x/p/c/y", false},
		{"l/p/c/e", "l/x/c/e", true},    {"l/p/c/e", "l/p/x/e", true},
		{"l/p/c/e", "l/pc//e", true},    {"l/p/c/e", "v1.2", false},
		{"redacted", "v1.2", false},     {"a/b", "a/c", false},
		{"l/p/c/e/f", "l/x/c/e", false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_bytes a = ux_bytes_cstr(cases[i].a), b = ux_bytes_cstr(cases[i].b);
		assert_int_equal(ux_id_go_differs(a, b), cases[i].differs);
		assert_int_equal(ux_id_go_differs(b, a), cases[i].differs);
	}
}

static void a_set_finds_the_go_id_of_another_program(void **state)
{
	(void)state;
	struct ux_id gnu = parsed("gnu:01"), one = parsed("go:l/p/c/e"),
		     again = parsed("go:x/p/c/y"), two = parsed("go:l/q/c/e");
	struct ux_id_set known = {.size = 2, .ids = {gnu, one}}, none = {.size = 1, .ids = {gnu}};
	struct ux_id_set same = {.size = 2, .ids = {gnu, again}},
			 other = {.size = 3, .ids = {gnu, again, two}};
	assert_null(ux_id_set_other_go(&known, &known));
	assert_null(ux_id_set_other_go(&known, &none));
	assert_null(ux_id_set_other_go(&known, &same));
	assert_null(ux_id_set_other_go(&none, &other));
	assert_ptr_equal(ux_id_set_other_go(&known, &other), &other.ids[2]);
	assert_null(ux_id_set_other_go(&other, &known));
}

static void a_set_keeps_each_id_once_and_has_an_end(void **state)
{
	(void)state;
	struct ux_id_set set = {0};
	struct ux_id id = {0};
	assert_int_equal(ux_id_set_add(&set, &id, NULL), UX_OK);
	assert_int_equal(set.size, 0);
	for (uint8_t i = 0; i < UX_ID_SET_MAX; i++) {
		for (unsigned twice = 0; twice < 2; twice++) {
			assert_int_equal(ux_id_make(i == 3 ? UX_ID_GO : UX_ID_GNU,
						    ux_bytes((uint8_t[]){'0' + i}, 1), &id, NULL),
					 UX_OK);
			assert_int_equal(ux_id_set_add(&set, &id, NULL), UX_OK);
		}
		assert_int_equal(set.size, i + 1);
		assert_true(ux_id_set_has(&set, &id));
	}
	assert_ptr_equal(ux_id_set_find(&set, UX_ID_GO), &set.ids[3]);
	assert_null(ux_id_set_find(&set, UX_ID_UUID));
	id = parsed("ff");
	assert_false(ux_id_set_has(&set, &id));
	assert_int_equal(ux_id_set_add(&set, &id, NULL), UX_ELIMIT);
	assert_int_equal(ux_id_set_add(&set, &set.ids[2], NULL), UX_OK);
}

static void ids_are_ordered_by_type_then_bytes(void **state)
{
	(void)state;
	static const char *const ascending[] = {"gnu:01",
						"gnu:0100",
						"gnu:02",
						"go:a",
						"go:b",
						"file:00000000000000000000000000000001",
						"uuid:00000000000000000000000000000000"};
	for (size_t i = 0; i < ux_countof(ascending); i++) {
		for (size_t j = 0; j < ux_countof(ascending); j++) {
			struct ux_id a = parsed(ascending[i]), b = parsed(ascending[j]);
			int r = ux_id_cmp(&a, &b);
			assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
			assert_int_equal(ux_id_eq(&a, &b), i == j);
		}
	}
}

UX_SUITE(id)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(text_forms_are_read_and_written),
		UX_TEST(file_ids_are_read_in_every_spelling),
		UX_TEST(cubin_crcs_are_read_as_profilers_print_them),
		UX_TEST(nonsense_is_refused_with_its_reason),
		UX_TEST(lengths_are_bounded),
		UX_TEST(any_bytes_are_refused_or_round_trip),
		UX_TEST(file_ids_equal_the_published_vectors),
		UX_TEST(kernel_file_ids_come_from_the_build_id),
		UX_TEST(ids_come_from_notes),
		UX_TEST(go_ids_of_two_links_differ_in_their_outer_parts),
		UX_TEST(a_set_finds_the_go_id_of_another_program),
		UX_TEST(a_set_keeps_each_id_once_and_has_an_end),
		UX_TEST(ids_are_ordered_by_type_then_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
