/* SPDX-License-Identifier: Apache-2.0 */
/* lib/elf: xz, and the ELF file inside of another. */
#include "sweep.h"

#include "elf_symbols.h"
#include "make_elf.h"
#include "make_frames.h"
#include "packed_file.h"

enum {
	DICTIONARY = 1 << 20
};

static struct ux_bytes prose(void)
{
	static uint8_t text[200000];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("the quick brown fox "[i % 20] + i / 1000);
	return ux_bytes(text, sizeof(text));
}

static enum ux_code inflate(struct ux_bytes packed, uint64_t max, struct ux_error *err)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	UX_TRY(ux_xz_inflate(packed, ".gnu_debugdata", max, &content, err));
	assert_true(ux_bytes_eq(content.bytes, prose()));
	return UX_OK;
}

static void stream_inflates_to_what_went_in(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_xz(&out, prose(), DICTIONARY);
	assert_true(ux_xz_is(ux_out_bytes(&out)));
	assert_int_equal(inflate(ux_out_bytes(&out), 1 << 20, NULL), UX_OK);
	assert_int_equal(inflate(ux_out_bytes(&out), prose().size, NULL), UX_OK);
}

static void several_streams_are_one_content(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes all = prose();
	make_xz(&out, ux_bytes(all.data, 1000), DICTIONARY);
	make_xz(&out, ux_bytes(all.data + 1000, all.size - 1000), DICTIONARY);
	ux_out_u32(&out, 0); /* stream padding */
	assert_int_equal(inflate(ux_out_bytes(&out), 1 << 20, NULL), UX_OK);
}

static void more_than_is_allowed_is_a_limit(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_xz(&out, prose(), DICTIONARY);
	assert_int_equal(inflate(ux_out_bytes(&out), prose().size - 1, &err), UX_ELIMIT);
	assert_string_equal(err.text, "xz stream inflates to more than 199999 bytes");
}

static void dictionary_of_more_than_xz_makes_is_a_limit(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_xz(&out, prose(), 1 << 27);
	assert_int_equal(inflate(ux_out_bytes(&out), 1 << 20, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "dictionary"));
}

static void what_is_no_stream_or_cut_off_is_corrupt(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_xz(&out, prose(), DICTIONARY);
	assert_int_equal(inflate(UX_STR("no stream at all"), 1 << 20, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "not an xz stream");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(inflate(ux_bytes(out.data, out.size - 8), 1 << 20, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "xz stream is cut off");
	err = (struct ux_error)UX_ERROR_INIT;
	out.data[out.size / 2] ^= 1;
	assert_int_equal(inflate(ux_out_bytes(&out), 1 << 20, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "xz stream is damaged");
}

/* Makes an ELF file whose .gnu_debugdata has an ELF file of `machine`. */
static struct ux_bytes make(struct make_elf *m, uint16_t machine, bool damaged)
{
	struct make_elf inner;
	struct ux_out packed = {0};
	make_elf_init(&inner, 64, false);
	inner.machine = machine;
	uint32_t text =
		make_elf_section(&inner, (struct make_section){.name = ".text",
							       .flags = SHF_ALLOC | SHF_EXECINSTR,
							       .addr = 0x1000,
							       .type = SHT_NOBITS,
							       .size = 64});
	make_elf_symbol(&inner, (struct make_symbol){.name = "hidden",
						     .value = 0x1010,
						     .size = 8,
						     .section = text,
						     .type = STT_FUNC});
	make_xz(&packed, damaged ? UX_STR("no ELF") : make_elf_finish(&inner), DICTIONARY);
	make_elf_deinit(&inner);
	make_elf_init(m, 64, false);
	make_elf_section(m, (struct make_section){.name = ".gnu_debugdata",
						  .content = ux_out_bytes(&packed)});
	ux_out_deinit(&packed);
	return make_elf_finish(m);
}

static enum ux_code open_inner(struct ux_bytes file, size_t *ret_sections, struct ux_error *err)
{
	ux_cleanup(ux_elf_debugdata_close) struct ux_elf_debugdata d = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, err));
	UX_TRY(ux_elf_debugdata_open(&elf, &d, err));
	*ret_sections = d.elf.n_sections;
	assert_true((d.elf.file.size > 0) == (d.content.owned != NULL));
	return UX_OK;
}

static void file_inside_of_the_file_is_opened(void **state)
{
	(void)state;
	struct make_elf m;
	size_t n = 0;
	assert_int_equal(open_inner(make(&m, EM_X86_64, false), &n, NULL), UX_OK);
	assert_int_equal(n, 5); /* none, text, names, symbols, names of sections */
	make_elf_deinit(&m);
}

static void file_without_the_section_has_none(void **state)
{
	(void)state;
	struct make_elf m;
	size_t n = 1;
	make_elf_init(&m, 64, false);
	assert_int_equal(open_inner(make_elf_finish(&m), &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	make_elf_deinit(&m);
}

static void file_of_another_machine_is_corrupt(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	assert_int_equal(open_inner(make(&m, EM_AARCH64, false), &n, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "holds an ELF file for machine 183, expected 62");
	make_elf_deinit(&m);
	assert_int_equal(open_inner(make(&m, EM_X86_64, true), &n, NULL), UX_EUNSUPPORTED);
	make_elf_deinit(&m);
}

static void sweep(struct ux_bytes input, void *ctx)
{
	size_t n = 0;
	(void)ctx;
	(void)!open_inner(input, &n, NULL);
}

static void damaged_files_are_refused(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_bytes file = make(&m, EM_X86_64, false);
	each_prefix(file, sweep, NULL);
	each_bit_flip(file, sweep, NULL);
	make_elf_deinit(&m);
}

static enum ux_code open_once(void *ctx)
{
	size_t n = 0;
	return open_inner(*(const struct ux_bytes *)ctx, &n, NULL);
}

static void want_of_memory_is_said(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_bytes file = make(&m, EM_X86_64, false);
	assert_true(each_failed_alloc(open_once, &file, /* may_recover= */ false) > 2);
	make_elf_deinit(&m);
}

UX_SUITE(elf_debugdata)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(stream_inflates_to_what_went_in),
		UX_TEST(several_streams_are_one_content),
		UX_TEST(more_than_is_allowed_is_a_limit),
		UX_TEST(dictionary_of_more_than_xz_makes_is_a_limit),
		UX_TEST(what_is_no_stream_or_cut_off_is_corrupt),
		UX_TEST(file_inside_of_the_file_is_opened),
		UX_TEST(file_without_the_section_has_none),
		UX_TEST(file_of_another_machine_is_corrupt),
		UX_TEST(damaged_files_are_refused),
		UX_TEST(want_of_memory_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
