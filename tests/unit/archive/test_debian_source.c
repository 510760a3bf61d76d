/* SPDX-License-Identifier: Apache-2.0 */
/* debian_source: the files of source packages, as they were compiled. */
#include "sweep.h"

#include "archive_calls.h"
#include "debian_source.h"
#include "tar_header.h"

/* A file of a tar. */
struct made {
	const char *name, *text;
};

static void put(struct ux_out *tar, const char *name, struct ux_bytes content)
{
	static const uint8_t zeros[UX_TAR_BLOCK];
	assert_int_equal(ux_tar_header_write(name, NULL, content.size, 0, tar, NULL), UX_OK);
	ux_out_put(tar, content.data, content.size);
	ux_out_put(tar, zeros, ux_tar_padding(content.size));
}

static void end(struct ux_out *tar)
{
	static const uint8_t zeros[2 * UX_TAR_BLOCK];
	ux_out_put(tar, zeros, sizeof(zeros));
}

/* Adds an archive of files to the package. */
static void add(struct ux_out *package, const char *name, const struct made *files, size_t n)
{
	ux_cleanup(ux_out_deinit) struct ux_out tar = {0};
	for (size_t i = 0; i < n; i++)
		put(&tar, files[i].name, ux_bytes_cstr(files[i].text));
	end(&tar);
	put(package, name, ux_out_bytes(&tar));
}

#define ADD(package, name, ...)                                    \
	add((package), (name), (const struct made[]){__VA_ARGS__}, \
	    sizeof((const struct made[]){__VA_ARGS__}) / sizeof(struct made))

static enum ux_code unpack(struct ux_bytes package, uint64_t max, struct ux_out *pack,
			   struct ux_error *err)
{
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = pack};
	return ux_bundle_unpack(&calls, package, max, &p, err);
}

/* The files of the package as "PATH=CONTENT;", sorted. */
static void has_files(struct ux_out *package, const char *want)
{
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out pack = {0}, text = {0};
	struct ux_packed_source *list = NULL;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	end(package);
	assert_true(ux_debian_source_is(ux_out_bytes(package)));
	enum ux_code code = unpack(ux_out_bytes(package), 1 << 20, &pack, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	assert_int_equal(ux_source_pack_read(ux_out_bytes(&pack), &arena, &list, &n, NULL), UX_OK);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(&text, "%s=%.*s;", list[i].path, (int)list[i].size,
			   (const char *)pack.data + list[i].off);
	ux_out_u8(&text, 0);
	assert_string_equal((const char *)text.data, want);
}

#define ROOT "/usr/src/demo-1.0-1"
#define FIX  "--- a/src/a.c\n+++ b/src/a.c\n@@ -1 +1 @@\n-old\n+new\n"

static void a_series_of_patches_is_applied_in_its_order(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	put(&p, "demo_1.0-1.dsc", UX_STR("Format: 3.0 (quilt)\n"));
	ADD(&p, "demo_1.0.orig.tar.xz", {"demo-1.0/src/a.c", "old\n"}, {"demo-1.0/src/b.c", "b\n"},
	    {"demo-1.0/debian/rules", "upstream's"}, {"demo-1.0/gone.c", "gone\n"},
	    {"demo-1.0/po/de.po", "text"});
	ADD(&p, "demo_1.0-1.debian.tar.xz", {"debian/rules", "#!/"},
	    {"debian/patches/series", "# comment\nfirst.patch\nsecond.patch -p1 # last\n\n"},
	    {"debian/patches/second.patch",
	     "--- demo.orig/src/a.c\n+++ demo/src/a.c\n@@ -1 +1,2 @@\n new\n+more\n"
	     "--- a/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
	     "--- /dev/null\n+++ b/src/made.c\n@@ -0,0 +1 @@\n+made\n"},
	    {"debian/patches/first.patch", FIX}, {"debian/patches/unused.patch", FIX});
	has_files(&p, ROOT
		  "/debian/patches/first.patch=" FIX ";" ROOT "/debian/patches/second.patch="
		  "--- demo.orig/src/a.c\n+++ demo/src/a.c\n@@ -1 +1,2 @@\n new\n+more\n"
		  "--- a/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
		  "--- /dev/null\n+++ b/src/made.c\n@@ -0,0 +1 @@\n+made\n;" ROOT
		  "/debian/patches/series=# comment\nfirst.patch\nsecond.patch -p1 # last\n\n;" ROOT
		  "/debian/patches/unused.patch=" FIX ";" ROOT "/debian/rules=#!/;" ROOT
		  "/src/a.c=new\nmore\n;" ROOT "/src/b.c=b\n;" ROOT "/src/made.c=made\n;");
}

static void a_file_that_a_patch_does_not_fit_is_left_out(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	put(&p, "demo_1.0-1.dsc", UX_STR("-"));
	ADD(&p, "demo_1.0.orig.tar.gz", {"demo/src/a.c", "other\n"}, {"demo/src/b.c", "b\n"});
	ADD(&p, "demo_1.0-1.debian.tar.xz", {"debian/patches/series", "x\n"},
	    {"debian/patches/x", FIX});
	has_files(&p, ROOT "/debian/patches/series=x\n;" ROOT "/debian/patches/x=" FIX ";" ROOT
			   "/src/b.c=b\n;");
}

static void a_native_package_is_one_archive(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	put(&p, "pool/demo_1.0-1.dsc", UX_STR("Format: 3.0 (native)\n"));
	ADD(&p, "pool/demo_1.0-1.tar.xz", {"./demo/a.c", "a\n"}, {"./demo/debian/rules", "r"});
	has_files(&p, ROOT "/a.c=a\n;" ROOT "/debian/rules=r;");
}

static void an_archive_without_a_folder_of_its_own_is_the_tree(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	put(&p, "demo_1.0-1.dsc", UX_STR("-"));
	ADD(&p, "demo_1.0.orig.tar.xz", {"a.c", "a\n"}, {"src/b.c", "b\n"});
	has_files(&p, ROOT "/a.c=a\n;" ROOT "/src/b.c=b\n;");
}

static void further_archives_have_folders_of_their_names(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	put(&p, "demo_1.0-1.dsc", UX_STR("-"));
	ADD(&p, "demo_1.0.orig-part.tar.xz", {"part-2.0/x.c", "old\n"});
	ADD(&p, "demo_1.0.orig-part.tar.xz.asc", {"x", "signature"});
	ADD(&p, "demo_1.0.orig.tar.xz", {"demo/part/stale.c", "s\n"}, {"demo/a.c", "a\n"});
	ADD(&p, "demo_1.0-1.debian.tar.xz", {"debian/patches/series", "p\n"},
	    {"debian/patches/p", "--- a/part/x.c\n+++ b/part/x.c\n@@ -1 +1 @@\n-old\n+new\n"});
	has_files(&p, ROOT
		  "/a.c=a\n;" ROOT "/debian/patches/p=--- a/part/x.c\n+++ b/part/x.c\n@@ -1 +1 @@\n"
		  "-old\n+new\n;" ROOT "/debian/patches/series=p\n;" ROOT "/part/x.c=new\n;");
}

static void names_of_a_dsc_give_the_folder(void **state)
{
	(void)state;
	char root[UX_DEBIAN_SOURCE_NAME];
	assert_true(ux_debian_source_root("pool/main/g/glibc_2.36-9+deb12u14.dsc", root));
	assert_string_equal(root, "/usr/src/glibc-2.36-9+deb12u14");
	static const char *const bad[] = {"",           "x.dsc",       "_1.dsc",
					  "a_.tar",     "a_1.dsc.asc", ".._1.dsc",
					  "a%2e_1.dsc", "a_.dsc",      "a b_1.dsc"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_false(ux_debian_source_root(bad[i], root));
}

static void make_small(struct ux_out *p)
{
	put(p, "demo_1.0-1.dsc", UX_STR("-"));
	ADD(p, "demo_1.0.orig.tar.xz", {"demo/src/a.c", "old\n"}, {"demo/src/b.c", "b\n"});
	ADD(p, "demo_1.0-1.debian.tar.xz", {"debian/patches/series", "x\n"},
	    {"debian/patches/x", FIX});
	end(p);
}

static void more_than_was_allowed_is_a_limit(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0}, pack = {0};
	make_small(&p);
	assert_int_equal(unpack(ux_out_bytes(&p), 4, &pack, NULL), UX_ELIMIT);
}

static void unpack_any(struct ux_bytes package, void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out pack = {0};
	struct ux_error err = UX_ERROR_INIT;
	(void)ctx;
	enum ux_code code = unpack(package, 1 << 20, &pack, &err);
	assert_int_equal(code, err.code);
}

static void damaged_packages_do_no_harm(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out p = {0};
	make_small(&p);
	for (size_t n = 0; n < p.size; n += 97)
		unpack_any(ux_bytes(p.data, n), NULL);
	for (size_t i = 0; i < p.size; i += 7) {
		uint8_t was = p.data[i];
		p.data[i] = (uint8_t)(was ^ (1u << i % 8));
		unpack_any(ux_out_bytes(&p), NULL);
		p.data[i] = was;
	}
}

UX_SUITE(debian_source)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_series_of_patches_is_applied_in_its_order),
		UX_TEST(a_file_that_a_patch_does_not_fit_is_left_out),
		UX_TEST(a_native_package_is_one_archive),
		UX_TEST(an_archive_without_a_folder_of_its_own_is_the_tree),
		UX_TEST(further_archives_have_folders_of_their_names),
		UX_TEST(names_of_a_dsc_give_the_folder),
		UX_TEST(more_than_was_allowed_is_a_limit),
		UX_TEST(damaged_packages_do_no_harm),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
