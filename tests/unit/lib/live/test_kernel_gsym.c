/* SPDX-License-Identifier: Apache-2.0 */
/* lib/live: the running kernel's symbols as a GSYM. */
#include "sweep.h"

#include "gsym_reader.h"
#include "kernel_symbols.h"

static const char list[] = "ffffffff9a000000 T _text\n"
			   "ffffffff9a000000 T startup\n"
			   "ffffffff9a000040 t do_work\n"
			   "ffffffff9a000100 T _etext\n"
			   "ffffffffc0100000 t ext_begin\t[ext]\n"
			   "ffffffffc0100030 T ext_more\t[ext]\n";

static const struct ux_kernel_part whole = {
	.name = "",
	.label = "[kernel]",
	.build_id = "gnu:0102030405060708090a0b0c0d0e0f1011121314",
	.is_file = true,
};
static const struct ux_kernel_part module = {
	.name = "ext",
	.label = "[ext]",
	.build_id = "gnu:1102030405060708090a0b0c0d0e0f1011121314",
	.is_file = true,
	.start = UINT64_C(0xffffffffc0100000),
};

static enum ux_code to_out(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	ux_out_put(ctx, bytes.data, bytes.size);
	return ux_out_status(ctx, err);
}

static enum ux_code write_part(const struct ux_kernel_part *part, struct ux_out *out)
{
	struct ux_kernel k = {0};
	assert_int_equal(ux_kallsyms_parse(ux_bytes_cstr(list), NULL, &k.symbols, NULL), UX_OK);
	enum ux_code code = ux_kernel_gsym_write(&k, part, to_out, out, NULL);
	ux_kallsyms_deinit(&k.symbols);
	return code;
}

static void expect_function(struct ux_bytes file, uint64_t pc, const char *name)
{
	struct ux_gsym g;
	struct ux_frame frames[4];
	size_t n = 0;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	enum ux_code code = ux_gsym_lookup(&g, pc, frames, ux_countof(frames), &n, NULL);
	assert_int_equal(code, name ? UX_OK : UX_ENOTFOUND);
	if (!name)
		return;
	assert_int_equal(n, 1);
	assert_string_equal(frames[0].function, name);
}

static void functions_of_the_kernel_are_where_vmlinux_has_them(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(write_part(&whole, &out), UX_OK);
	expect_function(ux_out_bytes(&out), UINT64_C(0xffffffff81000004), "startup");
	expect_function(ux_out_bytes(&out), UINT64_C(0xffffffff81000044), "do_work");
	expect_function(ux_out_bytes(&out), UINT64_C(0xffffffff9a000044), NULL);
}

static void functions_of_a_module_count_from_its_text(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(write_part(&module, &out), UX_OK);
	expect_function(ux_out_bytes(&out), 0x2f, "ext_begin");
	expect_function(ux_out_bytes(&out), 0x30, "ext_more");
}

static void a_part_without_build_id_or_address_gives_nothing(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_kernel_part part = whole;
	part.build_id[0] = '\0';
	assert_int_equal(write_part(&part, &out), UX_ENOTFOUND);
	part = module;
	part.start = 0;
	assert_int_equal(write_part(&part, &out), UX_ENOTFOUND);
	part = module;
	part.name = "absent";
	assert_int_equal(write_part(&part, &out), UX_ENOTFOUND);
	assert_int_equal(out.size, 0);
}

UX_SUITE(kernel_gsym)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_kernel_are_where_vmlinux_has_them),
		cmocka_unit_test(functions_of_a_module_count_from_its_text),
		cmocka_unit_test(a_part_without_build_id_or_address_gives_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
