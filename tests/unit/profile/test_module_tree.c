/* SPDX-License-Identifier: Apache-2.0 */
/* Files of kernel modules in trees of distributions. */
#include "sweep.h"

#include "module_tree.h"

#include <sys/stat.h>

/* A root for the test's files. */
static char root[32];

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/unhex-tree-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];
	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void put(const char *name, const char *content)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
}

/* Compares the result with a path below the root; NULL: not found. */
static void expect(const char *release, const char *name, const char *expected)
{
	char *found = NULL;
	enum ux_code code = ux_module_tree_find(ux_bytes_cstr(root), ux_bytes_cstr(release), name,
						&found, NULL);
	assert_int_equal(code, expected ? UX_OK : UX_ENOTFOUND);
	if (expected)
		assert_string_equal(found + strlen(root), expected);
	free(found);
}

static void the_list_of_depmod_is_used_where_its_file_exists(void **state)
{
	(void)state;
	put("lib/modules/6.1/modules.dep",
	    "kernel/b/some-fs.ko.xz: kernel/c.ko\nkernel/gone.ko:\n");
	put("lib/modules/6.1/kernel/a/some-fs.ko", "");
	put("lib/modules/6.1/kernel/b/some-fs.ko.xz", "");
	put("lib/modules/6.1/kernel/d/gone.ko.zst", "");
	expect("6.1", "some_fs", "/lib/modules/6.1/kernel/b/some-fs.ko.xz");
	expect("6.1", "gone", "/lib/modules/6.1/kernel/d/gone.ko.zst");
	expect("6.1", "fs", NULL);
	expect("6.1", "c", NULL);
	expect("6.2", "some_fs", NULL);
}

static void without_a_list_the_files_are_searched_in_the_order_of_their_names(void **state)
{
	(void)state;
	put("usr/lib/modules/6.1/updates/x.ko.debug", "");
	put("usr/lib/modules/6.1/kernel/z/x.ko", "");
	put("usr/lib/modules/6.1/kernel/y/xx.ko", "");
	expect("6.1", "x", "/usr/lib/modules/6.1/kernel/z/x.ko");
	expect("6.1", "xx", "/usr/lib/modules/6.1/kernel/y/xx.ko");
}

static void what_is_no_release_leads_nowhere(void **state)
{
	(void)state;
	put("lib/modules/6.1/x.ko", "");
	put("lib/x.ko", "");
	expect("..", "x", NULL);
	expect("", "x", NULL);
	expect("../modules/6.1", "x", NULL);
	expect("6.1/", "x", NULL);
}

static void names_are_those_of_the_kernel(void **state)
{
	(void)state;
	char name[UX_MODULE_NAME_MAX];
	assert_true(ux_module_name(UX_STR("/lib/modules/6.1/some-fs.ko.xz"), name));
	assert_string_equal(name, "some_fs");
	assert_true(ux_module_name(UX_STR("[ext4]"), name));
	assert_string_equal(name, "ext4");
	assert_false(ux_module_name(UX_STR("/bin/true"), name));
	assert_false(ux_module_name(UX_STR("[]"), name));
	assert_false(ux_module_name(
		UX_STR("[a_name_that_is_longer_than_any_name_of_a_module_in_the_kernel_can_be]"),
		name));
}

UX_SUITE(module_tree)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_list_of_depmod_is_used_where_its_file_exists,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(
			without_a_list_the_files_are_searched_in_the_order_of_their_names,
			make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_is_no_release_leads_nowhere, make_root,
						remove_root),
		UX_TEST(names_are_those_of_the_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
