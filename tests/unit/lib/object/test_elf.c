/* SPDX-License-Identifier: Apache-2.0 */
/* lib/elf: tables, contents, symbols. */
#include "sweep.h"

#include "elf_ids.h"
#include "elf_symbols.h"
#include "file.h"
#include "make_elf.h"

enum {
	LOAD_MAX = 1 << 20,
	VARIANTS = 8,
};

/* Text that deflates well. */
static struct ux_bytes prose(void)
{
	static uint8_t text[4000];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("the quick brown fox "[i % 20] + i / 1000);
	return ux_bytes(text, sizeof(text));
}

/* 32 or 64 bits, little or big, counts in the header or in section 0. */
static void init_variant(struct make_elf *m, unsigned variant)
{
	make_elf_init(m, (variant & 1) != 0 ? 32 : 64, (variant & 2) != 0);
	m->wide = (variant & 4) != 0;
}

/* A file with one of everything that the readers know. */
static void fill(struct make_elf *m)
{
	m->entry = 0x1010;
	uint32_t text = make_elf_section(m, (struct make_section){
						    .name = ".text",
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .addr = 0x1000,
						    .content = UX_STR("0123456789abcdef"),
						    .align = 16,
					    });
	uint32_t note = make_elf_note(m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID,
				      UX_STR("twenty bytes of hash"));
	uint32_t data = make_elf_section(
		m, (struct make_section){.name = ".data", .content = UX_STR("data")});
	make_elf_section(
		m, (struct make_section){.name = ".bss", .type = SHT_NOBITS, .size = 1 << 30});
	struct make_section packed = {.name = ".debug_info", .content = prose()};
	make_elf_packed(m, packed, MAKE_ZLIB, prose().size);
	packed.name = ".debug_line";
	make_elf_packed(m, packed, MAKE_ZSTD, prose().size);
	packed.name = ".zdebug_str";
	make_elf_packed(m, packed, MAKE_ZDEBUG, prose().size);
	make_elf_segment(m, (struct make_segment){
				    .type = PT_NOTE, .flags = PF_R, .first = note, .last = note});
	make_elf_segment(m, (struct make_segment){.type = PT_LOAD,
						  .flags = PF_R | PF_X,
						  .first = text,
						  .last = note,
						  .memsz = 0x2000,
						  .align = 0x1000});
	make_elf_symbol(m, (struct make_symbol){
				   .name = "main",
				   .value = 0x1000,
				   .size = 8,
				   .section = text,
				   .type = STT_FUNC,
				   .bind = STB_GLOBAL,
				   .other = STV_PROTECTED,
			   });
	make_elf_symbol(m,
			(struct make_symbol){
				.name = "table", .value = 1, .section = data, .type = STT_OBJECT});
	make_elf_symbol(m, (struct make_symbol){.name = "zero", .reserved = SHN_ABS});
	make_elf_symbol(m, (struct make_symbol){.name = "puts", .type = STT_FUNC, .dynamic = true});
}

static void tables_are_read_in_each_class_and_order(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct make_elf m;
		init_variant(&m, v);
		fill(&m);
		struct ux_bytes file = make_elf_finish(&m);
		struct ux_elf elf;
		assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
		assert_int_equal(elf.is64, m.is64);
		assert_int_equal(elf.type, ET_DYN);
		assert_int_equal(elf.machine, m.machine);
		assert_int_equal(elf.entry, 0x1010);
		assert_int_equal(elf.n_sections, m.sections.size);
		for (uint32_t i = 1; i < elf.n_sections; i++) {
			const struct ux_elf_section *s = &elf.sections[i];
			const struct make_section *want = &m.sections.data[i];
			assert_string_equal(s->name, want->name);
			assert_int_equal(s->index, i);
			assert_int_equal(s->type, want->type);
			assert_int_equal(s->flags, want->flags);
			assert_int_equal(s->addr, want->addr);
			assert_int_equal(s->off, want->off);
			assert_int_equal(s->size, want->size);
			assert_int_equal(s->link, want->link);
			assert_int_equal(s->align, want->align);
			assert_int_equal(s->entsize, want->entsize);
		}
		assert_int_equal(elf.n_segments, 2);
		const struct ux_elf_segment *load = ux_elf_first_load(&elf);
		assert_ptr_equal(load, &elf.segments[1]);
		assert_int_equal(load->flags, PF_R | PF_X);
		assert_int_equal(load->vaddr, 0x1000);
		assert_int_equal(load->off, m.sections.data[1].off);
		assert_int_equal(load->filesz, 16 + 36);
		assert_int_equal(load->memsz, 0x2000);
		assert_int_equal(load->align, 0x1000);
		assert_null(ux_elf_section_find(&elf, ".nothing"));
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void contents_come_out_as_they_went_in(void **state)
{
	(void)state;
	static const char *const packed[] = {".debug_info", ".debug_line", ".zdebug_str"};
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct make_elf m;
		init_variant(&m, v);
		fill(&m);
		struct ux_elf elf;
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		struct ux_content content = {0};
		const struct ux_elf_section *s = ux_elf_section_find(&elf, ".text");
		assert_false(ux_elf_section_compressed(&elf, s));
		assert_int_equal(ux_elf_section_load(&elf, s, LOAD_MAX, NULL, &content, NULL),
				 UX_OK);
		assert_true(ux_bytes_eq(content.bytes, UX_STR("0123456789abcdef")));
		assert_null(content.owned);
		for (size_t i = 0; i < ux_countof(packed); i++) {
			s = ux_elf_section_find(&elf, packed[i]);
			assert_true(ux_elf_section_compressed(&elf, s));
			assert_int_equal(
				ux_elf_section_load(&elf, s, LOAD_MAX, NULL, &content, NULL),
				UX_OK);
			assert_true(ux_bytes_eq(content.bytes, prose()));
			assert_ptr_equal(content.owned, content.bytes.data);
			ux_content_free(&content);
		}
		s = ux_elf_section_find(&elf, ".bss");
		assert_int_equal(s->size, 1 << 30);
		assert_int_equal(ux_elf_section_load(&elf, s, 0, NULL, &content, NULL), UX_OK);
		assert_int_equal(content.bytes.size, 0);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void symbols_are_walked_in_each_class_and_order(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct make_elf m;
		init_variant(&m, v);
		fill(&m);
		struct ux_elf elf;
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		struct ux_elf_symbols it;
		assert_int_equal(
			ux_elf_symbols_open(&elf, ux_elf_section_find(&elf, ".symtab"), &it, NULL),
			UX_OK);
		const struct ux_elf_symbol *s = ux_elf_symbols_next(&it);
		assert_string_equal(s->name, "main");
		assert_int_equal(s->value, 0x1000);
		assert_int_equal(s->size, 8);
		assert_int_equal(s->section, 1);
		assert_string_equal(s->home->name, ".text");
		assert_int_equal(s->type, STT_FUNC);
		assert_int_equal(s->bind, STB_GLOBAL);
		assert_int_equal(s->visibility, STV_PROTECTED);
		assert_true(ux_elf_symbol_is_code(&elf, s));
		s = ux_elf_symbols_next(&it);
		assert_string_equal(s->name, "table");
		assert_string_equal(s->home->name, ".data");
		assert_false(ux_elf_symbol_is_code(&elf, s));
		s = ux_elf_symbols_next(&it);
		assert_string_equal(s->name, "zero");
		assert_int_equal(s->section, SHN_ABS);
		assert_null(s->home);
		assert_null(ux_elf_symbols_next(&it));
		assert_int_equal(
			ux_elf_symbols_open(&elf, ux_elf_section_find(&elf, ".dynsym"), &it, NULL),
			UX_OK);
		s = ux_elf_symbols_next(&it);
		assert_string_equal(s->name, "puts");
		assert_false(ux_elf_symbol_is_code(&elf, s));
		assert_null(ux_elf_symbols_next(&it));
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

/* Opens the file and expects this failure. */
static void expect(struct ux_bytes file, enum ux_code code, const char *message)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_elf elf;
	char text[256];
	struct ux_bytes guarded = guard(file);
	assert_int_equal(ux_elf_open(&elf, guarded, &err), code);
	assert_string_equal(ux_error_format(&err, text, sizeof(text)), message);
	guard_free(guarded);
}

static void a_bounded_reader_refuses_large_tables(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_elf elf;
	init_variant(&m, 0);
	fill(&m);
	struct ux_bytes file = make_elf_finish(&m);
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	uint32_t n = (uint32_t)ux_max(elf.n_sections, elf.n_segments);
	ux_elf_close(&elf);
	assert_int_equal(ux_elf_open_bounded(&elf, file, n, NULL), UX_OK);
	ux_elf_close(&elf);
	assert_int_equal(ux_elf_open_bounded(&elf, file, n - 1, NULL), UX_ELIMIT);
	assert_null(elf.sections);
	assert_int_equal(ux_elf_open_bounded(&elf, file, 1, NULL), UX_ELIMIT);
	make_elf_deinit(&m);
}

static void what_is_no_elf_is_named(void **state)
{
	(void)state;
	expect(UX_BYTES_NONE, UX_EUNSUPPORTED, "not an ELF file: it is empty");
	expect(UX_STR("abc"), UX_EUNSUPPORTED,
	       "not an ELF file: 3 bytes long, expected 7f 45 4c 46");
	expect(UX_STR("#!/bin/sh\n"), UX_EUNSUPPORTED, "not an ELF file: it is a script");
	expect(UX_STR("\177ELF\2\1"), UX_ECORRUPT,
	       "offset 0x0: ELF header ends too early: 16 bytes expected, 6 found");
	expect(UX_STR("\177ELF\3\1\1\0\0\0\0\0\0\0\0\0"), UX_ECORRUPT,
	       "offset 0x4: ELF class is 3, expected 1 (32 bit) or 2 (64 bit)");
	expect(UX_STR("\177ELF\2\0\1\0\0\0\0\0\0\0\0\0"), UX_ECORRUPT,
	       "offset 0x5: ELF byte order is 0, expected 1 (little) or 2 (big)");
	expect(UX_STR("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0"), UX_ECORRUPT,
	       "offset 0x12: ends too early: 2 bytes expected, 0 found");
}

static void tables_that_leave_the_file_are_corrupt(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	struct ux_bytes file = make_elf_finish(&m);
	expect(ux_bytes(file.data, file.size - 1), UX_ECORRUPT,
	       "2 section headers at 0x50 exceed the file of 207 bytes");
	make_elf_deinit(&m);

	make_elf_init(&m, 64, false);
	m.no_sections = true;
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD});
	file = make_elf_finish(&m);
	m.file.data[54] = 55; /* e_phentsize */
	expect(file, UX_ECORRUPT, "program headers are 55 bytes each, expected at least 56");
	m.file.data[54] = 56;
	m.file.data[56] = m.file.data[57] = 0xff; /* e_phnum */
	expect(file, UX_ECORRUPT,
	       "the count of program headers is in section 0, but there are no section headers");
	make_elf_deinit(&m);
}

static void a_file_without_sections_keeps_its_segments(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 32, true);
	m.no_sections = true;
	fill(&m);
	struct ux_elf elf;
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(elf.n_sections, 0);
	assert_null(elf.sections);
	assert_null(ux_elf_section_find(&elf, ""));
	assert_non_null(ux_elf_first_load(&elf));
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

static void more_sections_than_sixteen_bits_count(void **state)
{
	(void)state;
	enum {
		MANY = 66000
	};
	struct make_elf m;
	make_elf_init(&m, 64, false);
	for (uint32_t i = 1; i < MANY; i++)
		make_elf_section(&m, (struct make_section){.name = i == SHN_ABS ? ".abs" : ".t",
							   .flags = SHF_ALLOC | SHF_EXECINSTR});
	make_elf_symbol(&m, (struct make_symbol){.name = "last", .section = MANY - 1});
	make_elf_symbol(&m, (struct make_symbol){.name = "real", .section = SHN_ABS});
	make_elf_symbol(&m, (struct make_symbol){.name = "abs", .reserved = SHN_ABS});
	struct ux_elf elf;
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(elf.n_sections, m.sections.size);
	struct ux_elf_symbols it;
	assert_int_equal(ux_elf_symbols_open(&elf, ux_elf_section_find(&elf, ".symtab"), &it, NULL),
			 UX_OK);
	const struct ux_elf_symbol *s = ux_elf_symbols_next(&it);
	assert_int_equal(s->section, MANY - 1);
	assert_ptr_equal(s->home, &elf.sections[MANY - 1]);
	assert_true(ux_elf_symbol_is_code(&elf, s));
	s = ux_elf_symbols_next(&it);
	assert_string_equal(s->home->name, ".abs");
	s = ux_elf_symbols_next(&it);
	assert_int_equal(s->section, SHN_ABS);
	assert_null(s->home);
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

static void bad_names_are_empty(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_section(&m, (struct make_section){.name = ".text"});
	struct ux_bytes file = make_elf_finish(&m);
	uint32_t names = (uint32_t)m.sections.size - 1;
	struct ux_elf elf;
	/* sh_name of .text: past the table, then at its unterminated end */
	uint8_t *sh_name = &m.file.data[m.section_table + ELF64_SHDR_SIZE];
	sh_name[0] = 200;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_string_equal(elf.sections[1].name, "");
	assert_string_equal(elf.sections[names].name, ".shstrtab");
	ux_elf_close(&elf);
	sh_name[0] = (uint8_t)(m.sections.data[names].size - 2);
	m.file.data[m.sections.data[names].off + m.sections.data[names].size - 1] = 'x';
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_string_equal(elf.sections[1].name, "");
	assert_string_equal(elf.sections[names].name, "");
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

/* Opens file and loads its section 1, expecting this failure. */
static void expect_load(struct make_elf *m, uint64_t max_size, enum ux_code code,
			const char *message)
{
	struct ux_elf elf;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_content content = {0};
	char text[256];
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(m), NULL), UX_OK);
	assert_int_equal(
		ux_elf_section_load(&elf, &elf.sections[1], max_size, NULL, &content, &err), code);
	assert_string_equal(ux_error_format(&err, text, sizeof(text)), message);
	assert_null(content.owned);
	ux_elf_close(&elf);
	make_elf_deinit(m);
}

static void lying_sizes_are_corrupt_and_big_ones_over_the_limit(void **state)
{
	(void)state;
	static const enum make_packing forms[] = {MAKE_ZLIB, MAKE_ZSTD, MAKE_ZDEBUG};
	static const char *const more[] = {
		"section .zdebug_x+0x0: inflates to more than the 3999 bytes of its header",
		("section .zdebug_x+0x18: not a valid zstd stream of 3999 bytes: Destination "
		 "buffer is too small"),
		"section .zdebug_x+0x0: inflates to more than the 3999 bytes of its header",
	};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		struct make_section s = {.name = ".zdebug_x", .content = prose()};
		struct make_elf m;
		make_elf_init(&m, 64, false);
		make_elf_packed(&m, s, forms[i], 4001);
		expect_load(&m, LOAD_MAX, UX_ECORRUPT,
			    "section .zdebug_x+0x0: inflates to less than the 4001 bytes of its "
			    "header");
		make_elf_init(&m, 64, true);
		make_elf_packed(&m, s, forms[i], 3999);
		expect_load(&m, LOAD_MAX, UX_ECORRUPT, more[i]);
		make_elf_init(&m, 64, true);
		make_elf_packed(&m, s, forms[i], 4000);
		expect_load(&m, 3999, UX_ELIMIT,
			    "section .zdebug_x+0x0: inflates to 4000 bytes, at most 3999 are "
			    "allowed");
	}
}

static void a_size_that_no_stream_reaches_costs_no_memory(void **state)
{
	(void)state;
	static const enum make_packing forms[] = {MAKE_ZLIB, MAKE_ZSTD, MAKE_ZDEBUG};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		struct make_section s = {.name = ".zdebug_x", .content = UX_STR("x")};
		struct make_elf m;
		struct ux_elf elf;
		struct ux_content content = {0};
		make_elf_init(&m, 64, false);
		make_elf_packed(&m, s, forms[i], UINT64_MAX / 2);
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		assert_int_equal(ux_elf_section_load(&elf, &elf.sections[1], UINT64_MAX, NULL,
						     &content, NULL),
				 UX_ECORRUPT);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void streams_behind_one_header_are_one_content(void **state)
{
	(void)state;
	for (unsigned zstd = 0; zstd < 2; zstd++) {
		struct ux_out out = {0};
		ux_out_u32(&out, zstd ? ELFCOMPRESS_ZSTD : ELFCOMPRESS_ZLIB);
		ux_out_u32(&out, 0);
		ux_out_u64(&out, 11);
		ux_out_u64(&out, 1);
		(zstd ? make_zstd : make_zlib)(&out, UX_STR("hello "));
		(zstd ? make_zstd : make_zlib)(&out, UX_STR("world"));
		struct make_elf m;
		make_elf_init(&m, 64, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
		make_elf_section(&m, (struct make_section){.name = ".debug_str",
							   .flags = SHF_COMPRESSED,
							   .content = ux_out_bytes(&out)});
		struct ux_elf elf;
		struct ux_content content = {0};
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		assert_int_equal(
			ux_elf_section_load(&elf, &elf.sections[1], 11, NULL, &content, NULL),
			UX_OK);
		assert_true(ux_bytes_eq(content.bytes, UX_STR("hello world")));
		ux_content_free(&content);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
		ux_out_deinit(&out);
	}
}

static void a_damaged_stream_is_corrupt(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	make_elf_section(
		&m, (struct make_section){.name = ".zdebug_a",
					  .content = UX_STR("ZLIB\0\0\0\0\0\0\0\4no zlib at all")});
	expect_load(&m, LOAD_MAX, UX_ECORRUPT, "section .zdebug_a+0xc: not a valid zlib stream");
	make_elf_init(&m, 64, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	make_elf_section(&m, (struct make_section){.name = ".debug_a",
						   .flags = SHF_COMPRESSED,
						   .content = UX_STR("\1\0\0\0")});
	expect_load(&m, LOAD_MAX, UX_ECORRUPT,
		    "section .debug_a+0x4: ends too early: 4 bytes expected, 0 found");
	make_elf_init(&m, 32, true);
	make_elf_section(&m, (struct make_section){.name = ".debug_a",
						   .flags = SHF_COMPRESSED,
						   .content = UX_STR("\0\0\0\7\0\0\0\0\0\0\0\1")});
	expect_load(&m, LOAD_MAX, UX_EUNSUPPORTED,
		    "section .debug_a+0x0: compression type 7, expected 1 (zlib) or 2 (zstd)");
}

static void a_zdebug_section_without_the_mark_is_plain(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_elf elf;
	struct ux_content content = {0};
	make_elf_init(&m, 64, false);
	make_elf_section(&m,
			 (struct make_section){.name = ".zdebug_a", .content = UX_STR("plain")});
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_false(ux_elf_section_compressed(&elf, &elf.sections[1]));
	assert_int_equal(ux_elf_section_load(&elf, &elf.sections[1], 0, NULL, &content, NULL),
			 UX_OK);
	assert_true(ux_bytes_eq(content.bytes, UX_STR("plain")));
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

static void a_section_outside_the_file_fails_when_requested(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_section(&m, (struct make_section){.name = ".a", .content = UX_STR("a")});
	struct ux_bytes file = make_elf_finish(&m);
	/* sh_offset of section 1 */
	memset(&m.file.data[m.section_table + ELF64_SHDR_SIZE + 24], 0xff, 8);
	struct ux_elf elf;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes raw;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_elf_section_raw(&elf, &elf.sections[1], &raw, &err), UX_ECORRUPT);
	assert_string_equal(err.text,
			    "its 1 bytes at 0xffffffffffffffff exceed the file of 272 bytes");
	assert_string_equal(err.section, ".a");
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

/* Opens the symbols of section 2 after a change to one of the section headers. */
static enum ux_code open_damaged(uint32_t section, size_t field, uint8_t value,
				 struct ux_error *err)
{
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_symbol(&m, (struct make_symbol){.name = "f"});
	struct ux_bytes file = make_elf_finish(&m);
	m.file.data[m.section_table + section * ELF64_SHDR_SIZE + field] = value;
	struct ux_elf elf;
	struct ux_elf_symbols it;
	*err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	enum ux_code code = ux_elf_symbols_open(&elf, &elf.sections[2], &it, err);
	ux_elf_close(&elf);
	make_elf_deinit(&m);
	return code;
}

static void damaged_symbol_tables_are_refused(void **state)
{
	(void)state;
	enum {
		SH_TYPE = 4,
		SH_OFFSET = 24 + 7,
		SH_LINK = 40,
		SH_ENTSIZE = 56,
	};
	struct ux_error err;
	assert_int_equal(open_damaged(2, SH_TYPE, SHT_PROGBITS, &err), UX_EINVAL);
	assert_int_equal(open_damaged(2, SH_OFFSET, 1, &err), UX_ECORRUPT);
	assert_int_equal(open_damaged(1, SH_OFFSET, 1, &err), UX_ECORRUPT);
	assert_int_equal(open_damaged(1, SH_TYPE, SHT_PROGBITS, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "its string table, section 1, has type 1, expected 3");
	assert_int_equal(open_damaged(2, SH_LINK, 9, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "its string table is section 9 of 4");
	assert_int_equal(open_damaged(2, SH_LINK, 0, &err), UX_ECORRUPT);
	assert_int_equal(open_damaged(2, SH_ENTSIZE, 16, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "symbols are 16 bytes each, expected 24");
}

/* Checks whether a symbol of this name and type, in code or not, counts as code on machine. */
static bool is_code(uint16_t machine, const char *name, uint8_t type, bool executable)
{
	struct ux_elf elf = {.machine = machine};
	struct ux_elf_section home = {.flags = executable ? SHF_EXECINSTR : 0};
	return ux_elf_symbol_is_code(
		&elf,
		&(struct ux_elf_symbol){.name = name, .type = type, .section = 1, .home = &home});
}

static void what_counts_as_code(void **state)
{
	(void)state;
	assert_true(is_code(EM_X86_64, "f", STT_FUNC, true));
	assert_true(is_code(EM_X86_64, "f", STT_FUNC, false));
	assert_true(is_code(EM_X86_64, "f", STT_GNU_IFUNC, true));
	assert_true(is_code(EM_X86_64, "_start", STT_NOTYPE, true));
	assert_false(is_code(EM_X86_64, "edata", STT_NOTYPE, false));
	assert_false(is_code(EM_X86_64, "o", STT_OBJECT, true)); /* has no size */
	assert_true(is_code(EM_X86_64, "base_GHCziList_map_info", STT_OBJECT, true));
	assert_false(is_code(EM_X86_64, "base_GHCziList_map_info", STT_OBJECT, false));
	assert_false(is_code(EM_X86_64, ".text", STT_SECTION, true));
	assert_false(is_code(EM_X86_64, "f.c", STT_FILE, true));
	assert_false(is_code(EM_X86_64, "", STT_FUNC, true));
	assert_false(is_code(EM_X86_64, ".L12", STT_NOTYPE, true));
	assert_true(is_code(EM_X86_64, "$d", STT_NOTYPE, true));
	assert_false(is_code(EM_ARM, "$a", STT_NOTYPE, true));
	assert_false(is_code(EM_ARM, "$t.12", STT_NOTYPE, true));
	assert_true(is_code(EM_ARM, "$tx", STT_NOTYPE, true));
	assert_false(is_code(EM_AARCH64, "$x", STT_NOTYPE, true));
	assert_false(is_code(EM_AARCH64, "$d.4", STT_NOTYPE, true));
	assert_false(is_code(EM_RISCV, "$xrv64i2p1_m2p0", STT_NOTYPE, true));
	assert_false(is_code(EM_RISCV, "$d.2", STT_NOTYPE, true));
	assert_false(is_code(EM_CSKY, "$t", STT_NOTYPE, true));
	assert_false(is_code(EM_CSKY, "$d.1", STT_NOTYPE, true));
	assert_true(is_code(EM_CSKY, "$a", STT_NOTYPE, true));
	assert_false(is_code(EM_RISCV, ".L0 ", STT_NOTYPE, true));
	assert_true(is_code(EM_RISCV, "$", STT_NOTYPE, true));
}

static void the_thumb_bit_is_no_address(void **state)
{
	(void)state;
	struct ux_elf_symbol f = {.type = STT_FUNC, .value = 0x8001};
	assert_int_equal(ux_elf_symbol_pc(&(struct ux_elf){.machine = EM_ARM}, &f), 0x8000);
	assert_int_equal(ux_elf_symbol_pc(&(struct ux_elf){.machine = EM_MIPS}, &f), 0x8000);
	assert_int_equal(ux_elf_symbol_pc(&(struct ux_elf){.machine = EM_X86_64}, &f), 0x8001);
	f.type = STT_OBJECT;
	assert_int_equal(ux_elf_symbol_pc(&(struct ux_elf){.machine = EM_ARM}, &f), 0x8001);
}

/* Reads everything in the file with every reader. */
static enum ux_code read_all(struct ux_bytes file, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf;
	UX_TRY(ux_elf_open(&elf, file, err));
	for (size_t i = 0; i < elf.n_sections; i++) {
		const struct ux_elf_section *s = &elf.sections[i];
		ux_cleanup(ux_content_free) struct ux_content content = {0};
		UX_TRY(ux_elf_section_load(&elf, s, LOAD_MAX, NULL, &content, err));
		struct ux_elf_symbols symbols;
		struct ux_elf_notes notes;
		if (s->type == SHT_SYMTAB || s->type == SHT_DYNSYM) {
			UX_TRY(ux_elf_symbols_open(&elf, s, &symbols, err));
			const struct ux_elf_symbol *symbol;
			while ((symbol = ux_elf_symbols_next(&symbols)))
				(void)(strlen(symbol->name) + ux_elf_symbol_is_code(&elf, symbol) +
				       ux_elf_symbol_pc(&elf, symbol));
		}
		if (s->type == SHT_NOTE) {
			UX_TRY(ux_elf_notes_of_section(&elf, s, &notes, err));
			while (ux_elf_notes_next(&notes))
				;
			UX_TRY(ux_elf_notes_status(&notes, err));
		}
	}
	return UX_OK;
}

static void read_damaged(struct ux_bytes file, void *ctx)
{
	(void)ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = read_all(file, &err);
	assert_int_equal(code, err.code);
	assert_true(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT ||
		    code == UX_EUNSUPPORTED);
	assert_true(code == UX_OK || err.text[0] != '\0');
	assert_true(err.off == UX_ERROR_NO_OFF || err.off <= file.size);
}

static void no_damage_is_more_than_an_error(void **state)
{
	(void)state;
	for (unsigned v = 0; v < VARIANTS; v++) {
		struct make_elf m;
		init_variant(&m, v);
		fill(&m);
		struct ux_bytes file = make_elf_finish(&m);
		assert_int_equal(read_all(file, NULL), UX_OK);
		each_prefix(file, read_damaged, NULL);
		each_byte_extreme(file, read_damaged, NULL);
		each_bit_flip(file, read_damaged, NULL);
		make_elf_deinit(&m);
	}
}

static enum ux_code read_good(void *ctx)
{
	return read_all(*(struct ux_bytes *)ctx, NULL);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct make_elf m;
	init_variant(&m, 0);
	fill(&m);
	struct ux_bytes file = make_elf_finish(&m);
	/* sections, segments, and a buffer for each compressed section */
	assert_true(each_failed_alloc(read_good, &file, /* may_recover= */ false) > 5);
	make_elf_deinit(&m);
}

static void this_program_reads_itself(void **state)
{
	(void)state;
	ux_cleanup(ux_file_unmap) struct ux_mapping map = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	assert_int_equal(ux_file_map("/proc/self/exe", &map, NULL), UX_OK);
	assert_int_equal(ux_elf_open(&elf, map.bytes, NULL), UX_OK);
	assert_int_equal(elf.is64, sizeof(void *) == 8);
	assert_false(elf.swap);
	/* the run-time distance of two functions is the one in the file */
	uint64_t pc[2] = {0};
	struct ux_elf_symbols it;
	assert_int_equal(ux_elf_symbols_open(&elf, ux_elf_section_find(&elf, ".symtab"), &it, NULL),
			 UX_OK);
	const struct ux_elf_symbol *s;
	while ((s = ux_elf_symbols_next(&it))) {
		if (!ux_elf_symbol_is_code(&elf, s))
			continue;
		if (strcmp(s->name, "main") == 0)
			pc[0] = ux_elf_symbol_pc(&elf, s);
		if (strcmp(s->name, "ux_elf_open") == 0)
			pc[1] = ux_elf_symbol_pc(&elf, s);
	}
	assert_true(pc[0] != 0 && pc[1] != 0);
	int main(void);
	assert_int_equal(pc[1] - pc[0], (uintptr_t)ux_elf_open - (uintptr_t)main);
}

UX_SUITE(elf)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(tables_are_read_in_each_class_and_order),
		UX_TEST(contents_come_out_as_they_went_in),
		UX_TEST(symbols_are_walked_in_each_class_and_order),
		UX_TEST(a_bounded_reader_refuses_large_tables),
		UX_TEST(what_is_no_elf_is_named),
		UX_TEST(tables_that_leave_the_file_are_corrupt),
		UX_TEST(a_file_without_sections_keeps_its_segments),
		UX_TEST(more_sections_than_sixteen_bits_count),
		UX_TEST(bad_names_are_empty),
		UX_TEST(lying_sizes_are_corrupt_and_big_ones_over_the_limit),
		UX_TEST(a_size_that_no_stream_reaches_costs_no_memory),
		UX_TEST(streams_behind_one_header_are_one_content),
		UX_TEST(a_damaged_stream_is_corrupt),
		UX_TEST(a_zdebug_section_without_the_mark_is_plain),
		UX_TEST(a_section_outside_the_file_fails_when_requested),
		UX_TEST(damaged_symbol_tables_are_refused),
		UX_TEST(what_counts_as_code),
		UX_TEST(the_thumb_bit_is_no_address),
		UX_TEST(no_damage_is_more_than_an_error),
		UX_TEST(every_failed_allocation_is_reported),
		UX_TEST(this_program_reads_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
