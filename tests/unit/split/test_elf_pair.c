/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files that are divided into a stripped file and a debug file. */
#include "sweep.h"

#include "cursor.h"
#include "debug_file.h"
#include "elf_ids.h"
#include "elf_symbols.h"
#include "make_elf.h"
#include "pair_parts.h"

static const uint8_t id[20] = {1, 2, 3};

/* The test's choice of an input. */
struct shape {
	unsigned bits;
	bool big;
	bool late;    /* a loaded segment after the debug information, as patchelf writes it */
	bool without; /* no build ID */
	bool no_debug;
};

static void add_debug(struct make_elf *m)
{
	static uint8_t info[4000];
	memset(info, 7, sizeof(info));
	make_elf_section(m, (struct make_section){.name = ".debug_info",
						  .content = ux_bytes(info, sizeof(info))});
}

/* Writes a linked file; the symbol "local" belongs to .debug_info if there is one. */
static struct ux_bytes make_linked(struct make_elf *m, const struct shape *shape)
{
	make_elf_init(m, shape->bits, shape->big);
	uint32_t note = shape->without ? 0
				       : make_elf_note(m, ".note.gnu.build-id", "GNU",
						       NT_GNU_BUILD_ID, ux_bytes(id, sizeof(id)));
	if (note) {
		m->sections.data[note].flags = SHF_ALLOC;
		make_elf_segment(
			m, (struct make_segment){.type = PT_NOTE, .first = note, .last = note});
	}
	uint32_t text = make_elf_section(m, (struct make_section){
						    .name = ".text",
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .addr = 0x1000,
						    .content = UX_STR("\x55\x48\x89\xe5\x5d\xc3"),
					    });
	make_elf_segment(m, (struct make_segment){.type = PT_LOAD, .first = text, .last = text});
	uint32_t debug = (uint32_t)m->sections.size;
	if (!shape->no_debug)
		add_debug(m);
	if (shape->late) {
		uint32_t late = make_elf_section(
			m, (struct make_section){.name = ".late",
						 .flags = SHF_ALLOC | SHF_WRITE,
						 .addr = 0x9000,
						 .content = UX_STR("a segment behind all")});
		make_elf_segment(
			m, (struct make_segment){.type = PT_LOAD, .first = late, .last = late});
		make_elf_symbol(m, (struct make_symbol){.name = "behind",
							.value = 0x9000,
							.section = late,
							.bind = STB_GLOBAL,
							.dynamic = true});
	}
	if (!shape->no_debug)
		make_elf_symbol(m, (struct make_symbol){.name = "in_debug", .section = debug});
	make_elf_symbol(m, (struct make_symbol){.name = "main",
						.value = 0x1000,
						.size = 6,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	return make_elf_finish(m);
}

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* The two files with their contents on disk. */
struct parts {
	struct ux_out stripped;
	struct ux_out debug;
};

static void parts_deinit(struct parts *p)
{
	ux_out_deinit(&p->stripped);
	ux_out_deinit(&p->debug);
}

static enum ux_code divide_images(const struct ux_elf_pair *pair, struct parts *ret,
				  struct ux_error *err)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image debug = {0};
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image stripped = {0};
	UX_TRY(ux_elf_pair_debug(pair, &debug, err));
	UX_TRY(ux_elf_image_write(&debug, collect, &ret->debug, err));
	uint32_t crc = ux_debuglink_crc(ux_out_bytes(&ret->debug));
	UX_TRY(ux_elf_pair_stripped(pair, "app.debug", crc, &stripped, err));
	UX_TRY(ux_elf_image_write(&stripped, collect, &ret->stripped, err));
	return ux_elf_pair_check(pair, ux_out_bytes(&ret->stripped), err);
}

static enum ux_code divide(struct ux_bytes file, const struct ux_pair_options *options,
			   struct parts *ret, struct ux_error *err)
{
	ux_cleanup(ux_elf_pair_close) struct ux_elf_pair pair = {0};
	UX_TRY(ux_elf_pair_open(&pair, file, options, err));
	return divide_images(&pair, ret, err);
}

static void assert_content(const struct ux_elf *elf, const char *name, struct ux_bytes want)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	struct ux_bytes bytes;
	assert_non_null(s);
	assert_int_equal(ux_elf_section_raw(elf, s, &bytes, NULL), UX_OK);
	assert_int_equal(bytes.size, want.size);
	assert_memory_equal(bytes.data, want.data, want.size);
}

static const struct ux_elf_symbol *find_symbol(const struct ux_elf *elf, const char *table,
					       const char *name, struct ux_elf_symbols *it)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, table);
	assert_non_null(s);
	assert_int_equal(ux_elf_symbols_open(elf, s, it, NULL), UX_OK);
	for (const struct ux_elf_symbol *found; (found = ux_elf_symbols_next(it));)
		if (strcmp(found->name, name) == 0)
			return found;
	return NULL;
}

static void check_stripped(struct ux_bytes file, struct ux_bytes debug)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_debuglink link;
	struct ux_elf_symbols it;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_null(ux_elf_section_find(&elf, ".debug_info"));
	assert_content(&elf, ".text", UX_STR("\x55\x48\x89\xe5\x5d\xc3"));
	assert_int_equal(ux_debuglink_read(&elf, &link, NULL), UX_OK);
	assert_string_equal(link.name, "app.debug");
	assert_int_equal(link.crc, ux_debuglink_crc(debug));
	const struct ux_elf_symbol *s = find_symbol(&elf, ".symtab", "main", &it);
	assert_non_null(s);
	assert_string_equal(s->home->name, ".text");
	assert_null(find_symbol(&elf, ".symtab", "in_debug", &it));
}

static void check_debug(struct ux_bytes file)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_elf_section_find(&elf, ".text")->type, SHT_NOBITS);
	assert_int_equal(ux_elf_section_find(&elf, ".text")->size, 6);
	assert_int_equal(ux_elf_section_find(&elf, ".debug_info")->size, 4000);
	assert_int_equal(ux_elf_ids(&elf, &ids, NULL), UX_OK);
	assert_memory_equal(ids.ids[0].bytes, id, sizeof(id));
}

static void each_class_and_byte_order_is_divided(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct shape shape = {
			.bits = i & 1 ? 32 : 64, .big = (i & 2) != 0, .late = (i & 4) != 0};
		struct ux_pair_options options = {0};
		struct make_elf m;
		ux_cleanup(parts_deinit) struct parts parts = {0};
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = divide(make_linked(&m, &shape), &options, &parts, &err);
		if (code != UX_OK)
			fail_msg("%u: %s", i, err.text);
		check_stripped(ux_out_bytes(&parts.stripped), ux_out_bytes(&parts.debug));
		check_debug(ux_out_bytes(&parts.debug));
		make_elf_deinit(&m);
	}
}

static void segment_behind_the_debug_information_moves(void **state)
{
	(void)state;
	struct shape shape = {.bits = 64, .late = true};
	struct ux_pair_options options = {0};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_elf_symbols it;
	struct ux_bytes file = make_linked(&m, &shape);
	assert_int_equal(divide(file, &options, &parts, NULL), UX_OK);
	assert_true(parts.stripped.size + 3000 < file.size);
	assert_int_equal(ux_elf_open(&elf, ux_out_bytes(&parts.stripped), NULL), UX_OK);
	struct ux_bytes loaded = ux_elf_bytes_at(&elf, 0x9000);
	assert_true(loaded.size >= 20);
	assert_memory_equal(loaded.data, "a segment behind all", 20);
	const struct ux_elf_symbol *s = find_symbol(&elf, ".dynsym", "behind", &it);
	assert_non_null(s);
	assert_string_equal(s->home->name, ".late");
	make_elf_deinit(&m);
}

static void symbols_go_where_they_are_not_needed(void **state)
{
	(void)state;
	struct shape shape = {.bits = 64};
	struct ux_pair_options options = {.strip = UX_STRIP_UNNEEDED};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0}, debug = {0};
	struct ux_elf_symbols it;
	assert_int_equal(divide(make_linked(&m, &shape), &options, &parts, NULL), UX_OK);
	assert_int_equal(ux_elf_open(&elf, ux_out_bytes(&parts.stripped), NULL), UX_OK);
	assert_null(ux_elf_section_find(&elf, ".symtab"));
	assert_null(ux_elf_section_find(&elf, ".strtab"));
	assert_int_equal(ux_elf_open(&debug, ux_out_bytes(&parts.debug), NULL), UX_OK);
	assert_non_null(find_symbol(&debug, ".symtab", "main", &it));
	make_elf_deinit(&m);
}

static void build_id_is_added_to_both(void **state)
{
	(void)state;
	struct shape shape = {.bits = 64, .without = true};
	struct ux_pair_options options = {.add_build_id = true};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0}, debug = {0};
	struct ux_id_set a = {0}, b = {0};
	assert_int_equal(divide(make_linked(&m, &shape), &options, &parts, NULL), UX_OK);
	assert_int_equal(ux_elf_open(&elf, ux_out_bytes(&parts.stripped), NULL), UX_OK);
	assert_int_equal(ux_elf_open(&debug, ux_out_bytes(&parts.debug), NULL), UX_OK);
	assert_int_equal(ux_elf_ids(&elf, &a, NULL), UX_OK);
	assert_int_equal(ux_elf_ids(&debug, &b, NULL), UX_OK);
	assert_int_equal(a.size, 1);
	assert_true(ux_id_eq(&a.ids[0], &b.ids[0]));
	make_elf_deinit(&m);
}

static void debug_sections_are_compressed_and_inflated(void **state)
{
	(void)state;
	for (int i = UX_COMPRESS_NONE; i <= UX_COMPRESS_ZSTD; i++) {
		struct shape shape = {.bits = i == UX_COMPRESS_ZLIB ? 32 : 64,
				      .big = i == UX_COMPRESS_ZSTD};
		struct ux_pair_options options = {.compress = (enum ux_compress)i};
		struct make_elf m;
		ux_cleanup(parts_deinit) struct parts parts = {0};
		ux_cleanup(ux_elf_close) struct ux_elf debug = {0};
		struct ux_content content = {0};
		assert_int_equal(divide(make_linked(&m, &shape), &options, &parts, NULL), UX_OK);
		assert_int_equal(ux_elf_open(&debug, ux_out_bytes(&parts.debug), NULL), UX_OK);
		const struct ux_elf_section *s = ux_elf_section_find(&debug, ".debug_info");
		assert_int_equal((s->flags & SHF_COMPRESSED) != 0, i != UX_COMPRESS_NONE);
		assert_int_equal(ux_elf_section_load(&debug, s, 1 << 20, NULL, &content, NULL),
				 UX_OK);
		assert_int_equal(content.bytes.size, 4000);
		assert_int_equal(content.bytes.data[3999], 7);
		ux_content_free(&content);
		make_elf_deinit(&m);
	}
}

/* A relocatable file whose section symbols come after the symbol of the debug information. */
static struct ux_bytes make_relocatable(struct make_elf *m, unsigned bits, bool big)
{
	struct ux_out rel = {0};
	make_elf_init(m, bits, big);
	m->type = ET_REL;
	rel.swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	add_debug(m);
	uint32_t text = make_elf_section(m, (struct make_section){
						    .name = ".text",
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .content = UX_STR("\x55\x48\x89\xe5\x5d\xc3"),
					    });
	ux_out_uint(&rel, 2, bits / 8); /* r_offset */
	ux_out_uint(&rel, bits == 64 ? (uint64_t)2 << 32 | 1 : 2 << 8 | 1, bits / 8);
	make_elf_section(m, (struct make_section){.name = ".rel.text",
						  .type = SHT_REL,
						  .content = ux_out_bytes(&rel),
						  .link = text + 3, /* .strtab is before .symtab */
						  .info = text,
						  .entsize = bits / 4});
	ux_out_deinit(&rel);
	make_elf_symbol(m, (struct make_symbol){.section = 1, .type = STT_SECTION});
	make_elf_symbol(m, (struct make_symbol){.section = text, .type = STT_SECTION});
	make_elf_symbol(
		m, (struct make_symbol){
			   .name = "f", .section = text, .type = STT_FUNC, .bind = STB_GLOBAL});
	return make_elf_finish(m);
}

static void relocations_follow_their_symbols(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct ux_pair_options options = {.strip = i & 4 ? UX_STRIP_UNNEEDED
								 : UX_STRIP_DEBUG};
		struct make_elf m;
		ux_cleanup(parts_deinit) struct parts parts = {0};
		ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
		struct ux_error err = UX_ERROR_INIT;
		struct ux_elf_symbols it;
		struct ux_bytes bytes;
		unsigned bits = i & 1 ? 32 : 64;
		struct ux_bytes file = make_relocatable(&m, bits, (i & 2) != 0);
		if (divide(file, &options, &parts, &err) != UX_OK)
			fail_msg("%u: %s", i, err.text);
		assert_int_equal(ux_elf_open(&elf, ux_out_bytes(&parts.stripped), NULL), UX_OK);
		const struct ux_elf_section *r = ux_elf_section_find(&elf, ".rel.text");
		assert_int_equal(ux_elf_section_raw(&elf, r, &bytes, NULL), UX_OK);
		assert_string_equal(elf.sections[r->info].name, ".text");
		assert_string_equal(elf.sections[r->link].name, ".symtab");
		assert_int_equal(ux_relocation_symbol(&elf, bytes.data), 1);
		assert_int_equal(ux_elf_symbols_open(&elf, &elf.sections[r->link], &it, NULL),
				 UX_OK);
		assert_string_equal(ux_elf_symbols_at(&it, 1)->home->name, ".text");
		assert_string_equal(ux_elf_symbols_at(&it, 2)->name, "f");
		assert_int_equal(elf.sections[r->link].info, 2);
		make_elf_deinit(&m);
	}
}

static void what_cannot_be_divided_is_refused(void **state)
{
	(void)state;
	static const struct {
		struct shape shape;
		enum ux_code code;
		uint16_t type;
		const char *says;
	} cases[] = {
		{{.bits = 64, .no_debug = true}, UX_ENOTFOUND, ET_DYN, "has no debug information"},
		{{.bits = 64}, UX_EUNSUPPORTED, ET_CORE, "core dump"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_pair_options options = {0};
		struct make_elf m;
		ux_cleanup(parts_deinit) struct parts parts = {0};
		struct ux_error err = UX_ERROR_INIT;
		(void)make_linked(&m, &cases[i].shape);
		m.file.data[16] = (uint8_t)cases[i].type;
		assert_int_equal(divide(ux_out_bytes(&m.file), &options, &parts, &err),
				 cases[i].code);
		assert_non_null(strstr(err.text, cases[i].says));
		make_elf_deinit(&m);
	}
}

static void data_behind_the_sections_is_not_lost(void **state)
{
	(void)state;
	struct shape shape = {.bits = 64};
	struct ux_pair_options options = {0};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0};
	struct ux_error err = UX_ERROR_INIT;
	(void)make_linked(&m, &shape);
	ux_out_cstr(&m.file, "PK\3\4 an archive");
	assert_int_equal(divide(ux_out_bytes(&m.file), &options, &parts, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "belong to none"));
	make_elf_deinit(&m);
}

static void divided_file_is_not_divided_again(void **state)
{
	(void)state;
	struct shape shape = {.bits = 64};
	struct ux_pair_options options = {0};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0}, again = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(divide(make_linked(&m, &shape), &options, &parts, NULL), UX_OK);
	assert_int_equal(divide(ux_out_bytes(&parts.stripped), &options, &again, &err),
			 UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "already split"));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(divide(ux_out_bytes(&parts.debug), &options, &again, &err),
			 UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "debug file"));
	make_elf_deinit(&m);
}

static size_t sections_named(struct ux_bytes file, const char *name)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	size_t n = 0;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	for (size_t i = 1; i < elf.n_sections; i++)
		n += strcmp(elf.sections[i].name, name) == 0;
	return n;
}

/* Sets the size of the table of names to a part of it. */
static void cut_names(struct ux_bytes file, uint64_t size)
{
	enum {
		HEADERS = 0x28, /* in the file's header: offset of the section headers */
		NAMES = 0x3e,   /* and the number of the section with their names */
		HEADER = 64,    /* bytes of one */
		SIZE = 0x20,    /* in it: the size of the section */
	};
	uint8_t *bytes = (uint8_t *)(uintptr_t)file.data;
	uint64_t headers = 0;
	uint16_t number = 0;
	memcpy(&headers, bytes + HEADERS, sizeof(headers));
	memcpy(&number, bytes + NAMES, sizeof(number));
	memcpy(bytes + headers + number * HEADER + SIZE, &size, sizeof(size));
}

static void sections_without_a_name_do_not_get_that_of_a_new_section(void **state)
{
	(void)state;
	const struct ux_pair_options options = {.strip = UX_STRIP_UNNEEDED, .add_build_id = true};
	for (uint64_t size = 0; size < 8; size++) { /* up to the middle of the first name */
		struct shape shape = {.bits = 64, .without = true};
		struct make_elf m;
		ux_cleanup(parts_deinit) struct parts parts = {0};
		ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
		struct ux_debuglink link;
		struct ux_bytes file = make_linked(&m, &shape);
		cut_names(file, size);
		struct ux_error err = UX_ERROR_INIT;
		if (divide(file, &options, &parts, &err) != UX_OK)
			fail_msg("%d: %s", (int)size, err.text);
		struct ux_bytes stripped = ux_out_bytes(&parts.stripped);
		assert_int_equal(sections_named(stripped, ".gnu_debuglink"), 1);
		assert_int_equal(sections_named(stripped, ".note.gnu.build-id"), 1);
		assert_int_equal(sections_named(ux_out_bytes(&parts.debug), ".note.gnu.build-id"),
				 1);
		assert_int_equal(ux_elf_open(&elf, stripped, NULL), UX_OK);
		assert_int_equal(ux_debuglink_read(&elf, &link, NULL), UX_OK);
		assert_string_equal(link.name, "app.debug");
		make_elf_deinit(&m);
	}
}

static void loaded_section_with_the_name_of_the_link_is_refused(void **state)
{
	(void)state;
	const struct ux_pair_options options = {0};
	struct make_elf m;
	ux_cleanup(parts_deinit) struct parts parts = {0};
	struct ux_error err = UX_ERROR_INIT;
	make_elf_init(&m, 64, /* big= */ false);
	make_elf_note(&m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, ux_bytes(id, sizeof(id)));
	uint32_t text = make_elf_section(&m, (struct make_section){
						     .name = ".gnu_debuglink",
						     .flags = SHF_ALLOC,
						     .addr = 0x1000,
						     .content = UX_STR("abc"),
					     });
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD, .first = text, .last = text});
	add_debug(&m);
	assert_int_equal(divide(make_elf_finish(&m), &options, &parts, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "must stay"));
	make_elf_deinit(&m);
}

static void divide_damaged(struct ux_bytes file, void *ctx)
{
	ux_cleanup(parts_deinit) struct parts parts = {0};
	(void)!divide(file, ctx, &parts, NULL);
	assert_true(parts.stripped.size <= 2 * file.size + 4096);
}

static void damaged_files_are_answered(void **state)
{
	(void)state;
	struct ux_pair_options options = {
		.strip = UX_STRIP_UNNEEDED, .compress = UX_COMPRESS_ZLIB, .add_build_id = true};
	struct make_elf m;
	struct ux_bytes file = make_relocatable(&m, 32, true);
	each_prefix(file, divide_damaged, &options);
	each_bit_flip(file, divide_damaged, &options);
	make_elf_deinit(&m);
	file = make_linked(&m, &(struct shape){.bits = 64, .late = true});
	each_byte_extreme(file, divide_damaged, &options);
	make_elf_deinit(&m);
}

static enum ux_code divide_without_memory(void *ctx)
{
	struct ux_pair_options options = {.add_build_id = true};
	ux_cleanup(parts_deinit) struct parts parts = {0};
	return divide(*(struct ux_bytes *)ctx, &options, &parts, NULL);
}

static void every_failed_allocation_is_told(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_bytes file = make_linked(&m, &(struct shape){.bits = 64, .late = true});
	assert_true(each_failed_alloc(divide_without_memory, &file, false) > 10);
	make_elf_deinit(&m);
}

UX_SUITE(elf_pair)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_class_and_byte_order_is_divided),
		UX_TEST(segment_behind_the_debug_information_moves),
		UX_TEST(symbols_go_where_they_are_not_needed),
		UX_TEST(build_id_is_added_to_both),
		UX_TEST(debug_sections_are_compressed_and_inflated),
		UX_TEST(relocations_follow_their_symbols),
		UX_TEST(what_cannot_be_divided_is_refused),
		UX_TEST(data_behind_the_sections_is_not_lost),
		UX_TEST(divided_file_is_not_divided_again),
		UX_TEST(sections_without_a_name_do_not_get_that_of_a_new_section),
		UX_TEST(loaded_section_with_the_name_of_the_link_is_refused),
		UX_TEST(damaged_files_are_answered),
		UX_TEST(every_failed_allocation_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
