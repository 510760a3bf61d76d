/* SPDX-License-Identifier: Apache-2.0 */
/* unhex/extract.h, through the installed headers alone. */
#include "test_public.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

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

UX_SUITE(public_extract)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_function_receives_what_is_extracted),
		UX_TEST(the_version_of_gsym_can_be_requested),
		UX_TEST(other_names_are_reported_when_they_were_kept),
		UX_TEST(build_ids_of_any_length_are_read_or_none),
		UX_TEST(a_debug_file_belongs_to_its_binary),
		UX_TEST(a_debug_file_is_found_by_its_build_id_when_requested),
		UX_TEST(a_path_gets_all_or_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
