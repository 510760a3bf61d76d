/* SPDX-License-Identifier: Apache-2.0 */
/* store: IDs that are not stored. */
#include "sweep.h"

#include "index_sql.h"
#include "store.h"

#include <stdlib.h>

enum {
	MANY = 100000
};

static const char *id_of(unsigned n, char text[64])
{
	snprintf(text, 64, "gnu:%040x", n * 2654435761u);
	return text;
}

static void what_was_added_may_be_there_and_hardly_anything_else(void **state)
{
	(void)state;
	char id[64];
	unsigned wrong = 0;
	struct ux_id_filter *f = ux_id_filter_create(MANY);
	assert_non_null(f);
	for (unsigned i = 0; i < MANY; i++)
		ux_id_filter_add(f, "default", id_of(i, id));
	for (unsigned i = 0; i < MANY; i++)
		assert_true(ux_id_filter_may_have(f, "default", id_of(i, id)));
	for (unsigned i = 0; i < MANY; i++) {
		wrong += ux_id_filter_may_have(f, "default", id_of(MANY + i, id));
		wrong += ux_id_filter_may_have(f, "other", id_of(i, id));
	}
	print_message("%u of %d unknown ones would be looked for\n", wrong, 2 * MANY);
	assert_true(wrong < 2 * MANY / 100);
	ux_id_filter_destroy(f);
	assert_null(ux_id_filter_create(UINT64_MAX));
	ux_id_filter_destroy(NULL);
}

static void add(struct ux_index *ix, const char *ns, const char *id, uint8_t byte)
{
	const char *const ids[] = {id};
	const struct ux_arrival what = {.ns = ns, .ids = ids, .n_ids = 1};
	const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_candidate c = {.kind = UX_KIND_GSYM,
				 .size = 1,
				 .quality = UX_QUALITY_SYMTAB,
				 .origin_name = "",
				 .description = "",
				 .file_name = "",
				 .key_id = "",
				 .reason = ""};
	struct ux_add_result r;
	memset(c.blob.bytes, byte, sizeof(c.blob.bytes));
	assert_int_equal(ix->modules.add(ix, &what, &c, &who, 1, &r, NULL), UX_OK);
}

static enum ux_code find(struct ux_index *ix, const char *ns, unsigned n)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	char id[64];
	int64_t number = 0;
	enum ux_code code = ix->modules.find(ix, ns, id_of(n, id), &arena, &m, NULL);
	assert_int_equal(ix->modules.number(ix, ns, id, &number, NULL), code);
	return code;
}

static void a_store_finds_what_it_had_and_what_came_since(void **state)
{
	(void)state;
	char dir[] = "/tmp/ux-filter-XXXXXX", command[64], id[64];
	struct ux_store s;
	assert_non_null(mkdtemp(dir));
	for (unsigned turn = 0; turn < 3; turn++) {
		assert_int_equal(ux_store_open(&s, dir, NULL), UX_OK);
		for (unsigned i = 0; i < turn; i++)
			assert_int_equal(find(s.index, "default", i), UX_OK);
		assert_int_equal(find(s.index, "default", turn), UX_ENOTFOUND);
		add(s.index, "default", id_of(turn, id), (uint8_t)turn);
		assert_int_equal(find(s.index, "default", turn), UX_OK);
		assert_int_equal(find(s.index, "other", turn), UX_ENOTFOUND);
		ux_store_close(&s);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

UX_SUITE(id_filter)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_may_be_there_and_hardly_anything_else),
		cmocka_unit_test(a_store_finds_what_it_had_and_what_came_since),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
