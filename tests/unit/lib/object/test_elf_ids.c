/* SPDX-License-Identifier: Apache-2.0 */
/* lib/elf: the identities of a file. */
#include "sweep.h"

#include "elf_ids.h"
#include "file.h"
#include "make_elf.h"

#define HASH \
	UX_STR("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67")
#define HASH_TEXT "gnu:0123456789abcdef0123456789abcdef01234567"
#define GO_TEXT   "abcdefghij0123456789/ABCDEFGHIJ0123456789"

/* Returns the IDs of the file, one after the other. */
static const char *ids_of(struct ux_bytes file)
{
	static char all[4 * UX_ID_TEXT];
	struct ux_elf elf;
	struct ux_id_set set = {0};
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_elf_ids(&elf, &set, NULL), UX_OK);
	size_t n = 0;
	all[0] = '\0';
	for (size_t i = 0; i < set.size; i++) {
		char text[UX_ID_TEXT];
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? " " : "",
				      ux_id_format(&set.ids[i], text));
	}
	ux_elf_close(&elf);
	return all;
}

static void ids_are_found_by_the_names_of_sections(void **state)
{
	(void)state;
	static const char *const names[] = {".note.gnu.build-id", ".notes", ".note"};
	for (unsigned v = 0; v < 4; v++) {
		for (size_t i = 0; i < ux_countof(names); i++) {
			struct make_elf m;
			make_elf_init(&m, (v & 1) != 0 ? 32 : 64, (v & 2) != 0);
			make_elf_note(&m, ".note.ABI-tag", "GNU", NT_GNU_ABI_TAG,
				      UX_STR("0123456789abcdef"));
			make_elf_note(&m, names[i], "GNU", NT_GNU_BUILD_ID, HASH);
			make_elf_note(&m, ".note.go.buildid", "Go", NT_GO_BUILD_ID,
				      UX_STR(GO_TEXT));
			const char *ids = ids_of(make_elf_finish(&m));
			if (i < 2)
				assert_string_equal(ids, i == 0 ? HASH_TEXT " go:" GO_TEXT
								: "go:" GO_TEXT " " HASH_TEXT);
			else
				assert_string_equal(ids, "go:" GO_TEXT " " HASH_TEXT);
			make_elf_deinit(&m);
		}
	}
}

static void ids_are_found_in_segments_alone(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	m.no_sections = true;
	uint32_t gnu = make_elf_note(&m, "", "GNU", NT_GNU_BUILD_ID, HASH);
	uint32_t go = make_elf_note(&m, "", "Go", NT_GO_BUILD_ID, UX_STR(GO_TEXT));
	make_elf_segment(
		&m, (struct make_segment){.type = PT_NOTE, .first = gnu, .last = go, .align = 4});
	assert_string_equal(ids_of(make_elf_finish(&m)), HASH_TEXT " go:" GO_TEXT);
	make_elf_deinit(&m);
}

static void the_named_section_wins_and_only_one_of_a_type_is_taken(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	uint32_t other = make_elf_note(&m, ".note.other", "GNU", NT_GNU_BUILD_ID, UX_STR("other"));
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, HASH);
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_NOTE, .first = other, .last = other, .align = 4});
	assert_string_equal(ids_of(make_elf_finish(&m)), HASH_TEXT);
	make_elf_deinit(&m);
}

static void odd_lengths_are_ids_and_empty_ones_are_none(void **state)
{
	(void)state;
	static const struct {
		struct ux_bytes desc;
		const char *ids;
	} cases[] = {
		{{(const uint8_t *)"\xab", 1}, "gnu:ab"},
		{{(const uint8_t *)"\1\2\3", 3}, "gnu:010203"},
		{{NULL, 0}, ""},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_elf m;
		make_elf_init(&m, 64, false);
		make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, cases[i].desc);
		assert_string_equal(ids_of(make_elf_finish(&m)), cases[i].ids);
		make_elf_deinit(&m);
	}
}

static void a_go_id_that_is_no_text_is_none(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_note(&m, ".note.go.buildid", "Go", NT_GO_BUILD_ID, UX_STR("my build"));
	assert_string_equal(ids_of(make_elf_finish(&m)), "");
	make_elf_deinit(&m);
}

static void a_debug_file_keeps_its_ids(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_section(
		&m, (struct make_section){.name = ".text", .type = SHT_NOBITS, .size = 1 << 20});
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, HASH);
	/* as in the stripped file, where there was more */
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_NOTE, .off = 1 << 20, .filesz = 36, .align = 4});
	assert_string_equal(ids_of(make_elf_finish(&m)), HASH_TEXT);
	make_elf_deinit(&m);
}

static enum ux_code ids_of_section(struct make_section section, struct ux_error *err)
{
	struct make_elf m;
	struct ux_elf elf;
	struct ux_id_set set = {0};
	make_elf_init(&m, 64, false);
	make_elf_section(&m, section);
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	enum ux_code code = ux_elf_ids(&elf, &set, err);
	assert_int_equal(set.size, 0);
	ux_elf_close(&elf);
	make_elf_deinit(&m);
	return code;
}

static void a_damaged_note_is_no_missing_id(void **state)
{
	(void)state;
	char text[256];
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ids_of_section((struct make_section){.name = ".note.gnu.build-id",
							      .type = SHT_NOTE,
							      .content = UX_STR("\4\0\0\0\24\0")},
					&err),
			 UX_ECORRUPT);
	assert_string_equal(ux_error_format(&err, text, sizeof(text)),
			    "section .note.gnu.build-id+0x4: ends too early: 4 bytes expected, 2 "
			    "found");
}

static void a_gnu_id_of_any_length_is_bounded(void **state)
{
	(void)state;
	uint8_t many[UX_ID_GNU_MAX + 1] = {0};
	struct ux_out out = {.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
	make_note(&out, "GNU", NT_GNU_BUILD_ID, ux_bytes(many, sizeof(many)), 4);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ids_of_section((struct make_section){.name = ".note.gnu.build-id",
							      .type = SHT_NOTE,
							      .content = ux_out_bytes(&out)},
					&err),
			 UX_ELIMIT);
	assert_string_equal(err.text, "GNU build ID of 65 bytes; the maximum is 64");
	ux_out_deinit(&out);
}

static void sections_that_all_show_the_same_notes_are_corrupt(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	struct ux_out notes = {.swap = m.file.swap};
	for (unsigned i = 0; i < 1000; i++)
		make_note(&notes, "stapsdt", 3, UX_STR("probe"), 4);
	struct make_section section = {
		.name = ".note.stapsdt", .type = SHT_NOTE, .content = ux_out_bytes(&notes)};
	make_elf_section(&m, section);
	section.content = UX_STR("");
	uint32_t last = make_elf_section(&m, section);
	struct ux_bytes file = make_elf_finish(&m);
	assert_string_equal(ids_of(file), "");
	/* sh_offset and sh_size */
	uint8_t *first = &m.file.data[m.section_table + ELF64_SHDR_SIZE + 24];
	memcpy(first + (last - 1) * ELF64_SHDR_SIZE, first, 16);
	struct ux_elf elf;
	struct ux_id_set set = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_elf_ids(&elf, &set, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "overlaps other note sections");
	ux_elf_close(&elf);
	make_elf_deinit(&m);
	ux_out_deinit(&notes);
}

static void read_damaged(struct ux_bytes file, void *ctx)
{
	(void)ctx;
	struct ux_elf elf;
	struct ux_id_set set = {0};
	if (ux_elf_open(&elf, file, NULL) != UX_OK)
		return;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_ids(&elf, &set, &err);
	assert_int_equal(code, err.code);
	assert_true(code == UX_OK || set.size == 0);
	assert_true(set.size <= 2);
	ux_elf_close(&elf);
}

static void no_damage_is_more_than_an_error(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	uint32_t gnu = make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, HASH);
	uint32_t go = make_elf_note(&m, ".note.go.buildid", "Go", NT_GO_BUILD_ID, UX_STR(GO_TEXT));
	make_elf_segment(
		&m, (struct make_segment){.type = PT_NOTE, .first = gnu, .last = go, .align = 4});
	struct ux_bytes file = make_elf_finish(&m);
	each_prefix(file, read_damaged, NULL);
	each_byte_extreme(file, read_damaged, NULL);
	each_bit_flip(file, read_damaged, NULL);
	make_elf_deinit(&m);
}

static void this_program_has_the_id_its_linker_wrote(void **state)
{
	(void)state;
	ux_cleanup(ux_file_unmap) struct ux_mapping map = {0};
	assert_int_equal(ux_file_map("/proc/self/exe", &map, NULL), UX_OK);
	assert_string_equal(ids_of(map.bytes), HASH_TEXT);
}

UX_SUITE(elf_ids)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(ids_are_found_by_the_names_of_sections),
		UX_TEST(ids_are_found_in_segments_alone),
		UX_TEST(the_named_section_wins_and_only_one_of_a_type_is_taken),
		UX_TEST(odd_lengths_are_ids_and_empty_ones_are_none),
		UX_TEST(a_go_id_that_is_no_text_is_none),
		UX_TEST(a_debug_file_keeps_its_ids),
		UX_TEST(a_damaged_note_is_no_missing_id),
		UX_TEST(a_gnu_id_of_any_length_is_bounded),
		UX_TEST(sections_that_all_show_the_same_notes_are_corrupt),
		UX_TEST(no_damage_is_more_than_an_error),
		UX_TEST(this_program_has_the_id_its_linker_wrote),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
