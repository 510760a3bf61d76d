/* SPDX-License-Identifier: Apache-2.0 */
/* lib/dwarf: bounds of functions, from their unwind tables. */
#include "sweep.h"

#include "dwarf_frame.h"
#include "make_frames.h"

enum {
	AT = 0x4000 /* where the section is */
};

static struct ux_dwarf_frames input_of(const struct make_frames *f, bool big)
{
	return (struct ux_dwarf_frames){
		.data = ux_out_bytes(&f->out),
		.pc = f->eh ? AT : 0,
		.data_pc = f->data_pc,
		.eh = f->eh,
		.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.address_size = f->is64 ? 8 : 4,
	};
}

/* Returns the ranges as "1000-1010 1020-1028", and " !" if the rest was damaged. */
static const char *reported_of(const struct ux_dwarf_frames *in)
{
	static char text[512];
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	enum ux_code code = ux_dwarf_frames_read(in, &list, &err);
	assert_int_equal(code, err.code);
	text[0] = '\0';
	for (size_t i = 0; i < list.size; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 "-%" PRIx64,
				      i ? " " : "", list.data[i].lo, list.data[i].hi);
	if (code != UX_OK)
		snprintf(text + n, sizeof(text) - n, " !");
	return text;
}

static const char *listed(const struct make_frames *f, bool big)
{
	struct ux_dwarf_frames in = input_of(f, big);
	return reported_of(&in);
}

static void functions_of_every_class_and_order_are_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct make_frames f;
		bool big = (i & 2) != 0;
		make_frames_init(&f, (i & 1) != 0, big, AT);
		f.is_wide = (i & 4) != 0;
		make_frames_cie(&f, "zR");
		make_frames_fde(&f, 0x1000, 0x10);
		make_frames_fde(&f, 0x1020, 8);
		make_frames_end(&f);
		assert_string_equal(listed(&f, big), "1000-1010 1020-1028");
		make_frames_deinit(&f);
	}
}

static void addresses_are_read_as_their_encoding_says(void **state)
{
	(void)state;
	static const uint8_t encodings[] = {0x00, 0x10, 0x1b, 0x03, 0x0b, 0x04, 0x1c,
					    0x01, 0x19, 0x3b, 0x30, 0x02, 0x0a};
	for (size_t i = 0; i < ux_countof(encodings); i++) {
		struct make_frames f;
		make_frames_init(&f, true, false, AT);
		f.encoding = encodings[i];
		f.data_pc = 0x9000;
		make_frames_cie(&f, "zPLR");
		make_frames_fde(&f, 0x1000, 0x10);
		if (strcmp(listed(&f, false), "1000-1010") != 0)
			fail_msg("encoding %#x: %s", encodings[i], listed(&f, false));
		make_frames_deinit(&f);
	}
}

static void an_aligned_address_begins_where_its_size_wants(void **state)
{
	(void)state;
	struct make_frames f;
	make_frames_init(&f, true, false, AT);
	f.encoding = 0x50;
	make_frames_cie(&f, "zR");
	assert_int_equal(f.out.size % 8, 0); /* so an FDE's address begins at a multiple of 8 */
	make_frames_fde(&f, 0x1000, 0x10);
	assert_string_equal(listed(&f, false), "1000-1010");
	make_frames_deinit(&f);
}

static void letters_that_say_nothing_of_addresses_are_passed(void **state)
{
	(void)state;
	static const char *const texts[] = {"zRS", "zSR", "zRB", "zLR", "zPLRSBG"};
	for (size_t i = 0; i < ux_countof(texts); i++) {
		struct make_frames f;
		make_frames_init(&f, true, false, AT);
		make_frames_cie(&f, texts[i]);
		make_frames_fde(&f, 0x1000, 0x10);
		assert_string_equal(listed(&f, false), "1000-1010");
		make_frames_deinit(&f);
	}
}

static void frames_without_an_augmentation_have_plain_addresses(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct make_frames f;
		make_frames_init(&f, true, false, AT);
		f.encoding = 0;
		make_frames_cie(&f, i == 0 ? "" : "eh");
		make_frames_fde(&f, 0x1000, 0x10);
		assert_string_equal(listed(&f, false), "1000-1010");
		make_frames_deinit(&f);
	}
}

static void debug_frames_of_all_versions_are_read(void **state)
{
	(void)state;
	static const uint8_t versions[] = {1, 3, 4};
	for (size_t i = 0; i < 2 * ux_countof(versions); i++) {
		struct make_frames f;
		make_frames_init(&f, true, true, 0);
		f.eh = false;
		f.encoding = 0;
		f.version = versions[i / 2];
		f.is_wide = i % 2 != 0;
		make_frames_cie(&f, "");
		make_frames_fde(&f, 0x1000, 0x10);
		make_frames_cie(&f, "");
		make_frames_fde(&f, 0x2000, 0x20);
		assert_string_equal(listed(&f, true), "1000-1010 2000-2020");
		make_frames_deinit(&f);
	}
}

static void what_follows_a_terminator_is_read(void **state)
{
	(void)state;
	struct make_frames f;
	make_frames_init(&f, false, false, AT);
	make_frames_cie(&f, "zR");
	make_frames_fde(&f, 0x1000, 0x10);
	make_frames_end(&f);
	make_frames_fde(&f, 0x2000, 0x10);
	assert_string_equal(listed(&f, false), "1000-1010 2000-2010");
	make_frames_deinit(&f);
}

static void addresses_that_the_file_does_not_have_are_left_out(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint8_t encoding;
		uint64_t size;
	} cases[] = {
		{"zR", 0x9b, 0x10},                      /* indirect */
		{"zR", 0x4b, 0x10},                      /* from a function's start */
		{"zXR", 0x1b, 0x10},                     /* the length of X is unknown */
		{"zR", 0x1b, 0},     {"zR", 0xff, 0x10}, /* omitted */
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_frames f;
		make_frames_init(&f, true, false, AT);
		f.encoding = cases[i].encoding;
		make_frames_cie(&f, cases[i].text);
		f.encoding = 0x1b;
		make_frames_fde(&f, 0x1000, cases[i].size);
		const char *found = listed(&f, false);
		assert_true(found[0] == '\0' || found[0] == ' ');
		make_frames_deinit(&f);
	}
}

/* The distance from a section to code in the upper half is negative in four bytes. */
static void addresses_of_32_bits_wrap_at_32_bits(void **state)
{
	(void)state;
	static const uint64_t places[] = {0xc0001000, 0x80004000, 0xfffffff0, 0x10};
	static const uint8_t encodings[] = {0x1b, 0x13, 0x3b, 0x0b}; /* pcrel, datarel, absolute */
	for (size_t i = 0; i < ux_countof(places) * ux_countof(encodings); i++) {
		struct make_frames f;
		char want[64];
		uint64_t lo = places[i % ux_countof(places)];
		make_frames_init(&f, false, false, AT);
		f.data_pc = 0x9000;
		f.encoding = encodings[i / ux_countof(places)];
		make_frames_cie(&f, "zR");
		make_frames_fde(&f, lo, 0x10);
		snprintf(want, sizeof(want), "%" PRIx64 "-%" PRIx64, lo, lo + 0x10);
		assert_string_equal(listed(&f, false), want);
		make_frames_deinit(&f);
	}
}

/* 0x20 bytes from 0xfffffff0 on would end after the last address. */
static void function_that_passes_the_end_of_32_bits_is_left_out(void **state)
{
	(void)state;
	struct make_frames f;
	make_frames_init(&f, false, false, AT);
	make_frames_cie(&f, "zR");
	make_frames_fde(&f, 0xfffffff0, 0x20);
	make_frames_fde(&f, 0x1000, 0x10);
	assert_string_equal(listed(&f, false), "1000-1010");
	make_frames_deinit(&f);
	make_frames_init(&f, true, false, AT);
	f.encoding = 0x04; /* eight bytes, absolute */
	make_frames_cie(&f, "zR");
	make_frames_fde(&f, 0xfffffff0, 0x20);
	assert_string_equal(listed(&f, false), "fffffff0-100000010");
	make_frames_deinit(&f);
}

static void damage_keeps_what_came_before(void **state)
{
	(void)state;
	struct make_frames f;
	make_frames_init(&f, true, false, AT);
	make_frames_cie(&f, "zR");
	make_frames_fde(&f, 0x1000, 0x10);
	ux_out_u32(&f.out, 100);
	assert_string_equal(listed(&f, false), "1000-1010 !");
	f.out.size -= 4;
	ux_out_u32(&f.out, 16);
	ux_out_u32(&f.out, 5000); /* before the section */
	ux_out_u64(&f.out, 0);
	ux_out_u32(&f.out, 0);
	assert_string_equal(listed(&f, false), "1000-1010 !");
	make_frames_deinit(&f);
}

static void index_tells_where_the_frames_are(void **state)
{
	(void)state;
	uint64_t pc = 0;
	/* version, pcrel | sdata4, count udata4, entries datarel | sdata4; then the distance */
	struct ux_bytes hdr = UX_STR("\x01\x1b\x03\x3b\x3c\x00\x00\x00\x00\x00\x00\x00");
	assert_true(ux_dwarf_frame_hdr(hdr, 0x2000, false, 8, &pc));
	assert_int_equal(pc, 0x2004 + 0x3c);
	assert_false(ux_dwarf_frame_hdr(UX_STR("\x02\x1b\x03\x3b\x3c\0\0\0"), 0, false, 8, &pc));
	assert_false(ux_dwarf_frame_hdr(UX_STR("\x01\x1b\x03\x3b\x3c\0"), 0, false, 8, &pc));
	assert_false(ux_dwarf_frame_hdr(UX_BYTES_NONE, 0, false, 8, &pc));
}

static void sweep(struct ux_bytes input, void *ctx)
{
	struct ux_dwarf_frames in = *(const struct ux_dwarf_frames *)ctx;
	in.data = input;
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	(void)!ux_dwarf_frames_read(&in, &list, NULL);
	for (size_t i = 0; i < list.size; i++)
		assert_true(list.data[i].lo < list.data[i].hi);
}

static void damaged_sections_give_only_ranges(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct make_frames f;
		make_frames_init(&f, (i & 1) != 0, false, AT);
		f.eh = (i & 2) != 0;
		f.version = f.eh ? 1 : 4;
		make_frames_cie(&f, f.eh ? "zPLR" : "");
		make_frames_fde(&f, 0x1000, 0x10);
		make_frames_fde(&f, 0x1020, 8);
		struct ux_dwarf_frames in = input_of(&f, false);
		each_prefix(in.data, sweep, &in);
		each_bit_flip(in.data, sweep, &in);
		each_byte_extreme(in.data, sweep, &in);
		make_frames_deinit(&f);
	}
}

UX_SUITE(dwarf_frame)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_of_every_class_and_order_are_found),
		UX_TEST(addresses_are_read_as_their_encoding_says),
		UX_TEST(an_aligned_address_begins_where_its_size_wants),
		UX_TEST(letters_that_say_nothing_of_addresses_are_passed),
		UX_TEST(frames_without_an_augmentation_have_plain_addresses),
		UX_TEST(debug_frames_of_all_versions_are_read),
		UX_TEST(what_follows_a_terminator_is_read),
		UX_TEST(addresses_that_the_file_does_not_have_are_left_out),
		UX_TEST(addresses_of_32_bits_wrap_at_32_bits),
		UX_TEST(function_that_passes_the_end_of_32_bits_is_left_out),
		UX_TEST(damage_keeps_what_came_before),
		UX_TEST(index_tells_where_the_frames_are),
		UX_TEST(damaged_sections_give_only_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
