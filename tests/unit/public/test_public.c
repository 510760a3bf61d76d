/* SPDX-License-Identifier: Apache-2.0 */
/* The installed headers' promises about modules, identities and names, tested only through these
 * headers. */
#include "test_public.h"

#include "make_macho.h"

#include <errno.h>

static void a_gsym_in_memory_is_looked_up(void **state)
{
	(void)state;
	struct ux_module *m = open_example();
	struct ux_frame f[UX_FRAMES_MAX];
	size_t n = 0;
	assert_int_equal(ux_module_lookup(m, 0x401002, 0, f, UX_FRAMES_MAX, &n, NULL), UX_OK);
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
	make_elf_deinit(&elf); /* the extracted symbols no longer need it */
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
	opts.flags = 8;
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
	assert_string_equal(err.text, "not an ELF, Mach-O or GSYM file");
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
	assert_string_equal(err.text, "option at byte 111 is set; this version reads only 104 "
				      "bytes of options");
	newer.opts.size = 8;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	opts.size = 0;
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	newer.opts = (struct ux_extract_opts){.size = sizeof(newer.opts), .flags = 0x80};
	opts.size = sizeof(opts);
	assert_int_equal(ux_module_open(&in, &opts, &m, NULL), UX_EINVAL);
	make_elf_deinit(&elf);
}

/* Byte for byte what lookups answer; structs of other versions are filled as far as they go. */
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

UX_SUITE(public)
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
		UX_TEST(the_function_at_an_address_has_a_name_a_start_and_a_size),
		UX_TEST(identities_are_text),
		UX_TEST(functions_are_found_by_name),
		UX_TEST(a_slice_of_a_universal_file_is_chosen),
		UX_TEST(names_are_cut_to_the_buffer),
		UX_TEST(without_memory_a_name_stays_as_it_is),
		UX_TEST(the_version_is_that_of_the_headers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
