/* SPDX-License-Identifier: Apache-2.0 */
/* id: debug IDs of Breakpad, Mozilla and Sentry. */
#include "sweep.h"

#include "debug_id.h"

static struct ux_debug_id parsed(const char *text)
{
	struct ux_debug_id id;
	assert_int_equal(ux_debug_id_parse(ux_bytes_cstr(text), &id, NULL), UX_OK);
	return id;
}

static const uint8_t guid[] = {0x5d, 0x3a, 0xfb, 0xfb, 0x20, 0x9c, 0x73, 0xa2,
			       0x18, 0x20, 0xe5, 0x9d, 0xa4, 0xe2, 0x8e, 0xc8};

static void all_ways_to_write_one_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t age;
	} ways[] = {
		{"5D3AFBFB209C73A21820E59DA4E28EC80", 0},
		{"5d3afbfb209c73a21820e59da4e28ec8", 0},
		{"5D3AFBFB209C73A21820E59DA4E28EC81f", 0x1f},
		{"5D3AFBFB209C73A21820E59DA4E28EC8ffffffff", 0xffffffff},
		{"5d3afbfb-209c-73a2-1820-e59da4e28ec8", 0},
		{"5d3afbfb-209c-73a2-1820-e59da4e28ec8-a", 10},
	};
	for (size_t i = 0; i < ux_countof(ways); i++) {
		struct ux_debug_id id = parsed(ways[i].text);
		assert_memory_equal(id.bytes, guid, sizeof(guid));
		assert_int_equal(id.age, ways[i].age);
	}
}

static void what_is_none_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"5D3AFBFB209C73A21820E59DA4E28EC",
		"5D3AFBFB209C73A21820E59DA4E28EC8fffffffff",
		"5D3AFBFB209C73A21820E59DA4E28EG80",
		"5d3afbfb-209c73a2-1820-e59da4e28ec8",
		"5d3afbfb-209c-73a2-1820-e59da4e28ec8a",
		"5d3afbfb-209c-73a2-1820",
		"                                 ",
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_debug_id id;
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_debug_id_parse(ux_bytes_cstr(bad[i]), &id, &err), UX_EINVAL);
		assert_non_null(strstr(err.text, "debug ID"));
	}
}

/* servers.md, 2.3: the fields of an ELF file's ID are in the other byte order, a UUID's are not. */
static void a_build_id_and_a_uuid_come_back(void **state)
{
	(void)state;
	static const uint8_t gnu[20] = {0xfb, 0xfb, 0x3a, 0x5d, 0x9c, 0x20, 0xa2, 0x73, 0x18, 0x20,
					0xe5, 0x9d, 0xa4, 0xe2, 0x8e, 0xc8, 1,    2,    3,    4};
	struct ux_debug_id id = parsed("5D3AFBFB209C73A21820E59DA4E28EC80");
	uint8_t start[UX_DEBUG_ID_SIZE];
	ux_debug_id_gnu(&id, start);
	assert_memory_equal(start, gnu, sizeof(start));
	struct ux_id uuid = ux_debug_id_uuid(&id), build = {0};
	assert_memory_equal(uuid.bytes, guid, sizeof(guid));
	assert_int_equal(ux_id_make(UX_ID_GNU, ux_bytes(gnu, sizeof(gnu)), &build, NULL), UX_OK);

	char text[UX_DEBUG_ID_TEXT];
	assert_true(ux_debug_id_format(&build, text));
	assert_string_equal(text, "5D3AFBFB209C73A21820E59DA4E28EC80");
	assert_true(ux_debug_id_format(&uuid, text));
	assert_string_equal(text, "5D3AFBFB209C73A21820E59DA4E28EC80");
	assert_int_equal(ux_id_make(UX_ID_GNU, ux_bytes(gnu, 8), &build, NULL), UX_OK);
	assert_true(ux_debug_id_format(&build, text));
	assert_string_equal(text, "5D3AFBFB209C73A200000000000000000");
	build.type = UX_ID_FILE;
	assert_false(ux_debug_id_format(&build, text));
}

UX_SUITE(debug_id)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(all_ways_to_write_one_are_read),
		UX_TEST(what_is_none_is_refused),
		UX_TEST(a_build_id_and_a_uuid_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
