/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: source files in a pack by any writer. */
#include "sweep.h"

#include "path_canonical.h"
#include "source_pack.h"

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

static void add(struct ux_source_packer *p, const char *path, const char *content)
{
	uint64_t off = p->size;
	assert_int_equal(ux_source_packer_put(p, ux_bytes_cstr(content), NULL), UX_OK);
	assert_int_equal(ux_source_packer_name(p, path, off, NULL), UX_OK);
}

static struct ux_out make_pack(void)
{
	struct ux_out out = {0};
	struct ux_source_packer p = {.write = collect, .ctx = &out};
	add(&p, "/src/b.c", "int b;\n");
	add(&p, "/src/a.c", "old");
	add(&p, "/empty", "");
	add(&p, "/src/a.c", "int a;\n");
	assert_int_equal(ux_source_packer_end(&p, NULL), UX_OK);
	ux_source_packer_deinit(&p);
	return out;
}

static void is_source(struct ux_bytes pack, const struct ux_packed_source *s, const char *path,
		      const char *content)
{
	struct ux_bytes found = UX_BYTES_NONE;
	assert_string_equal(s->path, path);
	assert_true(ux_bytes_sub(pack, s->off, s->size, &found));
	assert_true(ux_bytes_eq(found, ux_bytes_cstr(content)));
}

static void what_was_packed_is_found_by_path_and_the_last_of_a_path_counts(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out out = make_pack();
	struct ux_bytes pack = ux_out_bytes(&out);
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	assert_int_equal(ux_source_pack_read(pack, &arena, &list, &n, NULL), UX_OK);
	assert_int_equal(n, 3);
	is_source(pack, &list[0], "/empty", "");
	is_source(pack, &list[1], "/src/a.c", "int a;\n");
	is_source(pack, &list[2], "/src/b.c", "int b;\n");
}

/* Checks that, for any content, the listed files are inside the pack, sorted, and canonical. */
static void read_any(struct ux_bytes pack, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	UX_ARENA(again, 1 << 20);
	struct ux_packed_source *list = NULL;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	if (ux_source_pack_read(pack, &arena, &list, &n, &err) != UX_OK) {
		assert_int_not_equal(err.code, UX_OK);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes content = UX_BYTES_NONE;
		const char *path = NULL;
		assert_true(ux_bytes_sub(pack, list[i].off, list[i].size, &content));
		assert_true(i == 0 || strcmp(list[i - 1].path, list[i].path) < 0);
		assert_int_equal(
			ux_path_canonical(ux_bytes_cstr(list[i].path), &again, &path, NULL), UX_OK);
		assert_string_equal(path, list[i].path);
	}
}

static void damaged_pack_never_leaves_its_bytes(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = make_pack();
	each_prefix(ux_out_bytes(&out), read_any, NULL);
	each_bit_flip(ux_out_bytes(&out), read_any, NULL);
	each_byte_extreme(ux_out_bytes(&out), read_any, NULL);
}

static enum ux_code pack_and_read(void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = &out};
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	UX_TRY(ux_source_packer_put(&p, UX_STR("x"), NULL));
	UX_TRY(ux_source_packer_name(&p, "/a", 0, NULL));
	UX_TRY(ux_source_packer_end(&p, NULL));
	return ux_source_pack_read(ux_out_bytes(&out), &arena, &list, &n, NULL);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(pack_and_read, NULL, false) > 2);
}

static void bounds_are_kept_while_it_is_written(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {.counting = true};
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = &out};
	static char name[UX_PATH_BYTES];
	memset(name, 'a', sizeof(name) - 1);
	enum ux_code code = UX_OK;
	size_t n = 0;
	for (; code == UX_OK; n++)
		code = ux_source_packer_name(&p, name, 0, NULL);
	assert_int_equal(code, UX_ELIMIT);
	assert_true(n < UX_SOURCE_PACK_TABLE_MAX / sizeof(name) + 2);
	p.count = UX_SOURCE_PACK_FILES_MAX;
	assert_int_equal(ux_source_packer_name(&p, "/a", 0, NULL), UX_ELIMIT);
}

static void names_of_debug_information_become_canonical(void **state)
{
	(void)state;
	static const struct {
		const char *name, *path;
	} names[] = {{"/a//b/./c.c", "/a/b/c.c"},
		     {"a.c", "/a.c"},
		     {"./src/../a.c", "/a.c"},
		     {"/a/b/../../c", "/c"},
		     {"../a.c", NULL},
		     {"", NULL},
		     {"/", NULL},
		     {"/../a.c", NULL}};
	UX_ARENA(arena, 1 << 20);
	for (size_t i = 0; i < ux_countof(names); i++) {
		const char *path = NULL;
		enum ux_code code =
			ux_path_of_source(ux_bytes_cstr(names[i].name), &arena, &path, NULL);
		assert_int_equal(code, names[i].path ? UX_OK : UX_EINVAL);
		if (names[i].path)
			assert_string_equal(path, names[i].path);
	}
}

UX_SUITE(source_pack)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_was_packed_is_found_by_path_and_the_last_of_a_path_counts),
		UX_TEST(damaged_pack_never_leaves_its_bytes),
		UX_TEST(each_failed_allocation_is_reported),
		UX_TEST(bounds_are_kept_while_it_is_written),
		UX_TEST(names_of_debug_information_become_canonical),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
