/* SPDX-License-Identifier: Apache-2.0 */
/* lib/kernel: symbols, modules and notes of the running kernel. */
#include "sweep.h"

#include "kernel.h"

static const char modules_text[] = "ext4 8192 1 - Live 0xffffffffc0100000\n"
				   "jbd2 4096 1 ext4, Live 0xffffffffc0000000 (OE)\n"
				   "hidden 4096 0 - Live 0x0000000000000000\n";

static const char symbols_text[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000000 T first\n"
	"ffffffff81000040 t local_function\n"
	"ffffffff81000040 T __global_function\n"
	"ffffffff81000080 W weak\n"
	"ffffffff81000080 t zzz\n"
	"ffffffff81000090 d data\n"
	"ffffffff810000a0 T __pfx_last\n"
	"ffffffff810000b0 T last\n"
	"ffffffff81002000 T _etext\n"
	"ffffffffc0000010 t jbd2_a\t[jbd2]\n"
	"ffffffffc0000100 t jbd2_b\t[jbd2]\n"
	"ffffffffc0100000 t ext4_a\t[ext4]\n"
	"ffffffffc0200000 t bpf_prog_6deef7357e7b4530_sd_devices\t[bpf]\n"
	"ffffffffc0300010 t ftrace_trampoline\t[__builtin__ftrace]\n";

static struct ux_kernel_modules read_modules(void)
{
	struct ux_kernel_modules m;
	assert_int_equal(ux_kernel_modules_parse(ux_bytes_cstr(modules_text), &m, NULL), UX_OK);
	return m;
}

static void assert_symbol(const struct ux_kallsyms *k, uint64_t addr, const char *name,
			  uint64_t start, const char *module)
{
	const struct ux_kernel_symbol *s = ux_kallsyms_find(k, addr);
	assert_non_null(s);
	assert_string_equal(s->name, name);
	assert_int_equal(s->start, start);
	assert_string_equal(s->module, module);
}

static void symbols_reach_to_the_next_or_their_modules_end(void **state)
{
	(void)state;
	struct ux_kernel_modules m = read_modules();
	struct ux_kallsyms k;
	struct ux_bytes text = guard(ux_bytes_cstr(symbols_text));
	assert_int_equal(ux_kallsyms_parse(text, &m, &k, NULL), UX_OK);
	guard_free(text);
	assert_int_equal(k.text, 0xffffffff81000000);
	assert_int_equal(k.stext, 0xffffffff81000000);
	assert_int_equal(k.skipped, 0);
	assert_symbol(&k, 0xffffffff8100003f, "first", 0xffffffff81000000, "");
	assert_symbol(&k, 0xffffffff81000040, "local_function", 0xffffffff81000040, "");
	assert_symbol(&k, 0xffffffff81000085, "weak", 0xffffffff81000080, "");
	assert_null(ux_kallsyms_find(&k, 0xffffffff81000090)); /* data */
	assert_symbol(&k, 0xffffffff81001fff, "last", 0xffffffff810000b0, "");
	assert_symbol(&k, 0xffffffffc00000ff, "jbd2_a", 0xffffffffc0000010, "jbd2");
	assert_symbol(&k, 0xffffffffc0000fff, "jbd2_b", 0xffffffffc0000100, "jbd2");
	assert_null(ux_kallsyms_find(&k, 0xffffffffc0001000));
	assert_symbol(&k, 0xffffffffc0101fff, "ext4_a", 0xffffffffc0100000, "ext4");
	assert_null(ux_kallsyms_find(&k, 0xffffffffc0102000));
	assert_symbol(&k, 0xffffffffc0200fff, "bpf_prog_6deef7357e7b4530_sd_devices",
		      0xffffffffc0200000, "bpf");
	assert_symbol(&k, 0xffffffffc0300fff, "ftrace_trampoline", 0xffffffffc0300010,
		      "__builtin__ftrace");
	assert_null(ux_kallsyms_find(&k, 0xffffffffc0301000));
	assert_null(ux_kallsyms_find(&k, 0xffffffff80ffffff));
	assert_null(ux_kallsyms_find(&k, UINT64_MAX));
	ux_kallsyms_deinit(&k);
	ux_kernel_modules_deinit(&m);
}

static enum ux_code parse(const char *text, struct ux_error *err)
{
	struct ux_kallsyms k;
	enum ux_code code = ux_kallsyms_parse(ux_bytes_cstr(text), NULL, &k, err);
	ux_kallsyms_deinit(&k);
	return code;
}

static void hidden_addresses_are_said_clearly(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(parse("0000000000000000 T _text\n0000000000000000 t a\t[m]\n", &err),
			 UX_EDENIED);
	assert_non_null(strstr(err.text, "kptr_restrict hides addresses: all 2 symbols"));
	assert_int_equal(parse("", NULL), UX_ENOTFOUND);
	assert_int_equal(parse("ffffffff81000000 D data\n", NULL), UX_ENOTFOUND);
	/* per-processor symbols are at 0 in any case */
	assert_int_equal(parse("0000000000000000 A fixed\nffffffff81000000 T f\n", NULL), UX_OK);
}

static void lines_that_make_no_sense_are_counted(void **state)
{
	(void)state;
	struct ux_kallsyms k;
	assert_int_equal(ux_kallsyms_parse(UX_STR("ffffffff81000000 T good\n"
						  "ffffffff81000010 T\n"
						  "ffffffff81000010 TT name\n"
						  "fffffffff81000010 T seventeen\n"
						  "name\n"
						  "\n"
						  "ffffffff81000020 t odd\tmodule\n"
						  "c0000030 t short"),
					   NULL, &k, NULL),
			 UX_OK);
	assert_int_equal(k.skipped, 4);
	assert_symbol(&k, 0xffffffff81000020, "odd", 0xffffffff81000020, "");
	assert_symbol(&k, 0xc0000030, "short", 0xc0000030, "");
	ux_kallsyms_deinit(&k);
}

static void modules_are_found_by_address(void **state)
{
	(void)state;
	struct ux_kernel_modules m = read_modules();
	assert_int_equal(m.list.size, 3);
	assert_string_equal(ux_kernel_modules_find(&m, 0xffffffffc0000fff)->name, "jbd2");
	assert_string_equal(ux_kernel_modules_find(&m, 0xffffffffc0100000)->name, "ext4");
	assert_null(ux_kernel_modules_find(&m, 0xffffffffc0001000));
	ux_kernel_modules_deinit(&m);
	assert_int_equal(ux_kernel_modules_parse(UX_STR("a\nb x 0 - Live 0x1\n\nc 1 0 - Live 0x2"),
						 &m, NULL),
			 UX_OK);
	assert_int_equal(m.skipped, 2);
	assert_int_equal(m.list.size, 1);
	ux_kernel_modules_deinit(&m);
}

static void a_build_id_is_found_in_notes(void **state)
{
	(void)state;
	static const uint8_t notes[] = {
		6, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'L', 'i', 'n', 'u', 'x', 0, 0,    0,    9, 0,
		0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0,   0,   'G', 'N', 'U', 0, 0xab, 0xcd, 0, 0};
	struct ux_bytes guarded = guard(ux_bytes(notes, sizeof(notes)));
	struct ux_bytes id = ux_kernel_build_id(guarded);
	assert_int_equal(id.size, 2);
	assert_memory_equal(id.data, "\xab\xcd", 2);
	guard_free(guarded);
	assert_int_equal(ux_kernel_build_id(UX_BYTES_NONE).size, 0);
	assert_int_equal(ux_kernel_build_id(ux_bytes(notes, 30)).size, 0);
}

static void the_vsyscall_page_has_three_names(void **state)
{
	(void)state;
	uint64_t start = 0;
	assert_string_equal(ux_vsyscall_name(0xffffffffff600000, &start), "gettimeofday");
	assert_string_equal(ux_vsyscall_name(0xffffffffff600409, &start), "time");
	assert_int_equal(start, 0xffffffffff600400);
	assert_string_equal(ux_vsyscall_name(0xffffffffff600bff, &start), "getcpu");
	assert_null(ux_vsyscall_name(0xffffffffff600c00, &start));
	assert_null(ux_vsyscall_name(0xffffffffff5fffff, &start));
	assert_null(ux_vsyscall_name(0, &start));
}

static const char dep_text[] = "kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko\n"
			       "kernel/sound/snd-hda-intel.ko.xz: a.ko b.ko\n"
			       "/opt/extra/my_own.ko.zst:\n"
			       "no-colon.ko\n"
			       "kernel/x.ko.d/y.ko:\n"
			       "z.ko:\n"
			       "kernel/no_module.kon:";

static void assert_listed(const char *name, const char *path, const char *plain)
{
	struct ux_bytes list = guard(ux_bytes_cstr(dep_text));
	struct ux_bytes found = ux_modules_dep_find(list, name);
	assert_true(ux_bytes_eq(found, ux_bytes_cstr(path)));
	assert_true(ux_bytes_eq(ux_module_path_plain(found), ux_bytes_cstr(plain)));
	guard_free(list);
}

static void files_of_modules_are_found_by_the_kernels_names(void **state)
{
	(void)state;
	assert_listed("ext4", "kernel/fs/ext4/ext4.ko", "kernel/fs/ext4/ext4.ko");
	assert_listed("snd_hda_intel", "kernel/sound/snd-hda-intel.ko.xz",
		      "kernel/sound/snd-hda-intel.ko");
	assert_listed("my_own", "/opt/extra/my_own.ko.zst", "/opt/extra/my_own.ko");
	assert_listed("y", "kernel/x.ko.d/y.ko", "kernel/x.ko.d/y.ko");
	assert_listed("z", "z.ko", "z.ko");
	assert_listed("xt4", "", "");
	assert_listed("jbd2", "", "");
	assert_listed("x", "", "");
	assert_listed("no_colon", "", "");
	assert_listed("no_module", "", "");
	assert_listed("", "", "");
	assert_int_equal(ux_module_path_plain(UX_STR("a.ko.d/b")).size, 0);
	assert_int_equal(ux_module_path_plain(UX_STR(".ko.xz.asc")).size, 3);
}

static void parse_whatever(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_kallsyms k;
	struct ux_kernel_modules m;
	if (ux_kernel_modules_parse(input, &m, NULL) == UX_OK)
		ux_kernel_modules_deinit(&m);
	if (ux_kallsyms_parse(input, NULL, &k, NULL) == UX_OK)
		ux_kallsyms_deinit(&k);
	(void)ux_kernel_build_id(input);
	(void)ux_modules_dep_find(input, "ext4");
	(void)ux_module_path_plain(input);
}

static void damaged_lists_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	struct ux_bytes symbols = ux_bytes_cstr(symbols_text);
	struct ux_bytes modules = ux_bytes_cstr(modules_text);
	each_prefix(symbols, parse_whatever, NULL);
	each_bit_flip(symbols, parse_whatever, NULL);
	each_prefix(modules, parse_whatever, NULL);
	each_byte_extreme(modules, parse_whatever, NULL);
	each_prefix(ux_bytes_cstr(dep_text), parse_whatever, NULL);
	each_byte_extreme(ux_bytes_cstr(dep_text), parse_whatever, NULL);
}

static enum ux_code parse_all(void *ctx)
{
	(void)ctx;
	struct ux_kernel_modules m = {0};
	struct ux_kallsyms k = {0};
	enum ux_code code = ux_kernel_modules_parse(ux_bytes_cstr(modules_text), &m, NULL);
	if (code == UX_OK)
		code = ux_kallsyms_parse(ux_bytes_cstr(symbols_text), &m, &k, NULL);
	ux_kallsyms_deinit(&k);
	ux_kernel_modules_deinit(&m);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(parse_all, NULL, /* may_recover= */ true) > 4);
}

UX_SUITE(kallsyms)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(symbols_reach_to_the_next_or_their_modules_end),
		UX_TEST(hidden_addresses_are_said_clearly),
		UX_TEST(lines_that_make_no_sense_are_counted),
		UX_TEST(modules_are_found_by_address),
		UX_TEST(a_build_id_is_found_in_notes),
		UX_TEST(files_of_modules_are_found_by_the_kernels_names),
		UX_TEST(the_vsyscall_page_has_three_names),
		UX_TEST(damaged_lists_are_read_as_far_as_they_go),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
