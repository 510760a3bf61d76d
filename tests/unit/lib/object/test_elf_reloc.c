/* SPDX-License-Identifier: Apache-2.0 */
/* Relocatable files: where their sections lie, and their relocations. */
#include "sweep.h"

#include "cursor.h"
#include "elf_file.h"
#include "elf_reloc.h"
#include "elf_symbols.h"
#include "make_elf.h"

enum {
	LOAD_MAX = 1 << 20,
	TEXT = 1, /* sections */
	DEBUG = 2,
	RELOCS = 3,
	SYMTAB = 5,
	F = 1, /* symbols */
	DATUM = 2,
	ABSOLUTE = 3,
	N_SYMBOLS = 4,
	F_VALUE = 0x10,
	PLACES = 32, /* bytes of .debug_x */
};

/* Where f is. */
static const uint64_t f_pc = UX_ELF_LAYOUT_BASE + F_VALUE;

/* A relocatable file with one debug section and one table of relocations for it. */
struct object {
	struct make_elf elf;
	struct ux_out table;
	uint32_t type;    /* SHT_RELA, ... */
	uint64_t entsize; /* 0: the right one */
	struct ux_bytes content;
	bool packed;
	uint32_t link; /* 0: the symbol table */
};

static void begin(struct object *o, uint16_t machine, unsigned bits, bool big, uint32_t type)
{
	static const uint8_t zeros[PLACES];
	*o = (struct object){.type = type, .content = ux_bytes(zeros, sizeof(zeros))};
	make_elf_init(&o->elf, bits, big);
	o->elf.machine = machine;
	o->elf.type = ET_REL;
	o->table.swap = o->elf.file.swap;
}

static void end(struct object *o)
{
	ux_out_deinit(&o->table);
	make_elf_deinit(&o->elf);
}

/* One entry of SHT_REL or SHT_RELA. */
static void entry(struct object *o, uint64_t off, uint32_t symbol, uint32_t type, int64_t addend)
{
	struct ux_out *out = &o->table;
	if (o->elf.is64) {
		ux_out_u64(out, off);
		if (o->elf.machine == EM_MIPS) {
			ux_out_u32(out, symbol);
			const uint8_t types[4] = {0, 0, 0, (uint8_t)type};
			ux_out_put(out, types, 4);
		} else {
			ux_out_u64(out, (uint64_t)symbol << 32 | type);
		}
	} else {
		ux_out_u32(out, (uint32_t)off);
		ux_out_u32(out, symbol << 8 | type);
	}
	if (o->type == SHT_RELA)
		ux_out_uint(out, (uint64_t)addend, o->elf.is64 ? 8 : 4);
}

static struct ux_bytes finish(struct object *o)
{
	unsigned word = o->elf.is64 ? 8 : 4;
	make_elf_section(&o->elf, (struct make_section){
					  .name = ".text",
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .content = UX_STR("0123456789abcdef0123456789abcdef"),
					  .align = 16,
				  });
	struct make_section debug = {.name = ".debug_x", .content = o->content};
	if (o->packed)
		make_elf_packed(&o->elf, debug, MAKE_ZLIB, debug.content.size);
	else
		make_elf_section(&o->elf, debug);
	make_elf_section(
		&o->elf,
		(struct make_section){
			.name = ".rel.debug_x",
			.type = o->type,
			.content = ux_out_bytes(&o->table),
			.link = o->link ? o->link : SYMTAB,
			.info = DEBUG,
			.entsize = o->entsize ? o->entsize : word * (o->type == SHT_RELA ? 3 : 2),
		});
	make_elf_symbol(&o->elf, (struct make_symbol){.name = "f",
						      .value = F_VALUE,
						      .size = 4,
						      .section = TEXT,
						      .type = STT_FUNC});
	make_elf_symbol(&o->elf,
			(struct make_symbol){.section = DEBUG, .type = STT_SECTION, .value = 0});
	make_elf_symbol(&o->elf,
			(struct make_symbol){.name = "abs", .reserved = SHN_ABS, .value = 0x1234});
	return make_elf_finish(&o->elf);
}

/* Loads .debug_x of the finished file. */
static enum ux_code load(struct ux_bytes file, struct ux_content *ret, struct ux_reloc_loss *loss,
			 struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf;
	UX_TRY(ux_elf_open(&elf, file, err));
	const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_x");
	if (!s)
		return ux_error_set(err, UX_ENOTFOUND, "no .debug_x");
	return ux_elf_section_load_relocated(&elf, s, LOAD_MAX, NULL, ret, loss, err);
}

/* Returns the number of n bytes at off of the relocated .debug_x; loss must be empty. */
static uint64_t value_at(struct object *o, uint64_t off, unsigned n)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(load(finish(o), &content, &loss, &err), UX_OK);
	assert_string_equal(loss.first.text, "");
	assert_int_equal(loss.count, 0);
	struct ux_bytes place = UX_BYTES_NONE;
	assert_true(ux_bytes_sub(content.bytes, off, n, &place));
	struct ux_cur c = ux_cur_make(place, NULL, o->elf.file.swap);
	return ux_cur_uint(&c, n);
}

struct plain {
	uint16_t machine;
	unsigned bits;
	bool big;
	uint32_t table;
	uint32_t type;
	unsigned size; /* of the place */
};

static const struct plain plains[] = {
	{EM_X86_64, 64, false, SHT_RELA, 1, 8},    {EM_X86_64, 64, false, SHT_RELA, 10, 4},
	{EM_X86_64, 64, false, SHT_RELA, 11, 4},   {EM_386, 32, false, SHT_REL, 1, 4},
	{EM_AARCH64, 64, false, SHT_RELA, 257, 8}, {EM_AARCH64, 64, true, SHT_RELA, 258, 4},
	{EM_ARM, 32, false, SHT_REL, 2, 4},        {EM_ARM, 32, true, SHT_REL, 2, 4},
	{EM_RISCV, 64, false, SHT_RELA, 1, 4},     {EM_RISCV, 64, false, SHT_RELA, 2, 8},
	{EM_RISCV, 64, false, SHT_RELA, 56, 4},    {EM_RISCV, 32, false, SHT_RELA, 1, 4},
	{EM_LOONGARCH, 64, false, SHT_RELA, 1, 4}, {EM_LOONGARCH, 64, false, SHT_RELA, 2, 8},
	{EM_S390, 64, true, SHT_RELA, 4, 4},       {EM_S390, 64, true, SHT_RELA, 22, 8},
	{EM_PPC64, 64, true, SHT_RELA, 1, 4},      {EM_PPC64, 64, true, SHT_RELA, 38, 8},
	{EM_PPC64, 64, false, SHT_RELA, 38, 8},    {EM_PPC64, 64, false, SHT_RELA, 43, 8},
	{EM_PPC64, 64, false, SHT_RELA, 24, 4},    {EM_PPC, 32, true, SHT_RELA, 1, 4},
	{EM_PPC, 32, true, SHT_RELA, 24, 4},       {EM_MIPS, 32, true, SHT_REL, 2, 4},
	{EM_MIPS, 32, false, SHT_REL, 2, 4},       {EM_MIPS, 64, true, SHT_RELA, 18, 8},
	{EM_MIPS, 64, false, SHT_RELA, 18, 8},     {EM_MIPS, 64, false, SHT_RELA, 2, 4},
	{EM_SPARC, 32, true, SHT_RELA, 23, 4},     {EM_SPARCV9, 64, true, SHT_RELA, 54, 8},
	{EM_SPARCV9, 64, true, SHT_RELA, 32, 8},   {EM_SPARC, 32, true, SHT_RELA, 3, 4},
	{EM_BPF, 64, false, SHT_REL, 2, 8},        {EM_BPF, 64, true, SHT_REL, 3, 4},
	{EM_BPF, 64, false, SHT_REL, 4, 4},        {EM_BPF, 64, false, SHT_REL, 1, 8},
	{EM_BPF, 64, true, SHT_REL, 10, 4},        {EM_ARC_COMPACT2, 32, false, SHT_RELA, 4, 4},
	{EM_ARC, 32, true, SHT_RELA, 4, 4},        {EM_ARC_COMPACT, 32, true, SHT_RELA, 4, 4},
	{EM_CSKY, 32, false, SHT_RELA, 1, 4},      {EM_HEXAGON, 32, false, SHT_RELA, 6, 4},
	{EM_68K, 32, true, SHT_RELA, 1, 4},
};

static void absolute_places_get_the_address_on_every_machine(void **state)
{
	(void)state;
	static const uint8_t fives[PLACES] = {
		[8] = 5, [9] = 5, [10] = 5, [11] = 5, [12] = 5, [13] = 5, [14] = 5, [15] = 5};
	for (size_t i = 0; i < ux_countof(plains); i++) {
		const struct plain *p = &plains[i];
		struct object o;
		begin(&o, p->machine, p->bits, p->big, p->table);
		o.content = ux_bytes(fives, sizeof(fives));
		entry(&o, 8, F, p->type, 3);
		uint64_t mask = p->size == 8 ? UINT64_MAX : UINT32_MAX;
		uint64_t addend = p->table == SHT_RELA ? 3 : UINT64_C(0x0505050505050505);
		assert_int_equal(value_at(&o, 8, p->size), (f_pc + addend) & mask);
		end(&o);
	}
}

static void neighbours_of_a_place_stay_as_they_are(void **state)
{
	(void)state;
	uint8_t all[PLACES];
	memset(all, 0xaa, sizeof(all));
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	o.content = ux_bytes(all, sizeof(all));
	entry(&o, 4, ABSOLUTE, 10, 0);
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	assert_int_equal(load(finish(&o), &content, &loss, NULL), UX_OK);
	const uint8_t want[] = {0xaa, 0xaa, 0xaa, 0xaa, 0x34, 0x12, 0, 0, 0xaa, 0xaa};
	assert_memory_equal(content.bytes.data, want, sizeof(want));
	assert_int_equal(content.bytes.size, PLACES);
	end(&o);
}

static void what_refers_to_a_debug_section_is_an_offset(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, DATUM, 10, 0x77);
	assert_int_equal(value_at(&o, 0, 4), 0x77);
	end(&o);
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, 0, 1, 0x78); /* no symbol: the addend alone */
	assert_int_equal(value_at(&o, 0, 8), 0x78);
	end(&o);
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, ABSOLUTE, 1, -4);
	assert_int_equal(value_at(&o, 0, 8), 0x1230);
	end(&o);
}

static void offsets_of_thread_locals_are_passed_over_in_silence(void **state)
{
	(void)state;
	static const struct {
		uint16_t machine;
		uint32_t type;
	} tls[] = {{EM_X86_64, 21},  {EM_X86_64, 17}, {EM_AARCH64, 1029}, {EM_RISCV, 9},
		   {EM_S390, 53},    {EM_PPC64, 78},  {EM_MIPS, 41},      {EM_LOONGARCH, 9},
		   {EM_SPARCV9, 77}, {EM_X86_64, 0},  {EM_AARCH64, 256},  {EM_RISCV, 51}};
	for (size_t i = 0; i < ux_countof(tls); i++) {
		struct object o;
		begin(&o, tls[i].machine, 64, false, SHT_RELA);
		entry(&o, 0, 99, tls[i].type, 1);
		assert_int_equal(value_at(&o, 0, 8), 0);
		end(&o);
	}
}

struct pair {
	uint16_t machine;
	uint32_t add, sub;
	unsigned size;
	uint64_t mask;
};

static void distances_are_added_and_taken_off(void **state)
{
	(void)state;
	static const struct pair pairs[] = {
		{EM_RISCV, 33, 37, 1, UINT8_MAX},      {EM_RISCV, 34, 38, 2, UINT16_MAX},
		{EM_RISCV, 35, 39, 4, UINT32_MAX},     {EM_RISCV, 36, 40, 8, UINT64_MAX},
		{EM_RISCV, 53, 52, 1, 0x3f},           {EM_RISCV, 54, 37, 1, UINT8_MAX},
		{EM_RISCV, 55, 38, 2, UINT16_MAX},     {EM_LOONGARCH, 47, 52, 1, UINT8_MAX},
		{EM_LOONGARCH, 48, 53, 2, UINT16_MAX}, {EM_LOONGARCH, 49, 54, 3, 0xffffff},
		{EM_LOONGARCH, 50, 55, 4, UINT32_MAX}, {EM_LOONGARCH, 51, 56, 8, UINT64_MAX},
		{EM_LOONGARCH, 105, 106, 1, 0x3f},
	};
	for (size_t i = 0; i < ux_countof(pairs); i++) {
		const struct pair *p = &pairs[i];
		struct object o;
		begin(&o, p->machine, 64, false, SHT_RELA);
		entry(&o, 3, F, p->add, 0x2a);
		entry(&o, 3, F, p->sub, 2);
		assert_int_equal(value_at(&o, 3, p->size), 0x28 & p->mask);
		end(&o);
	}
}

static void six_bits_leave_the_other_two(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_RISCV, 64, false, SHT_RELA);
	o.content = UX_STR("\x81\x7f");
	entry(&o, 0, ABSOLUTE, 53, 0x3f - 0x1234);
	entry(&o, 1, ABSOLUTE, 52, 1 - 0x1234);
	assert_int_equal(value_at(&o, 0, 2), 0x7ebf);
	end(&o);
}

static void an_uleb128_keeps_its_length(void **state)
{
	(void)state;
	static const uint32_t types[][3] = {{EM_RISCV, 60, 61}, {EM_LOONGARCH, 107, 108}};
	for (size_t i = 0; i < ux_countof(types); i++) {
		struct object o;
		begin(&o, (uint16_t)types[i][0], 64, false, SHT_RELA);
		o.content = UX_STR("\xff\x80\x80\x00\xff");
		if (types[i][0] == EM_LOONGARCH) /* adds to the present value */
			o.content = UX_STR("\xff\x80\x80\x80\x00");
		entry(&o, 1, F, types[i][1], 0x81);
		entry(&o, 1, F, types[i][2], 0);
		assert_int_equal(value_at(&o, 0, 3), 0x8181ff);
		end(&o);
	}
}

static void an_uleb128_without_an_end_is_lost(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_RISCV, 64, false, SHT_RELA);
	o.content = UX_STR("\x80\x80");
	entry(&o, 0, F, 60, 0);
	entry(&o, 2, F, 60, 0);
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	assert_int_equal(load(finish(&o), &content, &loss, NULL), UX_OK);
	assert_int_equal(loss.count, 2);
	assert_true(ux_bytes_eq(content.bytes, UX_STR("\x80\x80")));
	end(&o);
}

static void an_uleb128_of_unusual_length_is_lost(void **state)
{
	(void)state;
	for (size_t n = 15; n <= 16; n++) {
		uint8_t long_one[PLACES];
		memset(long_one, 0x80, sizeof(long_one));
		long_one[n] = 0; /* n + 1 bytes */
		struct object o;
		begin(&o, EM_RISCV, 64, false, SHT_RELA);
		o.content = ux_bytes(long_one, sizeof(long_one));
		entry(&o, 0, ABSOLUTE, 60, 0x7f - 0x1234);
		ux_cleanup(ux_content_free) struct ux_content content = {0};
		struct ux_reloc_loss loss;
		assert_int_equal(load(finish(&o), &content, &loss, NULL), UX_OK);
		assert_int_equal(loss.count, n == 16);
		assert_int_equal(content.bytes.data[0], n == 16 ? 0x80 : 0xff);
		assert_int_equal(content.bytes.data[n], 0);
		end(&o);
	}
}

static void sparc_keeps_other_things_above_the_type(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_SPARCV9, 64, true, SHT_RELA);
	entry(&o, 0, F, 0xabcd00 | 32, 0);
	assert_int_equal(value_at(&o, 0, 8), f_pc);
	end(&o);
}

static void the_thumb_bit_is_not_in_debug_sections(void **state)
{
	(void)state;
	struct ux_elf_section text = {.addr = UX_ELF_LAYOUT_BASE};
	struct ux_elf elf = {.machine = EM_ARM, .type = ET_REL, .by_section = true};
	struct ux_elf_symbol f = {.value = 0x11, .type = STT_FUNC, .home = &text};
	assert_int_equal(ux_elf_symbol_pc(&elf, &f), UX_ELF_LAYOUT_BASE + 0x10);
}

static void crel_is_read_with_and_without_addends(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_CREL);
	ux_out_uleb(&o.table, 3 << 3 | 4 | 2); /* 3 entries, addends, offsets times 4 */
	ux_out_u8(&o.table, 0 << 3 | 7);       /* at 0: symbol, type, addend */
	ux_out_sleb(&o.table, ABSOLUTE);
	ux_out_sleb(&o.table, 10);
	ux_out_sleb(&o.table, 5);
	ux_out_u8(&o.table, 1 << 3 | 4); /* at 4: the same with another addend */
	ux_out_sleb(&o.table, -6);
	ux_out_u8(&o.table, 1 << 3 | 1); /* at 8: the same of another symbol */
	ux_out_sleb(&o.table, DATUM - ABSOLUTE);
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	assert_int_equal(load(finish(&o), &content, &loss, NULL), UX_OK);
	assert_int_equal(loss.count, 0);
	assert_memory_equal(content.bytes.data, "\x39\x12\0\0\x33\x12\0\0\xff\xff\xff\xff\0", 13);
	end(&o);
	begin(&o, EM_386, 32, false, SHT_CREL);
	o.content = UX_STR("....\1\0\0\0....");
	ux_out_uleb(&o.table, 1 << 3); /* one entry, its addend in the place */
	ux_out_u8(&o.table, 4 << 2 | 3);
	ux_out_sleb(&o.table, F);
	ux_out_sleb(&o.table, 1);
	assert_int_equal(value_at(&o, 4, 4), f_pc + 1);
	end(&o);
}

static void crel_offsets_may_be_wide(void **state)
{
	(void)state;
	static const uint8_t zeros[600];
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_CREL);
	o.content = ux_bytes(zeros, sizeof(zeros));
	ux_out_uleb(&o.table, 1 << 3 | 4);
	/* 0x123 = 16 * 18 + 3: four bits in the first byte, the rest after it */
	ux_out_u8(&o.table, 0x80 | 3 << 3 | 3);
	ux_out_uleb(&o.table, 0x123 >> 4);
	ux_out_sleb(&o.table, ABSOLUTE);
	ux_out_sleb(&o.table, 1);
	assert_int_equal(value_at(&o, 0x123, 8), 0x1234);
	end(&o);
}

static void a_compressed_section_is_inflated_first(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	o.packed = true;
	entry(&o, PLACES - 8, F, 1, 0);
	assert_int_equal(value_at(&o, PLACES - 8, 8), f_pc);
	end(&o);
}

static void the_file_itself_is_never_written(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	struct ux_bytes file = finish(&o);
	ux_cleanup(ux_free_ptr) uint8_t *before = malloc(file.size);
	memcpy(before, file.data, file.size);
	for (int i = 0; i < 2; i++) {
		ux_cleanup(ux_elf_close) struct ux_elf elf;
		ux_cleanup(ux_content_free) struct ux_content content = {0};
		struct ux_reloc_loss loss;
		struct ux_spill spill = {.folder = "/tmp"};
		assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
		assert_true(ux_elf_section_has_relocs(&elf, &elf.sections[DEBUG]));
		assert_false(ux_elf_section_has_relocs(&elf, &elf.sections[TEXT]));
		assert_int_equal(ux_elf_section_load_relocated(&elf, &elf.sections[DEBUG], LOAD_MAX,
							       i == 0 ? NULL : &spill, &content,
							       &loss, NULL),
				 UX_OK);
		assert_int_equal(content.spilled, i == 1);
		assert_memory_equal(content.bytes.data, &f_pc, 8);
		assert_memory_equal(file.data, before, file.size);
	}
	end(&o);
}

static void a_linked_file_keeps_what_it_has(void **state)
{
	(void)state;
	struct object o; /* as `ld --emit-relocs` leaves it */
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	o.elf.type = ET_EXEC;
	entry(&o, 0, F, 1, 0);
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	assert_int_equal(load(finish(&o), &content, &loss, NULL), UX_OK);
	assert_null(content.owned);
	end(&o);
}

/* Loads a file that must lose exactly one relocation, and returns why. */
static struct ux_error lost(struct object *o)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	static const uint8_t zeros[PLACES];
	assert_int_equal(load(finish(o), &content, &loss, NULL), UX_OK);
	assert_int_equal(loss.count, 1);
	assert_int_equal(content.bytes.size, PLACES);
	assert_memory_equal(content.bytes.data, zeros, PLACES);
	end(o);
	return loss.first;
}

static void what_cannot_be_applied_is_counted_and_named(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 41, 0);
	struct ux_error why = lost(&o);
	assert_int_equal(why.code, UX_EUNSUPPORTED);
	assert_string_equal(why.section, ".debug_x");
	assert_string_equal(why.text, "relocation of .rel.debug_x: unknown type 41 (machine 62)");
	begin(&o, EM_CSKY, 64, false, SHT_RELA);
	entry(&o, 0, F, 2, 0);
	assert_string_equal(lost(&o).text,
			    "relocation of .rel.debug_x: unknown type 2 (machine 252)");
	begin(&o, EM_MIPS, 64, false, SHT_RELA);
	ux_out_u64(&o.table, 0);
	ux_out_u32(&o.table, F);
	ux_out_put(&o.table, "\0\0\2\22", 4); /* two types */
	ux_out_u64(&o.table, 0);
	assert_int_equal(lost(&o).code, UX_EUNSUPPORTED);
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, N_SYMBOLS, 1, 0);
	why = lost(&o);
	assert_int_equal(why.code, UX_ECORRUPT);
	assert_string_equal(why.text, "relocation of .rel.debug_x: no symbol 4 (machine 62)");
}

static void a_place_outside_of_the_section_is_not_touched(void **state)
{
	(void)state;
	static const uint64_t places[] = {PLACES - 7, PLACES, PLACES + 1, UINT64_MAX,
					  UINT64_MAX - 6};
	for (size_t i = 0; i < ux_countof(places); i++) {
		struct object o;
		begin(&o, EM_X86_64, 64, false, SHT_RELA);
		entry(&o, places[i], F, 1, 0);
		struct ux_error why = lost(&o);
		assert_int_equal(why.code, UX_ECORRUPT);
		assert_non_null(strstr(why.text, "no bytes at"));
	}
}

static void several_relocations_of_one_place_follow_each_other(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	entry(&o, 0, ABSOLUTE, 1, 0);
	entry(&o, 4, ABSOLUTE, 10, 0);
	assert_int_equal(value_at(&o, 0, 8), UINT64_C(0x123400001234));
	end(&o);
}

/* The code that loading ends with, and its text. */
static enum ux_code refused(struct object *o, struct ux_error *err)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	*err = (struct ux_error)UX_ERROR_INIT;
	enum ux_code code = load(finish(o), &content, &loss, err);
	assert_null(content.owned);
	end(o);
	return code;
}

static void a_table_that_is_none_is_corrupt(void **state)
{
	(void)state;
	struct object o;
	struct ux_error err;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	o.entsize = 16;
	assert_int_equal(refused(&o, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "relocations are 16 bytes each, expected 24");
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	o.link = TEXT;
	assert_int_equal(refused(&o, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "its symbol table, section 1, is none");
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	o.link = 77;
	assert_int_equal(refused(&o, &err), UX_ECORRUPT);
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	ux_out_u64(&o.table, 8); /* the first third of another */
	assert_int_equal(refused(&o, &err), UX_ECORRUPT);
	begin(&o, EM_X86_64, 64, false, SHT_CREL);
	ux_out_uleb(&o.table, UINT64_MAX); /* claims this many entries, and has none */
	assert_int_equal(refused(&o, &err), UX_ECORRUPT);
}

static void tables_that_overlap_are_refused(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	for (int i = 0; i < 100; i++)
		entry(&o, 0, F, 1, 0);
	struct ux_bytes file = finish(&o);
	ux_cleanup(ux_elf_close) struct ux_elf elf;
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	struct ux_elf_section many[SYMTAB + 2];
	memcpy(many, elf.sections, sizeof(many));
	many[SYMTAB + 1] = many[RELOCS]; /* instead of the sections' names */
	struct ux_elf twice = elf;
	twice.sections = many;
	twice.n_sections = ux_countof(many);
	assert_int_equal(ux_elf_section_load_relocated(&twice, &many[DEBUG], LOAD_MAX, NULL,
						       &content, &loss, &err),
			 UX_ECORRUPT);
	assert_string_equal(err.text, "overlaps other tables of relocations");
	end(&o);
}

static void a_second_symbol_table_is_refused(void **state)
{
	(void)state;
	struct object o;
	begin(&o, EM_X86_64, 64, false, SHT_RELA);
	entry(&o, 0, F, 1, 0);
	ux_cleanup(ux_elf_close) struct ux_elf elf;
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_elf_open(&elf, finish(&o), NULL), UX_OK);
	struct ux_elf_section many[SYMTAB + 3];
	memcpy(many, elf.sections, (SYMTAB + 1) * sizeof(*many));
	many[SYMTAB + 1] = many[SYMTAB];
	many[SYMTAB + 2] = many[RELOCS];
	struct ux_elf twice = elf;
	twice.sections = many;
	twice.n_sections = ux_countof(many);
	assert_int_equal(ux_elf_section_load_relocated(&twice, &many[DEBUG], LOAD_MAX, NULL,
						       &content, &loss, &err),
			 UX_OK);
	ux_content_free(&content);
	many[SYMTAB + 2].link = SYMTAB + 1;
	assert_int_equal(ux_elf_section_load_relocated(&twice, &many[DEBUG], LOAD_MAX, NULL,
						       &content, &loss, &err),
			 UX_ECORRUPT);
	assert_string_equal(err.text, "its symbol table, section 6, is not the one used before");
	end(&o);
}

/* Adds a code section. */
static uint32_t code(struct make_elf *m, const char *name, uint64_t size, uint64_t align)
{
	return make_elf_section(m, (struct make_section){.name = name,
							 .type = SHT_NOBITS,
							 .flags = SHF_ALLOC | SHF_EXECINSTR,
							 .size = size,
							 .align = align});
}

static void code_lies_in_the_order_of_the_kernels_loader(void **state)
{
	(void)state;
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct make_elf m;
		struct ux_elf elf;
		make_elf_init(&m, bits, false);
		m.type = ET_REL;
		uint32_t init = code(&m, ".init.text", 0x10, 1);
		uint32_t cold = code(&m, ".text.unlikely", 5, 1);
		uint32_t data = make_elf_section(&m, (struct make_section){.name = ".data",
									   .flags = SHF_ALLOC,
									   .content = UX_STR("d"),
									   .addr = 7});
		uint32_t text = code(&m, ".text", 0x21, 16);
		uint32_t leave = code(&m, ".exit.text", 3, 32);
		uint32_t stub = make_elf_section(
			&m, (struct make_section){.name = ".stub",
						  .flags = SHF_EXECINSTR,
						  .content = UX_STR("not loaded")});
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		assert_int_equal(elf.bias, UX_ELF_LAYOUT_BASE);
		const struct ux_elf_section *s = elf.sections;
		assert_int_equal(s[text].addr, UX_ELF_LAYOUT_BASE);
		assert_int_equal(s[cold].addr, UX_ELF_LAYOUT_BASE + 0x21);
		assert_int_equal(s[leave].addr, UX_ELF_LAYOUT_BASE + 0x40);
		assert_int_equal(s[init].addr, UX_ELF_LAYOUT_BASE + 0x43);
		assert_int_equal(s[data].addr, 0);
		assert_int_equal(s[stub].addr, 0);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void code_that_leaves_the_address_space_has_no_place(void **state)
{
	(void)state;
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct make_elf m;
		struct ux_elf elf;
		uint64_t huge = bits == 32 ? 0xc0000000 : UINT64_MAX;
		make_elf_init(&m, bits, false);
		m.type = ET_REL;
		uint32_t big = code(&m, ".text", huge, 1);
		uint32_t strange = code(&m, ".text.a", 4, 1);
		uint32_t far = code(&m, ".text.b", 4, 1);
		uint32_t last = code(&m, ".text.c", 4, 8);
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		elf.sections[strange].align = 12;
		elf.sections[far].align = bits == 32 ? 1u << 31 : UINT64_C(1) << 63;
		ux_elf_layout(&elf);
		assert_int_equal(elf.sections[big].addr, UINT64_MAX);
		assert_int_equal(elf.sections[strange].addr, UX_ELF_LAYOUT_BASE);
		assert_int_equal(elf.sections[far].addr,
				 bits == 32 ? UINT64_C(1) << 31 : UINT64_MAX);
		assert_int_equal(elf.sections[last].addr,
				 bits == 32 ? (UINT64_C(1) << 31) + 8 : UX_ELF_LAYOUT_BASE + 8);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void fill(struct object *o, unsigned variant)
{
	static const struct {
		uint16_t machine;
		unsigned bits;
		bool big;
		uint32_t type, one, two;
	} variants[] = {
		{EM_X86_64, 64, false, SHT_RELA, 1, 10}, {EM_386, 32, false, SHT_REL, 1, 1},
		{EM_RISCV, 64, false, SHT_RELA, 60, 39}, {EM_MIPS, 64, true, SHT_RELA, 18, 2},
		{EM_PPC, 32, true, SHT_RELA, 1, 24},
	};
	begin(o, variants[variant].machine, variants[variant].bits, variants[variant].big,
	      variants[variant].type);
	o->packed = variant == 0;
	entry(o, 0, F, variants[variant].one, 1);
	entry(o, 9, DATUM, variants[variant].two, 2);
}

static void load_damaged(struct ux_bytes file, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code found = load(file, &content, &loss, &err);
	assert_int_equal(found, err.code);
	assert_true(found == UX_OK || err.text[0] != '\0');
	assert_true(found == UX_OK || !content.owned);
	assert_int_equal(loss.count > 0, loss.first.code != UX_OK);
}

static void no_damage_is_more_than_an_error_or_a_loss(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 5; v++) {
		struct object o;
		fill(&o, v);
		struct ux_bytes file = finish(&o);
		each_prefix(file, load_damaged, NULL);
		each_byte_extreme(file, load_damaged, NULL);
		each_bit_flip(file, load_damaged, NULL);
		end(&o);
	}
}

static enum ux_code load_good(void *ctx)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_reloc_loss loss;
	return load(*(struct ux_bytes *)ctx, &content, &loss, NULL);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		struct object o;
		fill(&o, v);
		struct ux_bytes file = finish(&o);
		/* sections and a copy */
		assert_true(each_failed_alloc(load_good, &file, /* may_recover= */ false) > 2);
		end(&o);
	}
}

UX_SUITE(elf_reloc)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(absolute_places_get_the_address_on_every_machine),
		UX_TEST(neighbours_of_a_place_stay_as_they_are),
		UX_TEST(what_refers_to_a_debug_section_is_an_offset),
		UX_TEST(offsets_of_thread_locals_are_passed_over_in_silence),
		UX_TEST(distances_are_added_and_taken_off),
		UX_TEST(six_bits_leave_the_other_two),
		UX_TEST(an_uleb128_keeps_its_length),
		UX_TEST(an_uleb128_without_an_end_is_lost),
		UX_TEST(an_uleb128_of_unusual_length_is_lost),
		UX_TEST(sparc_keeps_other_things_above_the_type),
		UX_TEST(the_thumb_bit_is_not_in_debug_sections),
		UX_TEST(crel_is_read_with_and_without_addends),
		UX_TEST(crel_offsets_may_be_wide),
		UX_TEST(a_compressed_section_is_inflated_first),
		UX_TEST(the_file_itself_is_never_written),
		UX_TEST(a_linked_file_keeps_what_it_has),
		UX_TEST(what_cannot_be_applied_is_counted_and_named),
		UX_TEST(a_place_outside_of_the_section_is_not_touched),
		UX_TEST(several_relocations_of_one_place_follow_each_other),
		UX_TEST(a_table_that_is_none_is_corrupt),
		UX_TEST(tables_that_overlap_are_refused),
		UX_TEST(a_second_symbol_table_is_refused),
		UX_TEST(code_lies_in_the_order_of_the_kernels_loader),
		UX_TEST(code_that_leaves_the_address_space_has_no_place),
		UX_TEST(no_damage_is_more_than_an_error_or_a_loss),
		UX_TEST(every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
