/* SPDX-License-Identifier: Apache-2.0 */
/* manifest/: lists of objects, and the paths in them. */
#include "sweep.h"

#include "clock.h"
#include "manifest.h"

#define A "gnu:00112233445566778899aabbccddeeff00112233"
#define B "gnu:ff112233445566778899aabbccddeeff00112233"

static const char *const ids_a[] = {A, "file:00112233445566778899aabbccddeeff"};
static const char *const ids_b[] = {B};

static struct ux_entry entry(const char *const *ids, size_t n, enum ux_entry_kind kind,
			     uint8_t hash, enum ux_quality quality)
{
	struct ux_entry e = {.path = "",
			     .size = hash,
			     .ids = ids,
			     .n_ids = n,
			     .kind = kind,
			     .quality = quality,
			     .ns = "default",
			     .description = "",
			     .file = "",
			     .time = 7};
	memset(e.hash, hash, sizeof(e.hash));
	return e;
}

static struct ux_entry elf(uint8_t hash, unsigned holds, enum ux_quality quality)
{
	struct ux_entry e = entry(
		ids_a, 2, (holds & UX_ENTRY_CODE) != 0 ? UX_ENTRY_EXECUTABLE : UX_ENTRY_DEBUGINFO,
		hash, quality);
	e.holds = holds;
	return e;
}

static void add(struct ux_manifest *m, struct ux_entry e)
{
	assert_int_equal(ux_manifest_add(m, &e, NULL), UX_OK);
}

static void fill(struct ux_manifest *m)
{
	struct ux_entry named = entry(ids_b, 1, UX_ENTRY_GSYM, 9, UX_QUALITY_LINES);
	named.description = "quoted \"text\" and \\";
	named.file = "/src/ä";
	named.provenance.facts[UX_GIT_BRANCH] = "main";
	named.ns = "team";
	ux_manifest_init(m);
	add(m, named);
	add(m, entry(ids_a, 2, UX_ENTRY_GSYM, 1, UX_QUALITY_SYMTAB));
	add(m, entry(ids_a, 2, UX_ENTRY_GSYM, 2, UX_QUALITY_INLINES));
	add(m, elf(3, UX_ENTRY_CODE | UX_ENTRY_DEBUG | UX_ENTRY_SECTIONS, UX_QUALITY_INLINES));
	add(m, elf(4, UX_ENTRY_DEBUG, UX_QUALITY_SYMTAB));
	add(m, entry(ids_a, 2, UX_ENTRY_SOURCES, 5, UX_QUALITY_NONE));
	add(m, entry(ids_a, 2, UX_ENTRY_GSYM, 1, UX_QUALITY_SYMTAB)); /* again */
	assert_int_equal(ux_manifest_name(m, NULL), UX_OK);
}

static struct ux_out written(const struct ux_manifest *m)
{
	struct ux_out out = {0};
	assert_int_equal(ux_manifest_write(m, &out, NULL), UX_OK);
	return out;
}

static void the_best_objects_have_the_names_that_debuginfods_clients_know(void **state)
{
	(void)state;
	static const char *const paths[] = {
		"buildid/00112233445566778899aabbccddeeff00112233/debuginfo",
		"buildid/00112233445566778899aabbccddeeff00112233/debuginfo.0404040404040404",
		"buildid/00112233445566778899aabbccddeeff00112233/executable",
		"buildid/00112233445566778899aabbccddeeff00112233/gsym",
		"buildid/00112233445566778899aabbccddeeff00112233/gsym.0101010101010101",
		"buildid/00112233445566778899aabbccddeeff00112233/sources.0505050505050505",
		"ns/team/buildid/ff112233445566778899aabbccddeeff00112233/gsym",
	};
	static const uint8_t hashes[] = {3, 4, 3, 2, 1, 5, 9};
	struct ux_manifest m;
	fill(&m);
	assert_int_equal(m.objects.size, ux_countof(paths));
	for (size_t i = 0; i < ux_countof(paths); i++) {
		assert_string_equal(m.objects.data[i].path, paths[i]);
		assert_int_equal(m.objects.data[i].hash[0], hashes[i]);
		assert_ptr_equal(ux_manifest_find(&m, paths[i]), &m.objects.data[i]);
	}
	assert_null(ux_manifest_find(&m, "buildid/00/gsym"));
	ux_manifest_deinit(&m);
}

static void names_do_not_depend_on_the_order_of_objects(void **state)
{
	(void)state;
	struct ux_manifest m, back;
	fill(&m);
	ux_manifest_init(&back);
	for (size_t i = m.objects.size; i > 0; i--)
		add(&back, m.objects.data[i - 1]);
	assert_int_equal(ux_manifest_name(&back, NULL), UX_OK);
	ux_cleanup(ux_out_deinit) struct ux_out a = written(&m), b = written(&back);
	assert_true(ux_bytes_eq(ux_out_bytes(&a), ux_out_bytes(&b)));
	ux_manifest_deinit(&m);
	ux_manifest_deinit(&back);
}

static void what_was_written_is_read_and_written_again_the_same(void **state)
{
	(void)state;
	struct ux_manifest m, again;
	fill(&m);
	ux_cleanup(ux_out_deinit) struct ux_out text = written(&m);
	ux_manifest_init(&again);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_manifest_read(ux_out_bytes(&text), &again, &err), UX_OK);
	const struct ux_entry *e = &again.objects.data[6];
	assert_string_equal(e->description, "quoted \"text\" and \\");
	assert_string_equal(e->provenance.facts[UX_GIT_BRANCH], "main");
	assert_string_equal(e->ns, "team");
	assert_int_equal(e->time, 7);
	assert_int_equal(again.objects.data[0].holds,
			 UX_ENTRY_CODE | UX_ENTRY_DEBUG | UX_ENTRY_SECTIONS);
	ux_cleanup(ux_out_deinit) struct ux_out second = written(&again);
	assert_true(ux_bytes_eq(ux_out_bytes(&text), ux_out_bytes(&second)));
	ux_manifest_deinit(&m);
	ux_manifest_deinit(&again);
}

static enum ux_code read_text(const char *text, struct ux_error *err)
{
	struct ux_manifest m;
	*err = (struct ux_error)UX_ERROR_INIT;
	ux_manifest_init(&m);
	enum ux_code code = ux_manifest_read(ux_bytes_cstr(text), &m, err);
	ux_manifest_deinit(&m);
	return code;
}

#define HASH  "0101010101010101010101010101010101010101010101010101010101010101"
#define HEAD  "{\"unhex_manifest\":1,\"objects\":1,\"bytes\":5}\n"
#define PLACE "buildid/00112233445566778899aabbccddeeff00112233"
#define LINE(path, rest)                                                          \
	"{\"path\":\"" path "\",\"sha256\":\"" HASH "\",\"size\":5,\"ids\":[\"" A \
	"\"],\"kind\":\"gsym\"" rest "}\n"

static void each_fault_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
		enum ux_code code;
	} cases[] = {
		{"", "first line", UX_ECORRUPT},
		{"{}\n", "first line", UX_ECORRUPT},
		{"{\"unhex_manifest\":2,\"objects\":0,\"bytes\":0}\n", "version 2",
		 UX_EUNSUPPORTED},
		{"{\"unhex_manifest\":1,\"objects\":99999999,\"bytes\":0}\n", "the limit is",
		 UX_ELIMIT},
		{HEAD, "truncated", UX_ECORRUPT},
		{"{\"unhex_manifest\":1,\"objects\":0,\"bytes\":0}\n" LINE(PLACE "/gsym", ""),
		 "more objects than the 0", UX_ECORRUPT},
		{"{\"unhex_manifest\":1,\"objects\":1,\"bytes\":6}\n" LINE(PLACE "/gsym", ""),
		 "5 of 6 bytes", UX_ECORRUPT},
		{HEAD LINE("../gsym", ""), "does not match the object", UX_ECORRUPT},
		{HEAD LINE("/gsym", ""), "does not match the object", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym.0202020202020202", ""), "does not match the object",
		 UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym/../../x", ""), "does not match the object", UX_ECORRUPT},
		{HEAD LINE(PLACE "/executable", ""), "does not match the object", UX_ECORRUPT},
		{HEAD LINE("ns/../" PLACE "/gsym", ",\"namespace\":\"..\""), "namespace",
		 UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"namespace\":\"a/b\""), "namespace", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"quality\":\"best\""), "quality", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"time\":-1"), "integer", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"ids\":[\"00112233\"]"), "canonical", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"description\":\"\\u0000\""), "NUL", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"kind\":\"other\""), "kind", UX_ECORRUPT},
		{HEAD LINE(PLACE "/gsym", ",\"sha256\":\"01\""), "64 hexadecimal", UX_ECORRUPT},
		{HEAD "{\"path\":\"x\"}\n", "lacks", UX_ECORRUPT},
	};
	struct ux_error err;
	for (size_t i = 0; i < ux_countof(cases); i++) {
		assert_int_equal(read_text(cases[i].text, &err), cases[i].code);
		if (!strstr(err.text, cases[i].words))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text,
				 cases[i].words);
	}
	assert_int_equal(read_text(HEAD LINE(PLACE "/gsym", ",\"new\":[{\"x\":1}]"), &err), UX_OK);
}

static void paths_out_of_order_or_twice_are_refused(void **state)
{
	(void)state;
	static const char head[] = "{\"unhex_manifest\":1,\"objects\":2,\"bytes\":10}\n";
	char text[2000];
	struct ux_error err;
	(void)snprintf(text, sizeof(text), "%s%s%s", head, LINE(PLACE "/gsym", ""),
		       LINE(PLACE "/gsym", ""));
	assert_int_equal(read_text(text, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "out of order"));
}

static void folder_is(const char *ns, const char *id, const char *expected)
{
	char path[UX_MANIFEST_PATH_MAX];
	assert_int_equal(ux_manifest_folder(ns, id, path, NULL), UX_OK);
	assert_string_equal(path, expected);
}

static void modules_without_a_build_id_have_folders_too(void **state)
{
	(void)state;
	char path[UX_MANIFEST_PATH_MAX];
	folder_is("default", "file:00112233445566778899aabbccddeeff",
		  "module/file/00112233445566778899aabbccddeeff");
	folder_is("a", "go:abc", "ns/a/module/go/616263");
	/* SHA-256 of 33 letters a, as sha256sum says */
	folder_is("default", "go:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "module/go/852785c805c77e71a22340a54e9d95933ed49121e7d2bf3c2d358854bc1359ea");
	assert_int_equal(ux_manifest_folder("A", A, path, NULL), UX_EINVAL);
	assert_int_equal(ux_manifest_folder(".a", A, path, NULL), UX_EINVAL);
	assert_int_equal(ux_manifest_folder("", A, path, NULL), UX_EINVAL);
	assert_int_equal(ux_manifest_folder("a", "nothing:1", path, NULL), UX_EINVAL);
}

static void objects_are_found_by_their_hash(void **state)
{
	(void)state;
	struct ux_manifest m;
	struct ux_entries_by_hash by = {0};
	uint8_t hash[UX_MANIFEST_HASH];
	fill(&m);
	assert_int_equal(ux_entries_by_hash_make(&m, &by, NULL), UX_OK);
	memset(hash, 3, sizeof(hash)); /* the ELF file with two paths */
	size_t i = ux_entries_by_hash_find(&by, hash);
	assert_string_equal(strrchr(by.items[i]->path, '/'), "/debuginfo");
	i = ux_entries_by_hash_next(&by, i);
	assert_string_equal(strrchr(by.items[i]->path, '/'), "/executable");
	assert_int_equal(ux_entries_by_hash_next(&by, i), by.n);
	memset(hash, 8, sizeof(hash));
	assert_int_equal(ux_entries_by_hash_find(&by, hash), by.n);
	ux_entries_by_hash_deinit(&by);
	ux_manifest_deinit(&m);
}

static void read_any(struct ux_bytes text, void *ctx)
{
	struct ux_manifest m;
	(void)ctx;
	ux_manifest_init(&m);
	if (ux_manifest_read(text, &m, NULL) == UX_OK)
		for (size_t i = 0; i < m.objects.size; i++)
			assert_null(strstr(m.objects.data[i].path, ".."));
	ux_manifest_deinit(&m);
}

static enum ux_code read_again(void *ctx)
{
	struct ux_manifest m;
	ux_manifest_init(&m);
	enum ux_code code = ux_manifest_read(ux_out_bytes(ctx), &m, NULL);
	if (code == UX_OK)
		code = ux_manifest_name(&m, NULL);
	ux_manifest_deinit(&m);
	return code;
}

static void damage_is_an_error_and_nothing_worse(void **state)
{
	(void)state;
	struct ux_manifest m;
	fill(&m);
	ux_cleanup(ux_out_deinit) struct ux_out text = written(&m);
	ux_manifest_deinit(&m);
	each_prefix(ux_out_bytes(&text), read_any, NULL);
	each_bit_flip(ux_out_bytes(&text), read_any, NULL);
	each_failed_alloc(read_again, &text, /* may_recover= */ false);
}

static void states_of_stores_are_read_as_written(void **state)
{
	(void)state;
	struct ux_manifest m, back;
	struct ux_out text = {0};
	fill(&m);
	m.head.own = (struct ux_manifest_state){"symbols of \"A\"", 7};
	m.head.time = 1000;
	assert_int_equal(ux_manifest_see(&m.head, &(struct ux_manifest_state){"B", 5}, NULL),
			 UX_OK);
	assert_int_equal(ux_manifest_see(&m.head, &(struct ux_manifest_state){"B", 4}, NULL),
			 UX_OK);
	assert_int_equal(m.head.n_seen, 1);
	assert_int_equal(ux_manifest_write(&m, &text, NULL), UX_OK);
	ux_manifest_init(&back);
	assert_int_equal(ux_manifest_read(ux_out_bytes(&text), &back, NULL), UX_OK);
	assert_string_equal(back.head.own.store, "symbols of \"A\"");
	assert_int_equal(back.head.own.serial, 7);
	assert_int_equal(back.head.time, 1000);
	assert_int_equal(ux_manifest_state(&back.head, "B")->serial, 5);
	assert_ptr_equal(ux_manifest_state(&back.head, "symbols of \"A\""), &back.head.own);
	assert_null(ux_manifest_state(&back.head, "C"));
	ux_manifest_deinit(&back);
	ux_manifest_deinit(&m);
	ux_out_deinit(&text);
}

static void a_head_with_a_part_of_a_state_is_damaged(void **state)
{
	(void)state;
	static const char *const heads[] = {"\"store\":\"A\",\"serial\":1",
					    "\"serial\":1,\"time\":5",
					    "\"store\":\"A\"",
					    "\"store\":\"\",\"serial\":1,\"time\":5",
					    "\"store\":\"A\",\"serial\":-1,\"time\":5",
					    "\"seen\":[{\"store\":\"A\"}]",
					    "\"seen\":[{\"serial\":4}]",
					    "\"seen\":7"};
	for (size_t i = 0; i < ux_countof(heads); i++) {
		struct ux_manifest m;
		char text[256];
		snprintf(text, sizeof(text),
			 "{\"unhex_manifest\":1,\"objects\":0,\"bytes\":0,%s}\n", heads[i]);
		ux_manifest_init(&m);
		assert_int_equal(ux_manifest_read(ux_bytes_cstr(text), &m, NULL), UX_ECORRUPT);
		ux_manifest_deinit(&m);
	}
}

static void a_head_remembers_a_bounded_number_of_stores(void **state)
{
	(void)state;
	struct ux_manifest_head head = {0};
	static char names[UX_MANIFEST_SEEN_MAX + 1][8];
	for (size_t i = 0; i < ux_countof(names); i++) {
		snprintf(names[i], sizeof(names[i]), "s%zu", i);
		const struct ux_manifest_state s = {names[i], 1};
		assert_int_equal(ux_manifest_see(&head, &s, NULL),
				 i < UX_MANIFEST_SEEN_MAX ? UX_OK : UX_ELIMIT);
	}
}

static void the_age_of_a_manifest_is_bounded(void **state)
{
	(void)state;
	struct ux_manifest_head head = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_manifest_check_age(&head, 0, NULL), UX_OK);
	assert_int_equal(ux_manifest_check_age(&head, 60, NULL), UX_ECORRUPT);
	head.own = (struct ux_manifest_state){"A", 1};
	head.time = ux_clock_wall() - 30;
	assert_int_equal(ux_manifest_check_age(&head, 60, NULL), UX_OK);
	head.time = 1000;
	assert_int_equal(ux_manifest_check_age(&head, 60, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "store \"A\" was signed at 1970-01-01T00:16:40Z"));
}

UX_SUITE(manifest)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(the_best_objects_have_the_names_that_debuginfods_clients_know),
		UX_TEST(names_do_not_depend_on_the_order_of_objects),
		UX_TEST(what_was_written_is_read_and_written_again_the_same),
		UX_TEST(each_fault_is_named),
		UX_TEST(paths_out_of_order_or_twice_are_refused),
		UX_TEST(modules_without_a_build_id_have_folders_too),
		UX_TEST(objects_are_found_by_their_hash),
		UX_TEST(damage_is_an_error_and_nothing_worse),
		cmocka_unit_test(states_of_stores_are_read_as_written),
		cmocka_unit_test(a_head_with_a_part_of_a_state_is_damaged),
		cmocka_unit_test(a_head_remembers_a_bounded_number_of_stores),
		cmocka_unit_test(the_age_of_a_manifest_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
