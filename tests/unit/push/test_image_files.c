/* SPDX-License-Identifier: Apache-2.0 */
/* image_files: the visible files of an image's layers. */
#include "sweep.h"

#include "image_files.h"

enum {
	FILES_MAX = 8
};

struct layer {
	struct ux_packed_source files[FILES_MAX];
	size_t n;
};

static void add(struct layer *l, const char *path, uint64_t size)
{
	assert_true(l->n < FILES_MAX);
	l->files[l->n] = (struct ux_packed_source){path, l->n, size};
	l->n++;
}

/* Checks the visible paths of the layers, the highest first, each followed by a space. */
static void expect(struct layer *layers, size_t n, const char *want)
{
	ux_cleanup(ux_image_files_deinit) struct ux_image_files f = {0};
	char got[256] = "";
	UX_ARENA(arena, 1 << 16);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ux_image_files_add_layer(&f, UX_STR("/lib/target"),
							  layers[i].files, layers[i].n, (int)i,
							  &arena, NULL),
				 UX_OK);
	for (size_t i = 0; i < f.members.size; i++) {
		size_t at = strlen(got);
		snprintf(got + at, sizeof(got) - at, "%s ", f.members.data[i].file.path);
	}
	assert_string_equal(got, want);
}

static void a_whiteout_hides_what_is_below_in_lower_layers_alone(void **state)
{
	(void)state;
	struct layer l[2] = {0};
	add(&l[0], "/other/bin/.wh.a", 0);
	add(&l[0], "/object/bin/a/new", 1);
	add(&l[1], "/object/bin/a", 1);
	add(&l[1], "/object/bin/a/old", 1);
	add(&l[1], "/object/bin/ab", 1);
	expect(l, 2, "/object/bin/a/new /object/bin/ab ");
}

static void an_opaque_folder_shows_only_its_own_layer(void **state)
{
	(void)state;
	struct layer l[2] = {0};
	add(&l[0], "/other/opt/.wh..wh..opq", 0);
	add(&l[0], "/object/opt/new", 1);
	add(&l[1], "/object/opt/old", 1);
	add(&l[1], "/object/optional", 1);
	expect(l, 2, "/object/opt/new /object/optional ");
}

static void a_file_hides_a_folder_and_a_folder_hides_a_file(void **state)
{
	(void)state;
	struct layer l[2] = {0};
	add(&l[0], "/other/srv", 0);
	add(&l[0], "/folder/lib", 0);
	add(&l[1], "/object/srv/a", 1);
	add(&l[1], "/object/lib", 1);
	add(&l[1], "/object/lib/b", 1);
	expect(l, 2, "/object/lib/b ");
}

static void a_link_to_a_hidden_file_takes_its_place(void **state)
{
	(void)state;
	struct layer l[2] = {0};
	add(&l[0], "/other/lib/.wh.target", 0);
	add(&l[1], "/object/lib/target", 1);
	l[1].files[l[1].n++] = (struct ux_packed_source){"/link/usr/name", 0, 11};
	expect(l, 2, "/object/usr/name ");
	expect(l + 1, 1, "/object/lib/target ");
}

UX_SUITE(image_files)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whiteout_hides_what_is_below_in_lower_layers_alone),
		cmocka_unit_test(an_opaque_folder_shows_only_its_own_layer),
		cmocka_unit_test(a_file_hides_a_folder_and_a_folder_hides_a_file),
		cmocka_unit_test(a_link_to_a_hidden_file_takes_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
