/* SPDX-License-Identifier: Apache-2.0 */
/* Members of static libraries. */
#include "sweep.h"

#include "ar_member.h"
#include "out.h"

static void begin(struct ux_out *out)
{
	*out = (struct ux_out){0};
	ux_out_cstr(out, "!<arch>\n");
}

/* A member with its name as the header has it. */
static void add(struct ux_out *out, const char *name, unsigned mtime, const char *content)
{
	ux_out_fmt(out, "%-16s%-12u%-6u%-6u%-8o%-10zu`\n%s", name, mtime, 0u, 0u, 0644u,
		   strlen(content), content);
	if (strlen(content) % 2 != 0)
		ux_out_u8(out, '\n');
}

static const char *content_of(const struct ux_out *archive, const char *name, uint64_t mtime,
			      uint64_t *ret_mtime)
{
	static char text[64];
	struct ux_bytes found;
	struct ux_bytes file = guard(ux_out_bytes(archive));
	enum ux_code code = ux_ar_member(file, ux_bytes_cstr(name), mtime, &found, ret_mtime, NULL);
	if (code == UX_OK)
		snprintf(text, sizeof(text), "%.*s", (int)found.size, (const char *)found.data);
	guard_free(file);
	return code == UX_OK ? text : code == UX_ENOTFOUND ? "none" : "error";
}

static void members_of_apple_and_of_system_v_are_found(void **state)
{
	(void)state;
	struct ux_out out;
	uint64_t mtime = 0;
	begin(&out);
	add(&out, "__.SYMDEF", 1, "odd");
	add(&out, "a.o", 7, "content of a");
	add(&out, "#1/20", 8, "a name with spaces..the content");
	add(&out, "b.o/", 9, "System V's");
	add(&out, "//", 0, "x.o/\na rather long name.o/\n");
	add(&out, "/5", 10, "the long one");
	assert_string_equal(content_of(&out, "a.o", 0, &mtime), "content of a");
	assert_int_equal(mtime, 7);
	assert_string_equal(content_of(&out, "a name with spaces..", 0, &mtime), "the content");
	assert_int_equal(mtime, 8);
	assert_string_equal(content_of(&out, "b.o", 0, &mtime), "System V's");
	assert_string_equal(content_of(&out, "a rather long name.o", 0, &mtime), "the long one");
	assert_int_equal(mtime, 10);
	assert_string_equal(content_of(&out, "c.o", 0, &mtime), "none");
	ux_out_deinit(&out);
}

static void of_several_with_one_name_the_time_decides(void **state)
{
	(void)state;
	struct ux_out out;
	uint64_t mtime = 0;
	begin(&out);
	add(&out, "a.o", 1, "one");
	add(&out, "a.o", 2, "two");
	assert_string_equal(content_of(&out, "a.o", 2, &mtime), "two");
	assert_string_equal(content_of(&out, "a.o", 5, &mtime), "one");
	ux_out_deinit(&out);
}

static void damaged_archives_are_errors(void **state)
{
	(void)state;
	static const char *const files[] = {
		"!<thin>\n",
		"",
		"!<arch>\na.o             1           0     0     644     99        `\nshort",
		"!<arch>\na.o             1           0     0     644     1x        `\nabc",
		"!<arch>\n#1/9            1           0     0     644     4         `\nabcd",
		"!<arch>\na.o   ",
	};
	for (size_t i = 0; i < ux_countof(files); i++) {
		struct ux_out out = {0};
		uint64_t mtime = 0;
		ux_out_cstr(&out, files[i]);
		assert_string_equal(content_of(&out, "a.o", 0, &mtime), "error");
		ux_out_deinit(&out);
	}
}

static void look(struct ux_bytes file, void *ctx)
{
	struct ux_bytes found;
	uint64_t mtime = 0;
	(void)ctx;
	if (ux_ar_member(file, UX_STR("x.o"), 0, &found, &mtime, NULL) == UX_OK)
		assert_true(found.size <= file.size);
	for (uint64_t at = 0, before = 0; ux_ar_next(file, &at, &found, NULL) == UX_OK;
	     before = at) {
		assert_true(at > before && at <= file.size);
		assert_true(found.size <= file.size);
	}
}

static void members_come_one_after_the_other(void **state)
{
	(void)state;
	struct ux_out out;
	struct ux_bytes found;
	uint64_t at = 0;
	begin(&out);
	add(&out, "a", 0, "odd");
	add(&out, "b", 0, "");
	add(&out, "c", 0, "even");
	struct ux_bytes file = ux_out_bytes(&out);
	assert_int_equal(ux_ar_next(file, &at, &found, NULL), UX_OK);
	assert_true(ux_bytes_eq(found, UX_STR("odd")));
	assert_int_equal(ux_ar_next(file, &at, &found, NULL), UX_OK);
	assert_int_equal(found.size, 0);
	assert_int_equal(ux_ar_next(file, &at, &found, NULL), UX_OK);
	assert_true(ux_bytes_eq(found, UX_STR("even")));
	assert_int_equal(ux_ar_next(file, &at, &found, NULL), UX_ENOTFOUND);
	at = 0;
	assert_int_equal(ux_ar_next(UX_STR("\x7f"
					   "ELF"),
				    &at, &found, NULL),
			 UX_EUNSUPPORTED);
	ux_out_deinit(&out);
}

static void damage_of_every_kind_is_survived(void **state)
{
	(void)state;
	struct ux_out out;
	begin(&out);
	add(&out, "//", 0, "x.o/\n");
	add(&out, "#1/3", 1, "b.o");
	add(&out, "/0", 1, "content");
	each_prefix(ux_out_bytes(&out), look, NULL);
	each_bit_flip(ux_out_bytes(&out), look, NULL);
	each_byte_extreme(ux_out_bytes(&out), look, NULL);
	ux_out_deinit(&out);
}

UX_SUITE(ar_member)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(members_of_apple_and_of_system_v_are_found),
		UX_TEST(of_several_with_one_name_the_time_decides),
		UX_TEST(members_come_one_after_the_other),
		UX_TEST(damaged_archives_are_errors),
		UX_TEST(damage_of_every_kind_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
