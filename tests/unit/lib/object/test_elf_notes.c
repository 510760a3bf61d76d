/* SPDX-License-Identifier: Apache-2.0 */
/* lib/elf: notes. */
#include "sweep.h"

#include "elf_ids.h"
#include "make_elf.h"

static bool note_is(const struct ux_elf_note *note, const char *owner, uint32_t type,
		    struct ux_bytes desc)
{
	return note && ux_bytes_eq(note->owner, ux_bytes_cstr(owner)) && note->type == type &&
	       ux_bytes_eq(note->desc, desc);
}

static void notes_are_walked_in_each_order_and_alignment(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		bool swap = (v & 1) != 0;
		size_t align = (v & 2) != 0 ? 8 : 4;
		struct ux_out out = {.swap = swap};
		make_note(&out, "GNU", 3, UX_STR("12345"), align);
		make_note(&out, "", 7, UX_BYTES_NONE, align);
		make_note(&out, "Linux", 0x101, UX_STR("12345678"), align);
		struct ux_bytes bytes = guard(ux_out_bytes(&out));
		struct ux_elf_notes it;
		ux_elf_notes_init(&it, bytes, align, swap, ".note");
		assert_true(note_is(ux_elf_notes_next(&it), "GNU", 3, UX_STR("12345")));
		assert_true(note_is(ux_elf_notes_next(&it), "", 7, UX_BYTES_NONE));
		assert_true(note_is(ux_elf_notes_next(&it), "Linux", 0x101, UX_STR("12345678")));
		assert_null(ux_elf_notes_next(&it));
		assert_int_equal(ux_elf_notes_status(&it, NULL), UX_OK);
		guard_free(bytes);
		ux_out_deinit(&out);
	}
}

static void other_alignments_mean_four(void **state)
{
	(void)state;
	static const uint64_t aligns[] = {0, 1, 2, 4, 16, 4096, UINT64_MAX};
	struct ux_out out = {0};
	make_note(&out, "Go", 4, UX_STR("id"), 4);
	make_note(&out, "Go", 5, UX_STR("x"), 4);
	for (size_t i = 0; i < ux_countof(aligns); i++) {
		struct ux_elf_notes it;
		ux_elf_notes_init(&it, ux_out_bytes(&out), aligns[i], false, NULL);
		assert_true(note_is(ux_elf_notes_next(&it), "Go", 4, UX_STR("id")));
		assert_true(note_is(ux_elf_notes_next(&it), "Go", 5, UX_STR("x")));
		assert_null(ux_elf_notes_next(&it));
	}
	ux_out_deinit(&out);
}

static void the_last_padding_may_be_missing(void **state)
{
	(void)state;
	struct ux_out out = {0};
	make_note(&out, "GNU", 3, UX_STR("12345"), 4);
	struct ux_bytes bytes = guard(ux_bytes(out.data, out.size - 3));
	struct ux_elf_notes it;
	ux_elf_notes_init(&it, bytes, 4, false, NULL);
	assert_true(note_is(ux_elf_notes_next(&it), "GNU", 3, UX_STR("12345")));
	assert_null(ux_elf_notes_next(&it));
	assert_int_equal(ux_elf_notes_status(&it, NULL), UX_OK);
	guard_free(bytes);
	ux_out_deinit(&out);
}

static void an_owner_without_nul_is_taken_whole(void **state)
{
	(void)state;
	struct ux_out out = {0};
	ux_out_u32(&out, 4);
	ux_out_u32(&out, 1);
	ux_out_u32(&out, 9);
	ux_out_cstr(&out, "STAP!");
	struct ux_elf_notes it;
	ux_elf_notes_init(&it, ux_out_bytes(&out), 4, false, NULL);
	assert_true(note_is(ux_elf_notes_next(&it), "STAP", 9, UX_STR("!")));
	assert_null(ux_elf_notes_next(&it));
	ux_out_deinit(&out);
}

static void a_note_that_leaves_its_section_is_corrupt(void **state)
{
	(void)state;
	struct ux_out out = {0};
	make_note(&out, "GNU", 3, UX_STR("1234"), 4);
	ux_out_u32(&out, 4);
	ux_out_u32(&out, UINT32_MAX);
	ux_out_u32(&out, 3);
	ux_out_put(&out, "GNU", 4);
	struct ux_error err = UX_ERROR_INIT;
	struct ux_elf_notes it;
	ux_elf_notes_init(&it, ux_out_bytes(&out), 4, false, ".note.x");
	assert_non_null(ux_elf_notes_next(&it));
	assert_null(ux_elf_notes_next(&it));
	assert_null(ux_elf_notes_next(&it));
	assert_int_equal(ux_elf_notes_status(&it, &err), UX_ECORRUPT);
	char text[256];
	assert_string_equal(
		ux_error_format(&err, text, sizeof(text)),
		"section .note.x+0x24: ends too early: 4294967295 bytes expected, 0 found");
	ux_out_deinit(&out);
}

static void a_segment_outside_the_file_is_corrupt(void **state)
{
	(void)state;
	struct ux_elf elf = {.file = UX_STR("0123456789")};
	struct ux_elf_segment segment = {.type = PT_NOTE, .off = 8, .filesz = 3};
	struct ux_elf_notes it;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_elf_notes_of_segment(&elf, &segment, &it, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "segment of 3 bytes at 0x8 exceeds the file of 10 bytes");
	segment.filesz = 2;
	assert_int_equal(ux_elf_notes_of_segment(&elf, &segment, &it, NULL), UX_OK);
}

static void walk_damaged(struct ux_bytes bytes, void *ctx)
{
	const size_t *align = ctx;
	struct ux_elf_notes it;
	struct ux_error err = UX_ERROR_INIT;
	ux_elf_notes_init(&it, bytes, *align, false, NULL);
	size_t notes = 0;
	while (ux_elf_notes_next(&it))
		notes++;
	assert_true(notes <= bytes.size / 12);
	enum ux_code code = ux_elf_notes_status(&it, &err);
	assert_true(code == UX_OK || (code == UX_ECORRUPT && err.off <= bytes.size));
}

static void no_damage_is_more_than_an_error(void **state)
{
	(void)state;
	for (size_t align = 4; align <= 8; align *= 2) {
		struct ux_out out = {0};
		make_note(&out, "GNU", 3, UX_STR("12345"), align);
		make_note(&out, "", 7, UX_BYTES_NONE, align);
		make_note(&out, "Linux", 0x101, UX_STR("12345678"), align);
		each_prefix(ux_out_bytes(&out), walk_damaged, &align);
		each_byte_extreme(ux_out_bytes(&out), walk_damaged, &align);
		each_bit_flip(ux_out_bytes(&out), walk_damaged, &align);
		ux_out_deinit(&out);
	}
}

UX_SUITE(elf_notes)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(notes_are_walked_in_each_order_and_alignment),
		UX_TEST(other_alignments_mean_four),
		UX_TEST(the_last_padding_may_be_missing),
		UX_TEST(an_owner_without_nul_is_taken_whole),
		UX_TEST(a_note_that_leaves_its_section_is_corrupt),
		UX_TEST(a_segment_outside_the_file_is_corrupt),
		UX_TEST(no_damage_is_more_than_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
