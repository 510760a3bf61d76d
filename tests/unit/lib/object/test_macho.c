/* SPDX-License-Identifier: Apache-2.0 */
/* lib/macho: commands, symbols, slices, identities. */
#include "sweep.h"

#include "macho_fat.h"
#include "macho_file.h"
#include "macho_symbols.h"
#include "make_macho.h"
#include "object.h"

#define UUID UX_STR("0123456789abcdef")

enum {
	CODE = S_ATTR_SOME_INSTRUCTIONS,
	TEXT_AT = 0x1100,
	STUBS_AT = 0x1200,
	STUB_SIZE = 6,
};

/* A file with one of everything that the reader knows. */
static void fill(struct make_macho *m)
{
	m->uuid = UUID;
	uint8_t text = make_macho_section(
		m, (struct make_macho_section){.segment = "__TEXT",
					       .name = "__text",
					       .addr = TEXT_AT,
					       .content = UX_STR("0123456789abcdef"),
					       .flags = S_ATTR_PURE_INSTRUCTIONS | CODE});
	make_macho_section(m, (struct make_macho_section){.segment = "__TEXT",
							  .name = "__stubs",
							  .addr = STUBS_AT,
							  .size = 4 * STUB_SIZE,
							  .flags = CODE | S_SYMBOL_STUBS,
							  .reserved1 = 1,
							  .reserved2 = STUB_SIZE});
	make_macho_section(m, (struct make_macho_section){.segment = "__DWARF",
							  .name = "__debug_str_offsets",
							  .content = UX_STR("offsets")});
	make_macho_section(m, (struct make_macho_section){.segment = "__DATA",
							  .name = "__bss",
							  .addr = 0x3000,
							  .size = 1 << 30,
							  .flags = S_ZEROFILL});
	make_macho_symbol(
		m, (struct make_macho_symbol){"_main", TEXT_AT, N_SECT | N_EXT, text, N_WEAK_DEF});
	make_macho_symbol(m, (struct make_macho_symbol){"_puts", 0, N_EXT, 0, 0});
	make_macho_symbol(m, (struct make_macho_symbol){"_data", 0x3000, N_SECT, 4, 0});
	make_macho_symbol(m, (struct make_macho_symbol){"/a.o", 77, N_OSO, 0, 1});
	make_macho_symbol(m, (struct make_macho_symbol){NULL, TEXT_AT, N_SECT, text, 0});
	for (unsigned i = 0; i < 2; i++)
		make_macho_indirect(m, 0);
	make_macho_indirect(m, INDIRECT_SYMBOL_LOCAL);
	make_macho_indirect(m, 1);
	make_macho_indirect(m, 99);
	ux_out_uleb(&m->starts, TEXT_AT - m->text);
	ux_out_uleb(&m->starts, 300);
	ux_out_uleb(&m->starts, 0);
	ux_out_uleb(&m->starts, 5);
}

static void init_variant(struct make_macho *m, unsigned variant)
{
	make_macho_init(m, (variant & 1) != 0 ? 32 : 64, (variant & 2) != 0);
}

static void commands_are_read_in_each_width_and_order(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct make_macho m;
		init_variant(&m, variant);
		m.cryptid = 1;
		fill(&m);
		struct ux_bytes file = guard(make_macho_finish(&m));
		struct ux_macho macho;
		assert_true(ux_macho_is(file));
		assert_int_equal(ux_macho_open(&macho, file, NULL), UX_OK);
		assert_int_equal(macho.is64, (variant & 1) == 0);
		assert_int_equal(macho.cpu, m.cpu);
		assert_int_equal(macho.type, MH_DYLIB);
		assert_int_equal(macho.id.type, UX_ID_UUID);
		assert_memory_equal(macho.id.bytes, UUID.data, UUID.size);
		assert_true(macho.encrypted);
		assert_int_equal(ux_macho_segment_find(&macho, "__TEXT")->vmaddr, 0x1000);
		const struct ux_macho_section *text = ux_macho_section_find(&macho, "__text");
		struct ux_bytes bytes;
		assert_int_equal(text->addr, TEXT_AT);
		assert_true(ux_macho_section_is_code(text));
		assert_int_equal(ux_macho_section_bytes(&macho, text, &bytes, NULL), UX_OK);
		assert_true(ux_bytes_eq(bytes, UX_STR("0123456789abcdef")));
		ux_macho_close(&macho);
		guard_free(file);
		make_macho_deinit(&m);
	}
}

static void names_are_cut_to_sixteen_letters_and_found_so(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_macho macho;
	struct ux_bytes bytes;
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	const struct ux_macho_section *s = ux_macho_section_find(&macho, "__debug_str_offsets");
	assert_string_equal(s->name, "__debug_str_offs");
	assert_int_equal(ux_macho_section_bytes(&macho, s, &bytes, NULL), UX_OK);
	assert_true(ux_bytes_eq(bytes, UX_STR("offsets")));
	assert_null(ux_macho_section_find(&macho, "__debug_str"));
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

static void sections_without_content_are_empty(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_macho macho;
	struct ux_bytes bytes;
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	static const char *const names[] = {"__bss", "__stubs"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		const struct ux_macho_section *s = ux_macho_section_find(&macho, names[i]);
		assert_false(ux_macho_section_has_content(s));
		assert_int_equal(ux_macho_section_bytes(&macho, s, &bytes, NULL), UX_OK);
		assert_int_equal(bytes.size, 0);
	}
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

static void symbols_are_walked_and_those_of_code_distinguished(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct make_macho m;
		init_variant(&m, variant);
		fill(&m);
		struct ux_macho macho;
		struct ux_macho_symbols it;
		size_t n = 0, code = 0;
		assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
		assert_int_equal(ux_macho_symbols_open(&macho, &it, NULL), UX_OK);
		for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it)); n++)
			if (ux_macho_symbol_is_code(&macho, s)) {
				assert_string_equal(ux_macho_plain_name(s->name), "main");
				assert_int_equal(s->value, TEXT_AT);
				assert_int_equal(s->desc, N_WEAK_DEF);
				code++;
			}
		assert_int_equal(n, 5);
		assert_int_equal(code, 1);
		ux_macho_close(&macho);
		make_macho_deinit(&m);
	}
}

static void starts_are_distances_up_to_a_zero(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_macho macho;
	struct ux_macho_starts it;
	uint64_t pc = 0;
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	assert_int_equal(ux_macho_starts_open(&macho, &it, NULL), UX_OK);
	assert_true(ux_macho_starts_next(&it, &pc));
	assert_int_equal(pc, TEXT_AT);
	assert_true(ux_macho_starts_next(&it, &pc));
	assert_int_equal(pc, TEXT_AT + 300);
	assert_false(ux_macho_starts_next(&it, &pc));
	assert_false(ux_macho_starts_next(&it, &pc));
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

/* Of four stubs the first is main's, the second a local function's, the fourth has no such symbol.
 */
static void stubs_have_the_names_of_their_indirect_symbols(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_macho macho;
	struct ux_macho_stubs it;
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	assert_int_equal(ux_macho_stubs_open(&macho, &it, NULL), UX_OK);
	const struct ux_macho_stub *s = ux_macho_stubs_next(&it);
	assert_string_equal(s->name, "_main");
	assert_int_equal(s->pc, STUBS_AT);
	assert_int_equal(s->size, STUB_SIZE);
	s = ux_macho_stubs_next(&it);
	assert_string_equal(s->name, "_puts");
	assert_int_equal(s->pc, STUBS_AT + 2 * STUB_SIZE);
	assert_null(ux_macho_stubs_next(&it));
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

static void macho_expect_ids(const struct ux_macho *macho, struct ux_id_set *ret)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	assert_int_equal(ux_object_open_headers(macho->file, &object, NULL), UX_OK);
	assert_int_equal(ux_object_ids(object, ret, NULL), UX_OK);
}

static void a_uuid_of_zeros_is_none(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	m.uuid = UX_STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	struct ux_macho macho;
	struct ux_id_set ids = {0};
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	assert_int_equal(macho.id.size, 0);
	macho_expect_ids(&macho, &ids);
	assert_int_equal(ids.size, 1);
	assert_int_equal(ids.ids[0].type, UX_ID_FILE);
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

static void a_go_build_id_is_read_from_the_front_of_the_code(void **state)
{
	(void)state;
	const struct {
		struct ux_bytes code;
		const char *id;
	} cases[] = {
		{UX_STR("\xff Go build ID: \"a/b/c\"\n \xff..."), "go:a/b/c"},
		{UX_STR("\xff Go build ID: \"a/b/c\"\n ..."), NULL},
		{UX_STR("\xff Go build ID: \"a b\"\n \xff"), NULL},
		{UX_STR("\xff Go build ID: \"\"\n \xff"), NULL},
		{UX_STR("\xff Go build ID"), NULL},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_macho m;
		make_macho_init(&m, 64, false);
		make_macho_section(&m, (struct make_macho_section){.segment = "__TEXT",
								   .name = "__text",
								   .addr = TEXT_AT,
								   .content = cases[i].code,
								   .flags = CODE});
		struct ux_macho macho;
		struct ux_id_set ids = {0};
		char text[UX_ID_TEXT];
		assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
		macho_expect_ids(&macho, &ids);
		assert_int_equal(ids.size, cases[i].id ? 2 : 1);
		if (cases[i].id)
			assert_string_equal(ux_id_format(&ids.ids[0], text), cases[i].id);
		ux_macho_close(&macho);
		make_macho_deinit(&m);
	}
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Opens the file with a 32-bit word overwritten, and checks the result. */
static void expect_damage(size_t off, uint32_t word, enum ux_code code, const char *words)
{
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_bytes made = make_macho_finish(&m);
	ux_out_patch_u32(&m.file, off, word);
	struct ux_bytes file = guard(made);
	struct ux_macho macho = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_macho_open(&macho, file, &err), code);
	assert_non_null(strstr(err.text, words));
	guard_free(file);
	make_macho_deinit(&m);
}

static void commands_that_lie_are_corrupt(void **state)
{
	(void)state;
	expect_damage(0, 0x12345678, UX_EUNSUPPORTED, "not a Mach-O file");
	expect_damage(16, 1000, UX_ECORRUPT, "");                /* ncmds */
	expect_damage(20, 1 << 20, UX_ECORRUPT, "");             /* sizeofcmds */
	expect_damage(32 + 4, 4, UX_ECORRUPT, "shorter than 8"); /* cmdsize of __TEXT */
	expect_damage(32 + 4, 1 << 20, UX_ECORRUPT, "");         /* the same */
	expect_damage(32 + 64, 1, UX_ECORRUPT, "");              /* sections of __TEXT */
	expect_damage(32 + 72 + 64, 1 << 30, UX_ECORRUPT, "");   /* sections of the other segment */
}

static void what_leaves_the_file_is_an_error_when_it_is_requested(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_macho macho;
	struct ux_macho_symbols symbols;
	struct ux_macho_starts starts;
	struct ux_macho_stubs stubs;
	struct ux_bytes bytes;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_macho_open(&macho, make_macho_finish(&m), NULL), UX_OK);
	macho.symbols.count = UINT32_MAX;
	assert_int_equal(ux_macho_symbols_open(&macho, &symbols, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "symbol table"));
	assert_int_equal(ux_macho_stubs_open(&macho, &stubs, NULL), UX_ECORRUPT);
	macho.symbols.count = 1;
	macho.indirect.off = macho.file.size;
	assert_int_equal(ux_macho_stubs_open(&macho, &stubs, NULL), UX_ECORRUPT);
	macho.starts.off = UINT32_MAX;
	assert_int_equal(ux_macho_starts_open(&macho, &starts, NULL), UX_ECORRUPT);
	macho.sections[0].size = UINT64_MAX;
	assert_int_equal(ux_macho_section_bytes(&macho, &macho.sections[0], &bytes, NULL),
			 UX_ECORRUPT);
	ux_macho_close(&macho);
	make_macho_deinit(&m);
}

/* Reads everything. */
static void read_damaged(struct ux_bytes file, void *ctx)
{
	(void)ctx;
	struct ux_macho_slices slices;
	if (ux_macho_slices(file, &slices, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < slices.size; i++) {
		struct ux_macho macho;
		struct ux_macho_symbols symbols;
		struct ux_macho_starts starts;
		struct ux_macho_stubs stubs;
		struct ux_id_set ids = {0};
		uint64_t pc = 0, sum = 0;
		if (ux_macho_open(&macho, slices.list[i].bytes, NULL) != UX_OK)
			continue;
		if (ux_macho_symbols_open(&macho, &symbols, NULL) == UX_OK)
			for (const struct ux_macho_symbol *s;
			     (s = ux_macho_symbols_next(&symbols));)
				sum += strlen(s->name) + ux_macho_symbol_is_code(&macho, s);
		if (ux_macho_starts_open(&macho, &starts, NULL) == UX_OK)
			while (ux_macho_starts_next(&starts, &pc))
				sum += pc;
		if (ux_macho_stubs_open(&macho, &stubs, NULL) == UX_OK)
			for (const struct ux_macho_stub *s; (s = ux_macho_stubs_next(&stubs));)
				sum += strlen(s->name);
		assert_int_equal(ux_macho_ids(&macho, &ids, NULL), UX_OK);
		assert_true(sum < UINT64_MAX);
		ux_macho_close(&macho);
	}
}

static void damage_of_every_kind_is_survived(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct make_macho m;
		init_variant(&m, variant);
		fill(&m);
		struct ux_bytes file = make_macho_finish(&m);
		each_prefix(file, read_damaged, NULL);
		each_byte_extreme(file, read_damaged, NULL);
		each_bit_flip(file, read_damaged, NULL);
		make_macho_deinit(&m);
	}
}

static enum ux_code open_good(void *ctx)
{
	struct ux_macho macho = {0};
	enum ux_code code = ux_macho_open(&macho, *(const struct ux_bytes *)ctx, NULL);
	ux_macho_close(&macho);
	return code;
}

static void opening_without_memory_says_so(void **state)
{
	(void)state;
	struct make_macho m;
	make_macho_init(&m, 64, false);
	fill(&m);
	struct ux_bytes file = make_macho_finish(&m);
	assert_true(each_failed_alloc(open_good, &file, /* may_recover= */ false) > 2);
	make_macho_deinit(&m);
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Two machines and an archive in one file. */
struct whole {
	struct make_macho one, two;
	struct ux_out file;
};

static void whole_init(struct whole *w, bool wide)
{
	memset(w, 0, sizeof(*w));
	make_macho_init(&w->one, 64, true);
	fill(&w->one);
	make_macho_init(&w->two, 64, false);
	w->two.cpu = CPU_TYPE_ARM64;
	w->two.subtype = 0x80000002; /* arm64e with a capability */
	fill(&w->two);
	w->two.uuid = UX_STR("another-uuid-of16");
	w->two.uuid.size = MACHO_UUID_SIZE;
	const struct make_macho_slice slices[] = {
		{w->one.cpu, w->one.subtype, make_macho_finish(&w->one)},
		{CPU_TYPE_I386, 3, UX_STR("!<arch>\n")},
		{w->two.cpu, w->two.subtype, make_macho_finish(&w->two)},
	};
	make_macho_fat(&w->file, wide, slices, ux_countof(slices));
}

static void whole_deinit(struct whole *w)
{
	make_macho_deinit(&w->one);
	make_macho_deinit(&w->two);
	ux_out_deinit(&w->file);
}

static void slices_of_universal_files_are_found(void **state)
{
	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		struct whole w;
		struct ux_macho_slices slices;
		char text[UX_MACHO_LIST_TEXT];
		whole_init(&w, wide);
		struct ux_bytes file = guard(ux_out_bytes(&w.file));
		assert_true(ux_macho_any(file) && !ux_macho_is(file));
		assert_int_equal(ux_macho_slices(file, &slices, NULL), UX_OK);
		assert_int_equal(slices.size, 2); /* the archive does not count */
		assert_string_equal(ux_macho_slices_list(&slices, text), "ppc64, arm64e");
		assert_true(ux_bytes_eq(slices.list[1].bytes, ux_out_bytes(&w.two.file)));
		guard_free(file);
		whole_deinit(&w);
	}
}

static void a_slice_is_chosen_by_name_by_uuid_or_because_it_is_alone(void **state)
{
	(void)state;
	struct whole w;
	struct ux_macho_slice slice;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_id id;
	whole_init(&w, false);
	struct ux_bytes file = ux_out_bytes(&w.file);
	assert_int_equal(ux_macho_slice_choose(file, "arm64e", NULL, &slice, NULL), UX_OK);
	assert_int_equal(slice.cpu, CPU_TYPE_ARM64);
	assert_int_equal(ux_macho_slice_choose(file, "arm64", NULL, &slice, &err), UX_ENOTFOUND);
	assert_string_equal(err.text, "no slice for arm64; the file has: ppc64, arm64e");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_macho_slice_choose(file, NULL, NULL, &slice, &err), UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "--arch: ppc64, arm64e"));
	assert_int_equal(ux_id_make(UX_ID_UUID, w.two.uuid, &id, NULL), UX_OK);
	assert_int_equal(ux_macho_slice_choose(file, NULL, &id, &slice, NULL), UX_OK);
	assert_int_equal(slice.cpu, CPU_TYPE_ARM64);
	struct ux_bytes thin = ux_out_bytes(&w.one.file);
	assert_int_equal(ux_macho_slice_choose(thin, NULL, NULL, &slice, NULL), UX_OK);
	assert_ptr_equal(slice.bytes.data, thin.data);
	assert_int_equal(ux_macho_slice_choose(thin, "arm64e", NULL, &slice, NULL), UX_ENOTFOUND);
	whole_deinit(&w);
}

static void names_of_machines_are_apples(void **state)
{
	(void)state;
	static const struct {
		uint32_t cpu, subtype;
		const char *name;
	} cases[] = {
		{CPU_TYPE_X86_64, 3, "x86_64"},     {CPU_TYPE_X86_64, 0x80000008, "x86_64h"},
		{CPU_TYPE_ARM64, 0, "arm64"},       {CPU_TYPE_ARM64, 2, "arm64e"},
		{CPU_TYPE_ARM, 12, "armv7k"},       {CPU_TYPE_POWERPC, 0, "ppc"},
		{CPU_TYPE_I386, 3, "i386"},         {CPU_TYPE_ARM64_32, 1, "arm64_32"},
		{5, 0xff000002, "cpu 5 subtype 2"},
	};
	char text[UX_MACHO_ARCH_TEXT];
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_string_equal(ux_macho_arch_name(cases[i].cpu, cases[i].subtype, text),
				    cases[i].name);
	struct ux_macho_slices one = {.list[0] = {.cpu = CPU_TYPE_X86_64, .subtype = 3}, .size = 1};
	assert_non_null(ux_macho_slice_named(&one, "amd64"));
	assert_null(ux_macho_slice_named(&one, "aarch64"));
}

static void java_classes_and_slices_that_leave_the_file_are_refused(void **state)
{
	(void)state;
	struct ux_macho_slices slices;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes java = UX_STR("\xca\xfe\xba\xbe\0\0\0\x2d\0\0\0\0\0\0\0\0");
	assert_false(ux_macho_any(java));
	assert_int_equal(ux_macho_slices(java, &slices, NULL), UX_EUNSUPPORTED);
	struct whole w;
	whole_init(&w, false);
	struct ux_bytes file = ux_out_bytes(&w.file);
	file.size -= 1;
	assert_int_equal(ux_macho_slices(file, &slices, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "slice arm64e"));
	file.size = 20;
	assert_int_equal(ux_macho_slices(file, &slices, NULL), UX_ECORRUPT);
	whole_deinit(&w);
	struct ux_out archives = {0};
	make_macho_fat(&archives, false,
		       &(struct make_macho_slice){CPU_TYPE_I386, 3, UX_STR("!<arch>\n")}, 1);
	assert_int_equal(ux_macho_slices(ux_out_bytes(&archives), &slices, NULL), UX_EUNSUPPORTED);
	ux_out_deinit(&archives);
}

static void slices_that_overlap_are_corrupt(void **state)
{
	(void)state;
	struct whole w;
	struct ux_macho_slices slices;
	struct ux_error err = UX_ERROR_INIT;
	whole_init(&w, false);
	uint8_t *first = w.file.data + 8 + 8, *third = w.file.data + 8 + 2 * 20 + 8;
	memcpy(third, first, 4); /* its offset */
	assert_int_equal(ux_macho_slices(ux_out_bytes(&w.file), &slices, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "slices ppc64 and arm64e overlap");
	whole_deinit(&w);
}

static void damaged_universal_files_are_survived(void **state)
{
	(void)state;
	struct whole w;
	whole_init(&w, true);
	each_prefix(ux_out_bytes(&w.file), read_damaged, NULL);
	each_byte_extreme(ux_bytes(w.file.data, 200), read_damaged, NULL);
	each_bit_flip(ux_out_bytes(&w.file), read_damaged, NULL);
	whole_deinit(&w);
}

UX_SUITE(macho)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(commands_are_read_in_each_width_and_order),
		UX_TEST(names_are_cut_to_sixteen_letters_and_found_so),
		UX_TEST(sections_without_content_are_empty),
		UX_TEST(symbols_are_walked_and_those_of_code_distinguished),
		UX_TEST(starts_are_distances_up_to_a_zero),
		UX_TEST(stubs_have_the_names_of_their_indirect_symbols),
		UX_TEST(a_uuid_of_zeros_is_none),
		UX_TEST(a_go_build_id_is_read_from_the_front_of_the_code),
		UX_TEST(commands_that_lie_are_corrupt),
		UX_TEST(what_leaves_the_file_is_an_error_when_it_is_requested),
		UX_TEST(damage_of_every_kind_is_survived),
		UX_TEST(opening_without_memory_says_so),
		UX_TEST(slices_of_universal_files_are_found),
		UX_TEST(a_slice_is_chosen_by_name_by_uuid_or_because_it_is_alone),
		UX_TEST(names_of_machines_are_apples),
		UX_TEST(java_classes_and_slices_that_leave_the_file_are_refused),
		UX_TEST(slices_that_overlap_are_corrupt),
		UX_TEST(damaged_universal_files_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
