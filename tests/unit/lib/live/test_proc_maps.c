/* SPDX-License-Identifier: Apache-2.0 */
/* lib/process: /proc/PID/maps. */
#include "sweep.h"

#include "proc_maps.h"

#include <sys/sysmacros.h>

static struct ux_proc_maps read_maps(const char *text)
{
	struct ux_proc_maps m;
	struct ux_bytes bytes = guard(ux_bytes_cstr(text));
	assert_int_equal(ux_proc_maps_parse(bytes, &m, NULL), UX_OK);
	guard_free(bytes);
	return m;
}

static void each_field_is_read(void **state)
{
	(void)state;
	struct ux_proc_maps m = read_maps("5653155ec000-5653155f1000 r-xp 00002000 fe:10 247134"
					  "                     /usr/bin/cat\n");
	assert_int_equal(m.list.size, 1);
	const struct ux_proc_map *map = &m.list.data[0];
	assert_int_equal(map->start, 0x5653155ec000);
	assert_int_equal(map->end, 0x5653155f1000);
	assert_int_equal(map->off, 0x2000);
	assert_int_equal(map->dev, makedev(0xfe, 0x10));
	assert_int_equal(map->ino, 247134);
	assert_string_equal(map->path, "/usr/bin/cat");
	assert_true(map->exec);
	assert_false(map->deleted);
	assert_int_equal(map->kind, UX_PROC_MAP_FILE);
	ux_proc_maps_deinit(&m);
}

static void what_is_behind_a_mapping_shows_in_its_name(void **state)
{
	(void)state;
	static const struct {
		const char *tail; /* from the device on */
		enum ux_proc_map_kind kind;
		const char *path;
		bool deleted;
	} cases[] = {
		{"fe:00 7 /a b/c", UX_PROC_MAP_FILE, "/a b/c", false},
		{"fe:00 7 /a (deleted)", UX_PROC_MAP_FILE, "/a", true},
		{"fe:00 7 /a\\012b", UX_PROC_MAP_FILE, "/a\nb", false},
		{"fe:00 7 /a\\b\\011", UX_PROC_MAP_FILE, "/a\\b\\011", false},
		{"00:01 9 /memfd:doublemapper (deleted)", UX_PROC_MAP_MEMORY, "/memfd:doublemapper",
		 true},
		{"00:0f 9 /anon_hugepage (deleted)", UX_PROC_MAP_MEMORY, "/anon_hugepage", true},
		{"00:01 9 /SYSV00000000 (deleted)", UX_PROC_MAP_MEMORY, "/SYSV00000000", true},
		{"00:01 9 /dev/zero (deleted)", UX_PROC_MAP_MEMORY, "/dev/zero", true},
		{"00:00 0 ", UX_PROC_MAP_ANON, "", false},
		{"00:00 0", UX_PROC_MAP_ANON, "", false},
		{"00:00 0    [heap]", UX_PROC_MAP_ANON, "[heap]", false},
		{"00:00 0    [stack]", UX_PROC_MAP_ANON, "[stack]", false},
		{"00:00 0    [anon:v8 code]", UX_PROC_MAP_ANON, "[anon:v8 code]", false},
		{"00:00 0    [anon_shmem:x]", UX_PROC_MAP_ANON, "[anon_shmem:x]", false},
		{"00:00 0    //anon", UX_PROC_MAP_ANON, "//anon", false},
		{"00:00 0    [vdso]", UX_PROC_MAP_VDSO, "[vdso]", false},
		{"00:00 0    [vsyscall]", UX_PROC_MAP_VSYSCALL, "[vsyscall]", false},
		{"00:00 0    [vvar]", UX_PROC_MAP_SPECIAL, "[vvar]", false},
		{"00:00 0    [uprobes]", UX_PROC_MAP_SPECIAL, "[uprobes]", false},
		{"00:0e 5    anon_inode:[perf_event]", UX_PROC_MAP_SPECIAL,
		 "anon_inode:[perf_event]", false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		char line[200];
		snprintf(line, sizeof(line), "1000-2000 rw-p 00000000 %s\n", cases[i].tail);
		struct ux_proc_maps m = read_maps(line);
		assert_int_equal(m.list.size, 1);
		assert_string_equal(m.list.data[0].path, cases[i].path);
		assert_int_equal(m.list.data[0].kind, cases[i].kind);
		assert_int_equal(m.list.data[0].deleted, cases[i].deleted);
		ux_proc_maps_deinit(&m);
	}
}

static void addresses_are_found(void **state)
{
	(void)state;
	struct ux_proc_maps m =
		read_maps("1000-2000 r-xp 0 0:0 0\n"
			  "2000-3000 r--p 0 0:0 0\n"
			  "ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]\n");
	size_t i = 9;
	assert_false(ux_proc_maps_find(&m, 0xfff, &i));
	assert_true(ux_proc_maps_find(&m, 0x1fff, &i));
	assert_int_equal(i, 0);
	assert_true(ux_proc_maps_find(&m, 0x2000, &i));
	assert_int_equal(i, 1);
	assert_false(ux_proc_maps_find(&m, 0x3000, &i));
	assert_true(ux_proc_maps_find(&m, 0xffffffffff600400, &i));
	assert_int_equal(i, 2);
	assert_false(ux_proc_maps_find(&m, UINT64_MAX, &i));
	ux_proc_maps_deinit(&m);
}

static void lines_that_make_no_sense_are_counted(void **state)
{
	(void)state;
	struct ux_proc_maps m = read_maps("1000-1000 r-xp 0 0:0 0\n"
					  "x000-2000 r-xp 0 0:0 0\n"
					  "1000-2000 r-x 0 0:0 0\n"
					  "1000-2000 r-xp 0 0:0\n"
					  "1000-2000 r-xp 0 00 0\n"
					  "1000-2000 r-xp 0 0:0 0x\n"
					  "11111111111111111-2000 r-xp 0 0:0 0\n"
					  "5000-6000 r-xp 0 0:0 0 /good\n"
					  "5800-7000 r-xp 0 0:0 0 /overlaps\n"
					  "7000-8000 r-xp 0 0:0 0 /cut");
	assert_int_equal(m.list.size, 1);
	assert_int_equal(m.skipped, 9);
	ux_proc_maps_deinit(&m);
}

static void parse_whatever(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_proc_maps m;
	if (ux_proc_maps_parse(input, &m, NULL) == UX_OK)
		ux_proc_maps_deinit(&m);
}

static const char good_text[] = "1000-2000 r-xp 00002000 fe:00 7 /a\\012b (deleted)\n"
				"2000-3000 rw-p 00000000 00:00 0 [heap]\n";

static void damaged_lists_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	each_prefix(ux_bytes_cstr(good_text), parse_whatever, NULL);
	each_bit_flip(ux_bytes_cstr(good_text), parse_whatever, NULL);
	each_byte_extreme(ux_bytes_cstr(good_text), parse_whatever, NULL);
}

static enum ux_code parse_good(void *ctx)
{
	(void)ctx;
	struct ux_proc_maps m;
	enum ux_code code = ux_proc_maps_parse(ux_bytes_cstr(good_text), &m, NULL);
	ux_proc_maps_deinit(&m);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(parse_good, NULL, /* may_recover= */ false) > 1);
}

UX_SUITE(proc_maps)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_field_is_read),
		UX_TEST(what_is_behind_a_mapping_shows_in_its_name),
		UX_TEST(addresses_are_found),
		UX_TEST(lines_that_make_no_sense_are_counted),
		UX_TEST(damaged_lists_are_read_as_far_as_they_go),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
