/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a piece of a program's GPU code. */
#include "sweep.h"

#include "cubin_crc.h"
#include "fatbin.h"
#include "make_cubin.h"
#include "make_fatbin.h"

/* A fat binary: sm_80 (1), sm_90 (2), PTX (3), sm_90 without code (4), sm_100 twice (5, 6). */
struct fat {
	struct make_cubin cubin;
	struct make_cubin empty;
	struct ux_out file;
	struct ux_fatbin_list list;
	struct ux_bytes code;
};

static void begin(struct fat *f)
{
	*f = (struct fat){0};
	make_cubin_init(&f->cubin, 80, false);
	make_cubin_section(&f->cubin, ".text.a", 0x80);
	f->code = make_cubin_finish(&f->cubin);
	make_cubin_init(&f->empty, 90, false);
	struct ux_bytes none = make_cubin_finish(&f->empty);
	struct make_fatbin_entry entries[] = {
		{.arch = 80, .content = f->code},
		{.arch = 90, .content = f->code, .flags = UX_FATBIN_LZ4},
		{.arch = 90, .kind = UX_FATBIN_PTX, .content = UX_STR(".version 9.0")},
		{.arch = 90, .content = none},
		{.arch = 100, .content = f->code},
		{.arch = 100, .content = UX_STR("damaged")},
	};
	size_t at = make_fatbin_begin(&f->file);
	for (size_t i = 0; i < ux_countof(entries); i++)
		make_fatbin_add(&f->file, &entries[i]);
	make_fatbin_end(&f->file, at);
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&f->file), &f->list, NULL), UX_OK);
}

static void end(struct fat *f)
{
	ux_fatbin_list_deinit(&f->list);
	ux_out_deinit(&f->file);
	make_cubin_deinit(&f->cubin);
	make_cubin_deinit(&f->empty);
}

static size_t chosen(const struct fat *f, const char *text)
{
	size_t at = 77;
	assert_int_equal(ux_fatbin_choose(&f->list, text, &at, NULL), UX_OK);
	return at;
}

static const char *refused(const struct fat *f, const char *text, enum ux_code code)
{
	static struct ux_error err;
	size_t at = 77;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_fatbin_choose(&f->list, text, &at, &err), code);
	assert_int_equal(at, 77);
	return err.text;
}

static void architectures_numbers_and_identities_choose(void **state)
{
	(void)state;
	struct fat f;
	char text[UX_ID_TEXT];
	begin(&f);
	assert_int_equal(chosen(&f, "sm_80"), 0);
	assert_int_equal(chosen(&f, "sm_90"), 1); /* the other one has no code */
	assert_int_equal(chosen(&f, "1"), 0);
	assert_int_equal(chosen(&f, "4"), 3);
	assert_int_equal(chosen(&f, "6"), 5);
	struct ux_id_set ids = {0};
	assert_int_equal(ux_cubin_ids(f.code, &ids, NULL), UX_OK);
	assert_int_equal(ids.size, 2);
	assert_int_equal(chosen(&f, ux_id_format(&ids.ids[0], text)), 0);
	assert_int_equal(chosen(&f, ux_id_format(&ids.ids[1], text)), 0);
	end(&f);
}

static void missing_part_is_reported_with_those_there_are(void **state)
{
	(void)state;
	struct fat f;
	begin(&f);
	assert_string_equal(
		refused(&f, "sm_70", UX_ENOTFOUND),
		"no GPU code for sm_70; the file has sm_80, sm_90, compute_90 (not compiled), "
		"sm_100");
	assert_string_equal(refused(&f, "7", UX_ENOTFOUND),
			    "no GPU code has number 7; there are 6 pieces");
	refused(&f, "0", UX_ENOTFOUND);
	assert_string_equal(refused(&f, "3", UX_ENOTFOUND),
			    "GPU code 3 is ptx: it is compiled at run time and has no addresses "
			    "yet");
	refused(&f, "cubin-crc:1", UX_ENOTFOUND);
	refused(&f, "cubin-crc:", UX_EINVAL);
	struct fat none = {0};
	assert_string_equal(refused(&none, NULL, UX_ENOTFOUND), "no GPU code; the file has none");
	end(&f);
}

/* No architecture is left out silently: architectures without room are counted. */
static void architectures_without_room_are_counted(void **state)
{
	(void)state;
	struct fat f = {0};
	char all[256];
	size_t at = make_fatbin_begin(&f.file);
	make_cubin_init(&f.cubin, 80, false);
	make_cubin_section(&f.cubin, ".text.a", 0x80);
	f.code = make_cubin_finish(&f.cubin);
	for (uint32_t i = 0; i < 20; i++) {
		struct make_fatbin_entry one = {.arch = 101 + i, .content = f.code};
		make_fatbin_add(&f.file, &one);
	}
	make_fatbin_end(&f.file, at);
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&f.file), &f.list, NULL), UX_OK);
	assert_string_equal(refused(&f, "sm_90a", UX_ENOTFOUND),
			    "no GPU code for sm_90a; the file has sm_101, sm_102, sm_103, sm_104, "
			    "sm_105, sm_106, sm_107, sm_108, sm_109, sm_110, sm_111, sm_112, "
			    "and 8 more");
	ux_fatbin_archs(&f.list, all, sizeof(all));
	assert_non_null(strstr(all, "sm_101, "));
	assert_non_null(strstr(all, "sm_119, sm_120"));
	assert_null(strstr(all, "more"));
	ux_fatbin_list_deinit(&f.list);
	ux_out_deinit(&f.file);
	make_cubin_deinit(&f.cubin);
}

static void several_are_no_choice(void **state)
{
	(void)state;
	struct fat f;
	begin(&f);
	assert_non_null(
		strstr(refused(&f, "sm_100", UX_ECONFLICT), "2 pieces of GPU code for sm_100, "));
	assert_non_null(strstr(refused(&f, NULL, UX_ECONFLICT), "4 pieces of GPU code, "));
	end(&f);
}

UX_SUITE(fatbin_choose)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(architectures_numbers_and_identities_choose),
		UX_TEST(missing_part_is_reported_with_those_there_are),
		UX_TEST(architectures_without_room_are_counted),
		UX_TEST(several_are_no_choice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
