/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols without a section table, and symbols of function descriptors. */
#include "sweep.h"

#include "elf_symbols.h"
#include "make_elf.h"

enum {
	AT = 0x1000, /* where the one segment is */
};

enum hash {
	NONE,
	SYSV,
	GNU
};

/* Symbols: one imported, "f" and "g" defined. */
struct shape {
	unsigned bits;
	bool big;
	uint16_t machine;
	enum hash hash;
};

struct pen {
	struct ux_out out;
	bool is64;
	bool big;
};

static void put(struct pen *p, uint64_t value, unsigned size)
{
	uint8_t bytes[8];
	for (unsigned i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> 8 * (p->big ? size - 1 - i : i));
	ux_out_put(&p->out, bytes, size);
}

static void put_word(struct pen *p, uint64_t value)
{
	put(p, value, p->is64 ? 8 : 4);
}

static void put_symbol(struct pen *p, uint32_t name, uint64_t value, uint16_t section)
{
	uint8_t info = STB_GLOBAL << 4 | STT_FUNC;
	put(p, name, 4);
	if (p->is64) {
		put(p, info, 1);
		put(p, 0, 1);
		put(p, section, 2);
		put(p, value, 8);
		put(p, 16, 8);
	} else {
		put(p, value, 4);
		put(p, 16, 4);
		put(p, info, 1);
		put(p, 0, 1);
		put(p, section, 2);
	}
}

static void put_hash(struct pen *p, const struct shape *s)
{
	if (s->hash == SYSV) {
		unsigned word = s->machine == EM_S390 && p->is64 ? 8 : 4;
		put(p, 1, word);
		put(p, 4, word);
		return;
	}
	if (s->hash != GNU)
		return;
	put(p, 2, 4); /* buckets */
	put(p, 2, 4); /* the first symbol in them */
	put(p, 1, 4); /* words of the filter */
	put(p, 5, 4);
	put_word(p, 0);
	put(p, 0, 4);
	put(p, 2, 4);
	put(p, 0x10, 4);
	put(p, 0x21, 4); /* the last of its chain */
}

/* The file: one segment that begins with its dynamic section. */
static struct ux_bytes make(struct make_elf *m, const struct shape *s)
{
	make_elf_init(m, s->bits, s->big);
	m->machine = s->machine;
	m->no_sections = true;
	struct pen p = {.is64 = s->bits == 64, .big = s->big};
	unsigned word = p.is64 ? 8 : 4;
	uint64_t symbols = AT + 10 * word, record = p.is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	uint64_t strings = symbols + 4 * record, hash = strings + 16;
	put_word(&p, DT_SYMTAB);
	put_word(&p, symbols);
	put_word(&p, DT_STRTAB);
	put_word(&p, strings);
	put_word(&p, DT_STRSZ);
	put_word(&p, 9);
	put_word(&p, s->hash == SYSV ? DT_HASH : s->hash == GNU ? DT_GNU_HASH : 0);
	put_word(&p, hash);
	put_word(&p, 0);
	put_word(&p, 0);
	put_symbol(&p, 0, 0, 0);
	put_symbol(&p, 1, 0, SHN_UNDEF);
	put_symbol(&p, 5, 0x1100, 7);
	put_symbol(&p, 7, 0x1200, 7);
	ux_out_put(&p.out, "\0imp\0f\0g\0no\0\0\0\0", 16);
	put_hash(&p, s);
	uint32_t section = make_elf_section(
		m, (struct make_section){.name = "x", .addr = AT, .content = ux_out_bytes(&p.out)});
	make_elf_segment(
		m, (struct make_segment){
			   .type = PT_LOAD, .flags = PF_X, .first = section, .last = section});
	make_elf_segment(
		m, (struct make_segment){.type = PT_DYNAMIC, .first = section, .last = section});
	struct ux_bytes file = make_elf_finish(m);
	ux_out_deinit(&p.out);
	return file;
}

/* "f 1100 g 1200": the code among the symbols. */
static const char *code_of(struct ux_bytes file)
{
	static char text[256];
	size_t n = 0;
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_elf_symbols it;
	text[0] = '\0';
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(elf.n_sections, 0);
	if (ux_elf_dynamic_symbols(&elf, &it, NULL) != UX_OK)
		return "-";
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));)
		if (ux_elf_symbol_is_code(&elf, s))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %" PRIx64,
					      n ? " " : "", s->name, ux_elf_symbol_pc(&elf, s));
	return text;
}

static void dynamic_symbols_are_found_as_the_loader_does(void **state)
{
	(void)state;
	static const struct shape shapes[] = {
		{64, false, EM_X86_64, SYSV}, {64, false, EM_X86_64, GNU},
		{64, false, EM_X86_64, NONE}, {32, false, EM_386, SYSV},
		{32, false, EM_ARM, GNU},     {32, true, EM_MIPS, SYSV},
		{32, true, EM_PPC, GNU},      {64, true, EM_PPC64, NONE},
		{64, true, EM_S390, SYSV},    {32, true, EM_S390, SYSV},
	};
	for (size_t i = 0; i < ux_countof(shapes); i++) {
		ux_cleanup(make_elf_deinit) struct make_elf m;
		assert_string_equal(code_of(make(&m, &shapes[i])), "f 1100 g 1200");
	}
}

static void file_without_dynamic_symbols_has_none(void **state)
{
	(void)state;
	ux_cleanup(make_elf_deinit) struct make_elf m;
	make_elf_init(&m, 64, false);
	m.no_sections = true;
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD, .flags = PF_X, .vaddr = AT});
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_elf_symbols it;
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(ux_elf_dynamic_symbols(&elf, &it, NULL), UX_ENOTFOUND);
}

static void sweep_dynamic(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_elf_symbols it;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_elf_open(&elf, input, NULL) != UX_OK)
		return;
	enum ux_code code = ux_elf_dynamic_symbols(&elf, &it, &err);
	assert_int_equal(code, err.code);
	if (code != UX_OK)
		return;
	size_t n = 0;
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it)); n++)
		assert_true(strlen(s->name) < input.size);
	assert_true(n * ELF32_SYM_SIZE <= input.size);
}

static void no_damage_is_more_than_an_error(void **state)
{
	(void)state;
	for (enum hash hash = NONE; hash <= GNU; hash++) {
		struct shape shape = {64, false, EM_X86_64, hash};
		ux_cleanup(make_elf_deinit) struct make_elf m;
		struct ux_bytes file = make(&m, &shape);
		each_prefix(file, sweep_dynamic, NULL);
		each_bit_flip(file, sweep_dynamic, NULL);
		each_byte_extreme(file, sweep_dynamic, NULL);
	}
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void descriptor_tells_where_the_code_is(void **state)
{
	(void)state;
	static const char opd[] = "\0\0\0\0\0\0\x10\x40"
				  "\0\0\0\0\0\0\x90\0"
				  "\0\0\0\0\0\0\0\0"
				  "\0\0\0\0\0\0\x10\x80";
	ux_cleanup(make_elf_deinit) struct make_elf m;
	make_elf_init(&m, 64, true);
	m.machine = EM_PPC64;
	make_elf_section(&m, (struct make_section){.name = ".opd",
						   .addr = 0x2000,
						   .flags = SHF_ALLOC | SHF_WRITE,
						   .content = ux_bytes(opd, 32)});
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	ux_cleanup(ux_elf_opd_close) struct ux_elf_opd d = {0};
	uint64_t pc = 7;
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(ux_elf_opd_open(&elf, &d, NULL), UX_OK);
	assert_true(ux_elf_opd_code(&d, 0x2000, &pc));
	assert_int_equal(pc, 0x1040);
	assert_true(ux_elf_opd_code(&d, 0x2018, &pc));
	assert_int_equal(pc, 0x1080);
	pc = 7;
	assert_false(ux_elf_opd_code(&d, 0x1fff, &pc));
	assert_false(ux_elf_opd_code(&d, 0x2019, &pc));
	assert_false(ux_elf_opd_code(&d, UINT64_MAX, &pc));
	assert_int_equal(pc, 7);
}

static void other_machines_and_debug_files_have_no_descriptors(void **state)
{
	(void)state;
	for (int debug = 0; debug < 2; debug++) {
		ux_cleanup(make_elf_deinit) struct make_elf m;
		make_elf_init(&m, 64, debug != 0);
		m.machine = debug ? EM_PPC64 : EM_X86_64;
		make_elf_section(&m,
				 (struct make_section){.name = ".opd",
						       .addr = 0x2000,
						       .type = debug ? SHT_NOBITS : SHT_PROGBITS,
						       .size = 24,
						       .content = debug ? UX_BYTES_NONE
									: UX_STR("0123456789")});
		ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
		ux_cleanup(ux_elf_opd_close) struct ux_elf_opd d = {0};
		uint64_t pc;
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		assert_int_equal(ux_elf_opd_open(&elf, &d, NULL), UX_OK);
		assert_false(ux_elf_opd_code(&d, 0x2000, &pc));
	}
}

UX_SUITE(elf_dynamic)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(dynamic_symbols_are_found_as_the_loader_does),
		UX_TEST(file_without_dynamic_symbols_has_none),
		UX_TEST(no_damage_is_more_than_an_error),
		UX_TEST(descriptor_tells_where_the_code_is),
		UX_TEST(other_machines_and_debug_files_have_no_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
