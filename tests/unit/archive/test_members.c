/* SPDX-License-Identifier: Apache-2.0 */
/* members: the files of an archive that can have symbols. */
#include "sweep.h"

#include "archive_calls.h"
#include "make_tar.h"
#include "members.h"

static struct ux_out make_tar(void)
{
	struct ux_out out = {0};
	make_tar_add(&out, "usr/", '5', "", UX_BYTES_NONE);
	make_tar_add(&out, "usr/prog", '0', "",
		     UX_STR("\x7f"
			    "ELF and the rest"));
	make_tar_add(&out, "./usr/text", '0', "", UX_STR("text"));
	make_tar_add(&out, "usr/hard", '1', "usr/prog", UX_BYTES_NONE);
	make_tar_add(&out, "usr/soft", '2', "prog", UX_BYTES_NONE);
	make_tar_add(&out, "a.whl", '0', "", UX_STR("PK\3\4"));
	make_tar_add(&out, "m.ko.xz", '0', "",
		     UX_STR("\xfd"
			    "7zXZ\0"));
	make_tar_add(&out, "t.tar.xz", '0', "",
		     UX_STR("\xfd"
			    "7zXZ\0"));
	make_tar_end(&out);
	return out;
}

static enum ux_code unpack(struct ux_bytes archive, uint64_t max, enum ux_members_mode mode,
			   struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = ret};
	return ux_members_unpack(&calls, archive, max, mode, &p, err);
}

static void expect(const struct ux_out *pack, const char *const *names, size_t want)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	assert_int_equal(ux_source_pack_read(ux_out_bytes(pack), &arena, &list, &n, NULL), UX_OK);
	for (size_t i = 0; i < n && i < want; i++)
		assert_string_equal(list[i].path, names[i]);
	assert_int_equal(n, want);
}

static void only_what_can_have_symbols_comes_out(void **state)
{
	(void)state;
	static const char *const names[] = {"/archive/a.whl", "/archive/t.tar.xz",
					    "/object/usr/prog", "/packed/m.ko.xz"};
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_tar(), pack = {0};
	assert_int_equal(unpack(ux_out_bytes(&tar), 1 << 20, UX_MEMBERS_SYMBOLS, &pack, NULL),
			 UX_OK);
	expect(&pack, names, ux_countof(names));
}

static void all_names_are_listed_for_a_file_system(void **state)
{
	(void)state;
	static const char *const names[] = {
		"/archive/a.whl",   "/archive/t.tar.xz", "/folder/usr",     "/link/usr/hard",
		"/object/usr/prog", "/other/usr/soft",   "/other/usr/text", "/packed/m.ko.xz"};
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_tar(), pack = {0};
	assert_int_equal(unpack(ux_out_bytes(&tar), 1 << 20, UX_MEMBERS_FILE_SYSTEM, &pack, NULL),
			 UX_OK);
	expect(&pack, names, ux_countof(names));
}

static void all_contents_and_links_come_out_of_an_image(void **state)
{
	(void)state;
	static const char *const names[] = {
		"/archive/a.whl",   "/archive/t.tar.xz", "/link/usr/hard", "/link/usr/soft",
		"/object/usr/prog", "/other/usr/text",   "/packed/m.ko.xz"};
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_tar(), pack = {0};
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	assert_int_equal(unpack(ux_out_bytes(&tar), 1 << 20, UX_MEMBERS_CONTENTS, &pack, NULL),
			 UX_OK);
	expect(&pack, names, ux_countof(names));
	assert_int_equal(ux_source_pack_read(ux_out_bytes(&pack), &arena, &list, &n, NULL), UX_OK);
	assert_memory_equal(pack.data + list[3].off, "/usr/prog", 9);
	assert_memory_equal(pack.data + list[5].off, "text", 4);
}

static void a_name_above_the_root_is_refused(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = {0}, pack = {0};
	make_tar_add(&tar, "a/../../prog", '0', "",
		     UX_STR("\x7f"
			    "ELF"));
	make_tar_end(&tar);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(unpack(ux_out_bytes(&tar), 1 << 20, UX_MEMBERS_SYMBOLS, &pack, &err),
			 UX_EINVAL);
	assert_non_null(strstr(err.text, "above"));
}

static void more_than_is_allowed_is_a_limit(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_tar(), pack = {0};
	assert_int_equal(unpack(ux_out_bytes(&tar), 19, UX_MEMBERS_SYMBOLS, &pack, NULL),
			 UX_ELIMIT);
}

static void unpack_any(struct ux_bytes archive, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out pack = {0};
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	if (unpack(archive, 1 << 20, UX_MEMBERS_FILE_SYSTEM, &pack, NULL) != UX_OK)
		return;
	enum ux_code code = ux_source_pack_read(ux_out_bytes(&pack), &arena, &list, &n, NULL);
	for (size_t i = 0; code == UX_OK && i < n; i++) {
		enum ux_member_kind kind;
		const char *name = NULL;
		assert_true(ux_member_of_path(list[i].path, &kind, &name));
	}
}

static void a_damaged_archive_is_an_error_or_a_pack(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = {0};
	make_tar_add(&tar, "usr/prog", '0', "",
		     UX_STR("\x7f"
			    "ELF"));
	make_tar_add(&tar, "usr/hard", '1', "usr/prog", UX_BYTES_NONE);
	each_prefix(ux_out_bytes(&tar), unpack_any, NULL);
	each_bit_flip(ux_out_bytes(&tar), unpack_any, NULL);
}

static void kinds_are_told_by_the_first_bytes_and_for_compressed_files_by_the_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct ux_bytes head;
		enum ux_member_kind kind;
	} cases[] = {
		{"prog", {NULL, 0}, UX_MEMBER_OTHER},
		{"prog",
		 {(const uint8_t *)"\x7f"
				   "ELF",
		  4},
		 UX_MEMBER_OBJECT},
		{"C.class", {(const uint8_t *)"\xca\xfe\xba\xbe\0\0\0\x3d", 8}, UX_MEMBER_OTHER},
		{"universal", {(const uint8_t *)"\xca\xfe\xba\xbe\0\0\0\2", 8}, UX_MEMBER_OBJECT},
		{"x", {(const uint8_t *)"GSYM", 4}, UX_MEMBER_GSYM},
		{"x.gz", {(const uint8_t *)"\x1f\x8b\x08", 3}, UX_MEMBER_PACKED},
		{"x.TAR.GZ", {(const uint8_t *)"\x1f\x8b\x08", 3}, UX_MEMBER_ARCHIVE},
		{"x.apk", {(const uint8_t *)"\x1f\x8b\x08", 3}, UX_MEMBER_ARCHIVE},
		{"x.apk", {(const uint8_t *)"ADBd", 4}, UX_MEMBER_ARCHIVE},
		{"x.APK", {(const uint8_t *)"ADB.pckg", 8}, UX_MEMBER_ARCHIVE},
		{"notes", {(const uint8_t *)"ADBd", 4}, UX_MEMBER_OTHER},
		{"libx.a", {(const uint8_t *)"!<arch>\nx.o/    ", 16}, UX_MEMBER_OTHER},
		{"x", {(const uint8_t *)"!<arch>\ndebian-binary ", 22}, UX_MEMBER_ARCHIVE},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_int_equal(ux_member_kind(cases[i].head, cases[i].name), cases[i].kind);
}

UX_SUITE(members)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_can_have_symbols_comes_out),
		cmocka_unit_test(all_names_are_listed_for_a_file_system),
		cmocka_unit_test(all_contents_and_links_come_out_of_an_image),
		cmocka_unit_test(a_name_above_the_root_is_refused),
		cmocka_unit_test(more_than_is_allowed_is_a_limit),
		cmocka_unit_test(a_damaged_archive_is_an_error_or_a_pack),
		cmocka_unit_test(
			kinds_are_told_by_the_first_bytes_and_for_compressed_files_by_the_name),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
