/* SPDX-License-Identifier: Apache-2.0 */
/* What the installed headers promise, through them alone. */
#include "sweep.h"

#include <unhex/unhex.h>

#include <errno.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_cubin.h"
#include "make_elf.h"
#include "make_fatbin.h"
#include "make_gsym.h"
#include "make_macho.h"

#define BUILD_ID \
	UX_STR("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67")

/* Two functions at 0x1000 ("first", also "again", 32 bytes) and 0x1020 ("_Z6secondv", 16 bytes). */
static struct ux_bytes make_binary(struct make_elf *m, uint8_t id_byte)
{
	static uint8_t id[20];
	static const uint8_t code[64];
	make_elf_init(m, 64, false);
	memcpy(id, BUILD_ID.data, sizeof(id));
	id[0] = id_byte;
	make_elf_note(m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, ux_bytes(id, sizeof(id)));
	uint32_t text =
		make_elf_section(m, (struct make_section){.name = ".text",
							  .flags = SHF_ALLOC | SHF_EXECINSTR,
							  .addr = 0x1000,
							  .content = ux_bytes(code, 64)});
	make_elf_segment(
		m, (struct make_segment){
			   .type = PT_LOAD, .flags = PF_R | PF_X, .first = text, .last = text});
	make_elf_symbol(m, (struct make_symbol){.name = "first",
						.value = 0x1000,
						.size = 32,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	make_elf_symbol(m, (struct make_symbol){.name = "again",
						.value = 0x1000,
						.size = 32,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_WEAK});
	make_elf_symbol(m, (struct make_symbol){.name = "_Z6secondv",
						.value = 0x1020,
						.size = 16,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	return make_elf_finish(m);
}

static struct ux_input input_of(struct ux_bytes bytes)
{
	return ux_input_memory(bytes.data, bytes.size);
}

static struct ux_input example(void)
{
	return ux_input_memory(make_gsym_example, sizeof(make_gsym_example));
}

static struct ux_module *open_example(void)
{
	struct ux_module *m = NULL;
	struct ux_input in = example();
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
	return m;
}

/* --- modules -------------------------------------------------------------------------------- */

static void a_gsym_in_memory_is_looked_up(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	struct ux_frame f[UX_FRAMES_MOST];
	size_t n = 0;
	assert_int_equal(ux_module_lookup(m, 0x401002, 0, f, UX_FRAMES_MOST, &n, NULL), UX_OK);
	assert_int_equal(n, 2);
	assert_string_equal(f[0].function, "sq");
	assert_int_equal(f[0].line, 2);
	assert_true(f[0].inlined);
	assert_string_equal(f[1].function, "f");
	assert_int_equal(f[1].line, 8);
	assert_false(f[1].inlined);
	assert_string_equal(ux_module_build_id(m), "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874");
	ux_module_close(m);
}

static void a_return_address_names_the_call_before_it(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	struct ux_frame f[4];
	size_t n = 77;
	assert_int_equal(ux_module_lookup(m, 0x401007, UX_LOOKUP_RETURN_ADDRESS, f, 4, &n, NULL),
			 UX_OK);
	assert_int_equal(n, 1);
	assert_string_equal(f[0].function, "f");
	assert_int_equal(f[0].offset, 6);
	n = 77;
	assert_int_equal(ux_module_lookup(m, 0x401000, UX_LOOKUP_RETURN_ADDRESS, f, 4, &n, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ux_module_lookup(m, 0, UX_LOOKUP_RETURN_ADDRESS, f, 4, &n, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(n, 77);
	ux_module_close(m);
}

static void unknown_flags_are_refused(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	struct ux_error err = UX_ERROR_INIT;
	struct ux_frame f[4];
	struct ux_frame_span span;
	uint64_t pc = 0x401000;
	size_t n = 0;
	assert_int_equal(ux_module_lookup(m, pc, 2, f, 4, &n, &err), UX_EINVAL);
	assert_string_equal(err.text, "unknown flag in 0x2");
	assert_int_equal(ux_module_lookup_many(m, &pc, 1, 4, &span, f, 4, &n, NULL), UX_EINVAL);
	assert_int_equal(ux_module_lookup_each(m, &pc, 1, 4, NULL, NULL, NULL), UX_EINVAL);
	ux_module_close(m);
}

static bool add_lines(void *ctx, size_t index, const struct ux_frame *frames, size_t n)
{
	unsigned *lines = ctx;
	lines[index] = n > 0 ? frames[n - 1].line : 0;
	return index != 3;
}

static void many_addresses_are_looked_up_at_once(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	const uint64_t pcs[] = {0x401007, 0x401002, 0x500000, 0x401002};
	struct ux_frame_span spans[4];
	struct ux_frame f[3];
	size_t n = 0;
	assert_int_equal(ux_module_lookup_many(m, pcs, 4, 0, spans, f, 3, &n, NULL), UX_OK);
	assert_int_equal(n, 3);
	assert_int_equal(spans[1].n, 2);
	assert_int_equal(spans[1].first, spans[3].first);
	assert_int_equal(spans[2].n, 0);
	assert_string_equal(f[spans[0].first].function, "_start");
	assert_int_equal(ux_module_lookup_many(m, pcs, 4, 0, spans, f, 2, &n, NULL), UX_ELIMIT);
	assert_int_equal(n, 3);
	assert_int_equal(
		ux_module_lookup_many(m, pcs, 1, UX_LOOKUP_RETURN_ADDRESS, spans, f, 3, &n, NULL),
		UX_OK);
	assert_string_equal(f[spans[0].first].function, "f");

	unsigned lines[4] = {0};
	assert_int_equal(ux_module_lookup_each(m, pcs, 3, 0, add_lines, lines, NULL), UX_OK);
	assert_int_equal(lines[0], 13);
	assert_int_equal(lines[1], 8);
	assert_int_equal(lines[2], 0);
	ux_module_close(m);
}

static void a_module_tells_how_much_it_knows(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	struct ux_counts counts;
	enum ux_quality quality = UX_QUALITY_NONE;
	assert_int_equal(ux_module_measure(m, &quality, &counts, NULL), UX_OK);
	assert_int_equal(quality, UX_QUALITY_INLINES);
	assert_int_equal(counts.functions, 2);
	assert_int_equal(counts.inlines, 1);
	assert_int_equal(counts.rows, 5);
	assert_int_equal(counts.code_bytes, 18);
	assert_int_equal(ux_module_measure(m, &quality, NULL, NULL), UX_OK);
	ux_module_close(m);
}

static void an_elf_file_is_a_module_too(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_module *m = NULL;
	struct ux_frame f[4];
	enum ux_quality quality = UX_QUALITY_NONE;
	size_t n = 0;
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
	make_elf_deinit(&elf); /* what was extracted needs it no more */
	assert_int_equal(ux_module_lookup(m, 0x1021, 0, f, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_string_equal(f[0].function, "_Z6secondv");
	assert_string_equal(f[0].base, "");
	assert_int_equal(f[0].offset, 1);
	assert_string_equal(ux_module_build_id(m), "gnu:0123456789abcdef0123456789abcdef01234567");
	assert_int_equal(ux_module_measure(m, &quality, NULL, NULL), UX_OK);
	assert_int_equal(quality, UX_QUALITY_SYMTAB);
	ux_module_close(m);
}

static void an_index_changes_no_answer(void **state)
{
	(void)state;
	struct ux_module *m = NULL;
	struct ux_module_opts opts = {.size = sizeof(opts), .flags = UX_MODULE_INDEX};
	struct ux_input in = example();
	struct ux_frame f[4];
	size_t n = 0;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_OK);
	assert_int_equal(ux_module_lookup(m, 0x401002, 0, f, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 2);
	assert_string_equal(f[0].function, "sq");
	ux_module_close(m);
	m = NULL;
	opts.flags = 4;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	assert_null(m);
}

static void what_is_no_module_is_named(void **state)
{
	(void)state;
	struct ux_module *m = NULL;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_input in = ux_input_memory("text", 4);
	assert_int_equal(ux_module_open(&in, NULL, &m, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "is no ELF, Mach-O or GSYM file");
	in = ux_input_path("/nonexistent/file");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_module_open(&in, NULL, &m, &err), UX_ENOTFOUND);
	assert_int_equal(err.os_errno, ENOENT);
	in = ux_input_memory(NULL, 4);
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_EINVAL);
	assert_int_equal(ux_module_open(NULL, NULL, &m, NULL), UX_EINVAL);
	in = ux_input_memory(make_gsym_example, 40);
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_ECORRUPT);
	assert_null(m);
	ux_module_close(NULL);
}

static enum ux_code open_elf_once(void *ctx)
{
	struct ux_module *m = NULL;
	struct ux_extract_opts extract = {.size = sizeof(extract), .threads = 1};
	struct ux_module_opts opts = {.size = sizeof(opts), .extract = &extract};
	enum ux_code code = ux_module_open(ctx, &opts, &m, NULL);
	ux_module_close(m);
	return code;
}

static void opening_without_memory_says_so(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_input in = input_of(make_binary(&elf, 0x01)), gsym = example();
	assert_true(each_failed_alloc(open_elf_once, &in, /* may_recover= */ true) > 5);
	assert_int_equal(each_failed_alloc(open_elf_once, &gsym, /* may_recover= */ false), 2);
	make_elf_deinit(&elf);
}

/* --- structs that grow ----------------------------------------------------------------------- */

static void options_of_other_versions_are_taken_when_they_say_nothing_new(void **state)
{
	(void)state;
	struct {
		struct ux_extract_opts opts;
		uint64_t new_option;
	} newer = {.opts = {.size = sizeof(newer), .threads = 1}};
	struct ux_module_opts opts = {.size = sizeof(opts), .extract = &newer.opts};
	struct make_elf elf;
	struct ux_module *m = NULL;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_OK);
	ux_module_close(m);
	newer.new_option = (uint64_t)1 << 56;
	assert_int_equal(ux_module_open(&in, &opts, &m, &err), UX_EINVAL);
	assert_string_equal(err.text, "option at byte 111 is set; this version knows 104");
	newer.opts.size = 8;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	opts.size = 0;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	newer.opts = (struct ux_extract_opts){.size = sizeof(newer.opts), .flags = 0x80};
	opts.size = sizeof(opts);
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	make_elf_deinit(&elf);
}

/* --- extraction ------------------------------------------------------------------------------ */

struct received {
	uint8_t bytes[4096];
	size_t size;
	enum ux_code answer;
};

static enum ux_code receive(void *ctx, const void *data, size_t size)
{
	struct received *r = ctx;
	if (r->answer != UX_OK)
		return r->answer;
	assert_true(size <= sizeof(r->bytes) - r->size);
	memcpy(r->bytes + r->size, data, size);
	r->size += size;
	return UX_OK;
}

static void a_function_receives_what_is_extracted(void **state)
{
	(void)state;
	struct make_elf elf;
	struct received got = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	struct {
		struct ux_extract_result result;
		uint64_t mine;
	} newer = {.result = {.size = sizeof(newer)}, .mine = 7};
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, NULL, &newer.result, NULL), UX_OK);
	assert_int_equal(newer.result.gsym_bytes, got.size);
	assert_int_equal(newer.result.quality, UX_QUALITY_SYMTAB);
	assert_int_equal(newer.result.counts.functions, 2);
	assert_int_equal(newer.result.size, sizeof(newer));
	assert_int_equal(newer.mine, 7);
	newer.result.size = 8;
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, NULL, &newer.result, NULL),
			 UX_EINVAL);
	got.answer = UX_EUNAVAILABLE;
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, NULL, NULL, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "the output function ended the extraction");
	make_elf_deinit(&elf);
}

static void the_version_of_gsym_can_be_requested(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	for (unsigned version = 1; version <= 2; version++) {
		struct received got = {.size = 0};
		struct ux_extract_opts opts = {.size = sizeof(opts),
					       .flags = version == 1 ? UX_EXTRACT_GSYM_1
								     : UX_EXTRACT_GSYM_2};
		struct ux_frame f[4];
		struct ux_module *m = NULL;
		size_t n = 0;
		assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, NULL, NULL), UX_OK);
		assert_int_equal(got.bytes[4], version);
		struct ux_input made = ux_input_memory(got.bytes, got.size);
		assert_int_equal(ux_module_open(&made, NULL, &m, NULL), UX_OK);
		assert_int_equal(ux_module_lookup(m, 0x1021, 0, f, 4, &n, NULL), UX_OK);
		assert_string_equal(f[0].function, "_Z6secondv");
		ux_module_close(m);
	}
	struct ux_extract_opts both = {.size = sizeof(both),
				       .flags = UX_EXTRACT_GSYM_1 | UX_EXTRACT_GSYM_2};
	struct received got = {.size = 0};
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &both, NULL, &err), UX_EINVAL);
	assert_string_equal(err.text, "two versions of GSYM are requested");
	make_elf_deinit(&elf);
}

static void other_names_are_reported_when_they_were_kept(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_extract_opts extract = {.size = sizeof(extract),
					  .flags = UX_EXTRACT_ALTERNATIVES};
	struct ux_module_opts opts = {.size = sizeof(opts), .extract = &extract};
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	struct ux_module *m = NULL;
	const char *names[4];
	size_t n = 77;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_OK);
	assert_int_equal(ux_module_alternatives(m, 0x101f, 0, names, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_string_equal(names[0], "again");
	assert_int_equal(
		ux_module_alternatives(m, 0x1020, UX_LOOKUP_RETURN_ADDRESS, names, 0, &n, NULL),
		UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ux_module_alternatives(m, 0x1020, 0, names, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	n = 77;
	assert_int_equal(ux_module_alternatives(m, 0x2000, 0, names, 4, &n, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_module_alternatives(m, 0, UX_LOOKUP_RETURN_ADDRESS, names, 4, &n, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ux_module_alternatives(m, 0x1000, 2, names, 4, &n, NULL), UX_EINVAL);
	assert_int_equal(n, 77);
	ux_module_close(m);
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
	assert_int_equal(ux_module_alternatives(m, 0x101f, 0, names, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	ux_module_close(m);
	make_elf_deinit(&elf);
}

/* Byte for byte, as the answers of lookups say it; structs of other versions are filled as far as
 * they go. */
static void the_function_at_an_address_has_a_name_a_start_and_a_size(void **state)
{
	(void)state;
	struct ux_gsym_function functions[] = {{.start = 0x1000, .size = 0x20, .name = 1},
					       {.start = 0x1040, .size = 8, .name = 3}};
	struct ux_gsym_file_entry none = {0, 0};
	struct make_gsym made = {.functions = functions,
				 .n_functions = 2,
				 .files = &none,
				 .n_files = 1,
				 .strings = UX_STR("\0f\0g\0")};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_module *m = NULL;
	assert_int_equal(make_gsym_write(&made, &out), UX_OK);
	struct ux_input in = ux_input_memory(out.data, out.size);
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
	struct {
		struct ux_function function;
		uint64_t more; /* a field of a later version */
	} later = {.function.size = sizeof(later), .more = 77};
	struct ux_function f = {.size = sizeof(f), .start = 77};
	assert_int_equal(ux_module_function(m, 0x101f, 0, &f, NULL), UX_OK);
	assert_string_equal(f.name, "f");
	assert_int_equal(f.start, 0x1000);
	assert_int_equal(f.bytes, 0x20);
	assert_int_equal(ux_module_function(m, 0x1020, 0, &f, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_module_function(m, 0, UX_LOOKUP_RETURN_ADDRESS, &f, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ux_module_function(m, 0x1000, 2, &f, NULL), UX_EINVAL);
	assert_int_equal(f.start, 0x1000);
	assert_int_equal(
		ux_module_function(m, 0x1048, UX_LOOKUP_RETURN_ADDRESS, &later.function, NULL),
		UX_OK);
	assert_string_equal(later.function.name, "g");
	assert_int_equal(later.function.bytes, 8);
	assert_int_equal(later.more, 77);
	f.size = sizeof(f) - 8;
	assert_int_equal(ux_module_function(m, 0x1000, 0, &f, NULL), UX_EINVAL);
	ux_module_close(m);
}

static void build_ids_of_any_length_are_read_or_none(void **state)
{
	(void)state;
	static const uint8_t id[65] = {0xab};
	static const size_t sizes[] = {20, 32, 64, 65};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		struct ux_gsym_function f = {.start = 0x1000, .size = 8, .name = 1};
		struct ux_gsym_file_entry none = {0, 0};
		struct make_gsym made = {.uuid = ux_bytes(id, sizes[i]),
					 .functions = &f,
					 .n_functions = 1,
					 .files = &none,
					 .n_files = 1,
					 .strings = UX_STR("\0f\0")};
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_module *m = NULL;
		assert_int_equal(make_gsym_write(&made, &out), UX_OK);
		struct ux_input in = ux_input_memory(out.data, out.size);
		assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
		const char *text = ux_module_build_id(m);
		assert_int_equal(strlen(text), sizes[i] > 64 ? 0 : 4 + 2 * sizes[i]);
		assert_true(sizes[i] > 64 || strncmp(text, "gnu:ab00", 8) == 0);
		ux_module_close(m);
	}
}

static void a_debug_file_belongs_to_its_binary(void **state)
{
	(void)state;
	struct make_elf elf, other;
	struct received got = {.size = 0};
	struct ux_input in = input_of(make_binary(&elf, 0x01));
	struct ux_extract_opts opts = {.size = sizeof(opts),
				       .debug = input_of(make_binary(&other, 0x02))};
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, NULL, NULL), UX_ECONFLICT);
	opts.flags = UX_EXTRACT_ALLOW_MISMATCH | UX_EXTRACT_NO_DWARF;
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, NULL, NULL), UX_OK);
	opts.debug = ux_input_memory("text", 4);
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, NULL, NULL), UX_EUNSUPPORTED);
	opts.debug = ux_input_path("/nonexistent/file");
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, NULL, NULL), UX_ENOTFOUND);
	make_elf_deinit(&elf);
	make_elf_deinit(&other);
}

/* A tree of build IDs with one file. */
static void put_in_tree(const char *folder, struct ux_bytes file, char *path, size_t size)
{
	char hex[2 * 20 + 1];
	uint8_t id[20];
	memcpy(id, BUILD_ID.data, sizeof(id));
	id[0] = 0x01;
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, size, "%s/.build-id", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, size, "%s/.build-id/%.2s", folder, hex);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, size, "%s/.build-id/%.2s/%s.debug", folder, hex, hex + 2);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(file.data, 1, file.size, f), file.size);
	assert_int_equal(fclose(f), 0);
}

static void a_debug_file_is_found_by_its_build_id_when_requested(void **state)
{
	(void)state;
	char folder[] = "/tmp/unhex-public-XXXXXX", path[256];
	struct make_elf bare, full;
	struct received got = {.size = 0};
	struct ux_extract_result result = {.size = sizeof(result)};
	uint8_t id[20];
	assert_non_null(mkdtemp(folder));
	memcpy(id, BUILD_ID.data, sizeof(id));
	id[0] = 0x01;
	make_elf_init(&bare, 64, false);
	make_elf_note(&bare, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID,
		      ux_bytes(id, sizeof(id)));
	make_elf_section(&bare, (struct make_section){.name = ".text",
						      .flags = SHF_ALLOC | SHF_EXECINSTR,
						      .addr = 0x1000,
						      .content = UX_STR("0123456789abcdef")});
	struct ux_input in = input_of(make_elf_finish(&bare));
	put_in_tree(folder, make_binary(&full, 0x01), path, sizeof(path));
	struct ux_extract_opts opts = {.size = sizeof(opts), .debug_dirs = folder};
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, &result, NULL), UX_ENOTFOUND);
	opts.flags = UX_EXTRACT_FIND_DEBUG;
	assert_int_equal(ux_extract_to_fn(&in, receive, &got, &opts, &result, NULL), UX_OK);
	assert_int_equal(result.found[UX_SOURCE_SYMTAB], 2); /* the third is outside */
	assert_int_equal(result.text_bytes, 16);
	assert_int_equal(result.bad_sources, 0);
	unlink(path);
	for (char *slash; (slash = strrchr(path, '/')) && strlen(path) > strlen(folder);) {
		*slash = '\0';
		rmdir(path);
	}
	make_elf_deinit(&bare);
	make_elf_deinit(&full);
}

static size_t files_in(const char *folder)
{
	char pattern[128];
	glob_t found;
	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	int failed = glob(pattern, 0, NULL, &found);
	size_t n = failed ? 0 : found.gl_pathc;
	globfree(&found);
	return n;
}

static void a_path_gets_all_or_nothing(void **state)
{
	(void)state;
	char folder[] = "/tmp/unhex-public-XXXXXX", path[64];
	struct make_elf elf;
	struct ux_module *m = NULL;
	struct stat st;
	struct ux_extract_result result = {.size = sizeof(result)};
	struct ux_input in = input_of(make_binary(&elf, 0x01)), text = ux_input_memory("text", 4);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/out.gsym", folder);
	assert_int_equal(ux_extract_to_path(&text, path, NULL, NULL, NULL), UX_EUNSUPPORTED);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(ux_extract_to_path(&in, path, NULL, &result, NULL), UX_OK);
	assert_int_equal(files_in(folder), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, result.gsym_bytes);
	struct ux_input made = ux_input_path(path);
	assert_int_equal(ux_module_open(&made, NULL, &m, NULL), UX_OK);
	ux_module_close(m);
	snprintf(path, sizeof(path), "%s/no/out.gsym", folder);
	assert_int_equal(ux_extract_to_path(&in, path, NULL, NULL, NULL), UX_ENOTFOUND);
	snprintf(path, sizeof(path), "%s/out.gsym", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	make_elf_deinit(&elf);
}

/* --- identities, names, version --------------------------------------------------------------- */

static void identities_are_text(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_ids ids;
	struct ux_input in = input_of(make_binary(&elf, 0x01)), text = ux_input_memory("text", 4);
	assert_int_equal(ux_ids_read(&in, &ids, NULL), UX_OK);
	assert_int_equal(ids.n, 2);
	assert_string_equal(ids.text[0], "gnu:0123456789abcdef0123456789abcdef01234567");
	assert_int_equal(strncmp(ids.text[1], "file:", 5), 0);
	assert_int_equal(strlen(ids.text[1]), 5 + 32);
	assert_int_equal(ux_ids_read(&text, &ids, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ids.n, 2);
	make_elf_deinit(&elf);
}

/* Three rows of one kernel; what CUPTI hands to a profiler is such bytes. */
static struct ux_bytes make_kernel(struct make_cubin *m, uint64_t *ret_off)
{
	make_cubin_init(m, 90, /* cuda12= */ false);
	uint32_t section = make_cubin_section(m, ".text.k", 0x80);
	uint32_t k = make_cubin_function(m, "k", section, 0, 0x80);
	make_cubin_lines_begin(m, (const char *const[]){"/src", NULL},
			       (const char *const[]){"k.cu", NULL}, (const uint8_t[]){1});
	make_cubin_sequence(m, k);
	make_cubin_row(m, 0, 1, 7);
	make_cubin_inlined(m, 1, "in");
	make_cubin_row(m, 0x10, 1, 3);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_lines_end(m);
	struct ux_bytes file = make_cubin_finish(m);
	*ret_off = m->elf.sections.data[section].off;
	return file;
}

static void cubin_in_memory_is_a_module(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_ids ids;
	struct ux_module *module = NULL;
	struct ux_frame frames[UX_FRAMES_MOST];
	uint64_t off = 0;
	size_t n = 0;
	struct ux_input in = input_of(make_kernel(&m, &off));
	assert_int_equal(ux_ids_read(&in, &ids, NULL), UX_OK);
	assert_int_equal(ids.n, 2);
	assert_int_equal(strncmp(ids.text[1], "cubin-crc:", 10), 0);
	assert_int_equal(ux_module_open(&in, NULL, &module, NULL), UX_OK);
	assert_int_equal(ux_module_lookup(module, off + 0x20, 0, frames, UX_FRAMES_MOST, &n, NULL),
			 UX_OK);
	assert_int_equal(n, 2);
	assert_string_equal(frames[0].function, "in");
	assert_int_equal(frames[0].line, 3);
	assert_string_equal(frames[1].function, "k");
	assert_int_equal(frames[1].line, 7);
	ux_module_close(module);
	make_cubin_deinit(&m);
}

static void gpu_code_of_a_fat_binary_is_chosen(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	struct ux_extract_opts opts = {.size = sizeof(opts), .gpu = "sm_90"};
	struct ux_module_opts how = {.size = sizeof(how), .extract = &opts};
	struct ux_module *module = NULL;
	uint64_t off = 0;
	struct ux_bytes cubin = make_kernel(&m, &off);
	size_t at = make_fatbin_begin(&fat);
	for (uint32_t arch = 80; arch <= 90; arch += 10)
		make_fatbin_add(&fat, &(struct make_fatbin_entry){.arch = arch, .content = cubin});
	make_fatbin_end(&fat, at);
	struct ux_input in = input_of(ux_out_bytes(&fat));
	assert_int_equal(ux_module_open(&in, &how, &module, NULL), UX_OK);
	ux_module_close(module);
	opts.gpu = "sm_70";
	assert_int_equal(ux_module_open(&in, &how, &module, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_module_open(&in, NULL, &module, NULL), UX_ECONFLICT);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

/* A fat binary with the cubin, packed, and PTX. */
static struct ux_bytes make_pieces(struct ux_out *fat, struct ux_bytes cubin)
{
	size_t at = make_fatbin_begin(fat);
	make_fatbin_add(fat,
			&(struct make_fatbin_entry){
				.arch = 90, .flags = 0x2000, .name = "k.cu", .content = cubin});
	make_fatbin_add(fat, &(struct make_fatbin_entry){.kind = 1,
							 .arch = 80,
							 .content = UX_STR(".version 9.0\n//\n")});
	make_fatbin_end(fat, at);
	return ux_out_bytes(fat);
}

static enum ux_code collect(void *ctx, const void *data, size_t size)
{
	ux_out_put(ctx, data, size);
	return UX_OK;
}

static enum ux_code refuse(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return UX_EDENIED;
}

static bool count_function(void *ctx, const struct ux_gpu_function *f)
{
	uint64_t *starts = ctx;
	assert_string_equal(f->name, "k");
	assert_true(f->kernel);
	assert_int_equal(f->size, 0x80);
	assert_int_equal(f->index, 1);
	starts[0]++;
	starts[1] = f->start;
	return true;
}

static void gpu_code_is_reported_piece_by_piece(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0}, content = {0};
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	struct ux_ids ids, same;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t off = 0, walked[2] = {0};
	struct ux_bytes cubin = make_kernel(&m, &off);
	struct ux_input in = input_of(make_pieces(&fat, cubin)), alone = input_of(cubin);
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 2);
	assert_int_equal(ux_gpu_damaged(gpu, &err), 0);
	assert_int_equal(err.code, UX_OK);
	assert_int_equal(ux_gpu_piece_at(gpu, 0, &piece, NULL), UX_OK);
	assert_int_equal(piece.number, 1);
	assert_int_equal(piece.kind, UX_GPU_CUBIN);
	assert_string_equal(piece.arch, "sm_90");
	assert_string_equal(piece.name, "k.cu");
	assert_int_equal(piece.off, 16);
	assert_int_equal(piece.bytes, cubin.size);
	assert_int_equal(ux_gpu_ids(gpu, 0, &ids, NULL), UX_OK);
	assert_int_equal(ux_ids_read(&alone, &same, NULL), UX_OK);
	assert_memory_equal(&ids, &same, sizeof(ids));
	assert_int_equal(ux_gpu_functions(gpu, 0, count_function, walked, NULL), UX_OK);
	assert_int_equal(walked[0], 1);
	assert_int_equal(walked[1], off);
	assert_int_equal(ux_gpu_content(gpu, 0, collect, &content, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&content), cubin));
	assert_int_equal(ux_gpu_content(gpu, 0, refuse, NULL, NULL), UX_EDENIED);
	ux_gpu_close(gpu);
	ux_gpu_close(NULL);
	ux_out_deinit(&content);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static void ptx_is_reported_as_what_it_is(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0}, content = {0};
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	struct ux_ids ids;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t off = 0;
	struct ux_input in = input_of(make_pieces(&fat, make_kernel(&m, &off)));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_piece_at(gpu, 1, &piece, NULL), UX_OK);
	assert_int_equal(piece.kind, UX_GPU_PTX);
	assert_string_equal(piece.arch, "compute_80");
	assert_string_equal(piece.name, "");
	assert_string_equal(ux_gpu_kind_name((enum ux_gpu_kind)piece.kind), "ptx");
	assert_int_equal(ux_gpu_ids(gpu, 1, &ids, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "GPU code 2 is ptx: expected a cubin, which has addresses");
	assert_int_equal(ux_gpu_functions(gpu, 1, count_function, NULL, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_gpu_content(gpu, 1, collect, &content, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&content), UX_STR(".version 9.0\n//\n")));
	assert_int_equal(ux_gpu_piece_at(gpu, 2, &piece, NULL), UX_EINVAL);
	piece.size = 8;
	assert_int_equal(ux_gpu_piece_at(gpu, 1, &piece, NULL), UX_EINVAL);
	ux_gpu_close(gpu);
	ux_out_deinit(&content);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static void cubin_alone_is_its_own_piece_and_other_files_have_none(void **state)
{
	(void)state;
	struct make_cubin m;
	struct make_elf elf;
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	uint64_t off = 0, walked[2] = {0};
	struct ux_input in = input_of(make_kernel(&m, &off));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 1);
	assert_int_equal(ux_gpu_piece_at(gpu, 0, &piece, NULL), UX_OK);
	assert_string_equal(piece.arch, "sm_90");
	assert_int_equal(ux_gpu_functions(gpu, 0, count_function, walked, NULL), UX_OK);
	assert_int_equal(walked[0], 1);
	ux_gpu_close(gpu);
	make_cubin_deinit(&m);
	in = input_of(make_binary(&elf, 1));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	ux_gpu_close(gpu);
	make_elf_deinit(&elf);
	in = input_of(UX_STR("neither"));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	ux_gpu_close(gpu);
}

static void walk_pieces(struct ux_bytes input, void *ctx)
{
	struct ux_input in = input_of(input);
	struct ux_gpu *gpu = NULL;
	(void)ctx;
	if (ux_gpu_open(&in, &gpu, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < ux_gpu_count(gpu); i++) {
		struct ux_gpu_piece piece = {.size = sizeof(piece)};
		struct ux_ids ids;
		ux_cleanup(ux_out_deinit) struct ux_out content = {0};
		assert_int_equal(ux_gpu_piece_at(gpu, i, &piece, NULL), UX_OK);
		assert_non_null(piece.name);
		(void)!ux_gpu_ids(gpu, i, &ids, NULL);
		(void)!ux_gpu_content(gpu, i, collect, &content, NULL);
	}
	ux_gpu_close(gpu);
}

static void damaged_gpu_code_is_read_cleanly(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	uint64_t off = 0;
	struct ux_bytes file = make_pieces(&fat, make_kernel(&m, &off));
	each_prefix(file, walk_pieces, NULL);
	each_bit_flip(file, walk_pieces, NULL);
	fat.data[0x18] = 0xff; /* the first entry leaves the container */
	fat.data[0x1c] = 0xff;
	struct ux_input in = input_of(ux_out_bytes(&fat));
	struct ux_gpu *gpu = NULL;
	struct ux_error first;
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	assert_int_equal(ux_gpu_damaged(gpu, &first), 1);
	assert_int_equal(first.code, UX_ECORRUPT);
	ux_gpu_close(gpu);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static enum ux_code open_pieces(void *ctx)
{
	struct ux_gpu *gpu = NULL;
	enum ux_code code = ux_gpu_open(ctx, &gpu, NULL);
	ux_gpu_close(gpu);
	return code;
}

static void lack_of_memory_for_pieces_is_reported(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	uint64_t off = 0;
	struct ux_input in = input_of(make_pieces(&fat, make_kernel(&m, &off)));
	assert_true(each_failed_alloc(open_pieces, &in, /* may_recover= */ false) > 3);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static void functions_are_found_by_name(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_module_opts opts = {.size = sizeof(opts)};
	struct ux_input in = input_of(make_binary(&elf, 1));
	for (uint64_t flags = 0; flags <= UX_MODULE_NAMES; flags += UX_MODULE_NAMES) {
		struct ux_module *module = NULL;
		struct ux_error err = UX_ERROR_INIT;
		uint64_t pc = 7;
		opts.flags = flags;
		assert_int_equal(ux_module_open(&in, &opts, &module, NULL), UX_OK);
		assert_int_equal(ux_module_find(module, "nothing", 0, &pc, &err), UX_ENOTFOUND);
		assert_int_equal(pc, 7);
		assert_string_equal(err.text, "no function is named \"nothing\"");
		assert_int_equal(ux_module_find(module, "_Z6secondv", 4, &pc, NULL), UX_OK);
		assert_int_equal(pc, 0x1024);
		ux_module_close(module);
	}
	make_elf_deinit(&elf);
}

/* A slice with one function at 0x1100. */
static struct make_macho_slice make_slice(struct make_macho *m, uint32_t cpu, const char *function)
{
	make_macho_init(m, 64, false);
	m->cpu = cpu;
	m->subtype = 0;
	m->uuid = UX_STR("0123456789abcdef");
	uint8_t text = make_macho_section(
		m, (struct make_macho_section){.segment = "__TEXT",
					       .name = "__text",
					       .addr = 0x1100,
					       .size = 0x40,
					       .flags = S_ATTR_PURE_INSTRUCTIONS});
	make_macho_symbol(m, (struct make_macho_symbol){function, 0x1100, N_SECT | N_EXT, text, 0});
	return (struct make_macho_slice){cpu, m->subtype, make_macho_finish(m)};
}

static void a_slice_of_a_universal_file_is_chosen(void **state)
{
	(void)state;
	struct make_macho one, two;
	struct ux_out file = {0};
	struct ux_ids ids;
	struct ux_error err = UX_ERROR_INIT;
	const struct make_macho_slice slices[] = {
		make_slice(&one, CPU_TYPE_POWERPC64, "_one"),
		make_slice(&two, CPU_TYPE_POWERPC, "_two"),
	};
	make_macho_fat(&file, false, slices, ux_countof(slices));
	struct ux_input in = input_of(ux_out_bytes(&file)), thin = input_of(slices[0].bytes);
	struct ux_module *m = NULL;
	struct ux_frame frame;
	size_t n = 0;
	assert_int_equal(ux_module_open(&in, NULL, &m, &err), UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "ppc64, ppc"));
	struct ux_extract_opts extract = {.size = sizeof(extract), .arch = "ppc"};
	struct ux_module_opts opts = {.size = sizeof(opts), .extract = &extract};
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_OK);
	assert_int_equal(ux_module_lookup(m, 0x1120, 0, &frame, 1, &n, NULL), UX_OK);
	assert_string_equal(frame.function, "two");
	assert_string_equal(ux_module_build_id(m), "uuid:30313233343536373839616263646566");
	ux_module_close(m);
	assert_int_equal(ux_ids_read(&in, &ids, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_ids_read(&thin, &ids, NULL), UX_OK);
	assert_int_equal(ids.n, 2);
	assert_string_equal(ids.text[0], "uuid:30313233343536373839616263646566");
	make_macho_deinit(&one);
	make_macho_deinit(&two);
	ux_out_deinit(&file);
}

static void names_are_cut_to_the_buffer(void **state)
{
	(void)state;
	char buf[32];
	const char *name = "_ZN3foo3barEi";
	assert_int_equal(ux_demangle_name(name, UX_DEMANGLE_FULL, buf, sizeof(buf)), 13);
	assert_string_equal(buf, "foo::bar(int)");
	assert_int_equal(ux_demangle_name(name, UX_DEMANGLE_SHORT, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "foo::bar");
	assert_int_equal(ux_demangle_name(name, UX_DEMANGLE_FULL, buf, 4), 13);
	assert_string_equal(buf, "foo");
	assert_int_equal(ux_demangle_name(name, UX_DEMANGLE_FULL, NULL, 0), 13);
	assert_int_equal(ux_demangle_name("main", UX_DEMANGLE_FULL, buf, 1), 4);
	assert_string_equal(buf, "");
	assert_int_equal(ux_demangle_name("", UX_DEMANGLE_FULL, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static enum ux_code demangle_once(void *ctx)
{
	char buf[32];
	(void)ctx;
	ux_demangle_name("_ZN3foo3barEi", UX_DEMANGLE_FULL, buf, sizeof(buf));
	assert_true(strcmp(buf, "foo::bar(int)") == 0 || strcmp(buf, "_ZN3foo3barEi") == 0);
	return UX_OK;
}

static void without_memory_a_name_stays_as_it_is(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(demangle_once, NULL, /* may_recover= */ true) >= 2);
}

static void the_version_is_that_of_the_headers(void **state)
{
	(void)state;
	char want[32];
	snprintf(want, sizeof(want), "%d.%d.%d", UX_VERSION_MAJOR, UX_VERSION_MINOR,
		 UX_VERSION_PATCH);
	assert_string_equal(ux_version(), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_gsym_in_memory_is_looked_up),
		UX_TEST(a_return_address_names_the_call_before_it),
		UX_TEST(unknown_flags_are_refused),
		UX_TEST(many_addresses_are_looked_up_at_once),
		UX_TEST(a_module_tells_how_much_it_knows),
		UX_TEST(an_elf_file_is_a_module_too),
		UX_TEST(an_index_changes_no_answer),
		UX_TEST(what_is_no_module_is_named),
		UX_TEST(opening_without_memory_says_so),
		UX_TEST(options_of_other_versions_are_taken_when_they_say_nothing_new),
		UX_TEST(a_function_receives_what_is_extracted),
		UX_TEST(the_version_of_gsym_can_be_requested),
		UX_TEST(other_names_are_reported_when_they_were_kept),
		UX_TEST(the_function_at_an_address_has_a_name_a_start_and_a_size),
		UX_TEST(build_ids_of_any_length_are_read_or_none),
		UX_TEST(a_debug_file_belongs_to_its_binary),
		UX_TEST(a_debug_file_is_found_by_its_build_id_when_requested),
		UX_TEST(a_path_gets_all_or_nothing),
		UX_TEST(identities_are_text),
		UX_TEST(cubin_in_memory_is_a_module),
		UX_TEST(gpu_code_of_a_fat_binary_is_chosen),
		UX_TEST(gpu_code_is_reported_piece_by_piece),
		UX_TEST(ptx_is_reported_as_what_it_is),
		UX_TEST(cubin_alone_is_its_own_piece_and_other_files_have_none),
		UX_TEST(damaged_gpu_code_is_read_cleanly),
		UX_TEST(lack_of_memory_for_pieces_is_reported),
		UX_TEST(functions_are_found_by_name),
		UX_TEST(a_slice_of_a_universal_file_is_chosen),
		UX_TEST(names_are_cut_to_the_buffer),
		UX_TEST(without_memory_a_name_stays_as_it_is),
		UX_TEST(the_version_is_that_of_the_headers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
