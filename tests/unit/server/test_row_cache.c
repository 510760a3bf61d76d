/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: rows of modules and small files that are cached for a second. */
#include "sweep.h"

#include "make_server.h"
#include "row_cache.h"

#include <time.h>

struct thing {
	struct ux_row_cache_item item;
	char key[16];
	int *gone;
};

static void destroy(struct ux_row_cache_item *item)
{
	struct thing *t = ux_container_of(item, struct thing, item);
	++*t->gone;
	free(t);
}

static struct thing *make(const char *key, int *gone)
{
	struct thing *t = calloc(1, sizeof(*t));
	assert_non_null(t);
	snprintf(t->key, sizeof(t->key), "%s", key);
	t->gone = gone;
	ux_row_cache_item_init(&t->item, ux_bytes_cstr(t->key), destroy);
	return t;
}

static struct ux_row_cache_item *get(struct ux_row_cache *r, const char *key)
{
	uint64_t moment;
	return ux_row_cache_get(r, ux_bytes_cstr(key), &moment);
}

/* Puts a row and releases it; returns the moment before that. */
static uint64_t put(struct ux_row_cache *r, const char *key, int *gone)
{
	uint64_t moment = 0;
	ux_row_cache_item_unref(ux_row_cache_get(r, ux_bytes_cstr(key), &moment));
	struct thing *t = make(key, gone);
	ux_row_cache_put(r, &t->item, moment);
	ux_row_cache_item_unref(&t->item);
	return moment;
}

static void what_was_put_is_got_until_something_is_forgotten(void **state)
{
	(void)state;
	int gone = 0;
	struct ux_row_cache *r = ux_row_cache_create();
	assert_null(get(r, "a"));
	put(r, "a", &gone);
	struct ux_row_cache_item *a = get(r, "a");
	assert_non_null(a);
	assert_true(ux_bytes_eq(a->key, UX_STR("a")));
	assert_null(get(r, "b"));
	ux_row_cache_clear(r);
	assert_null(get(r, "a"));
	assert_int_equal(gone, 0);
	ux_row_cache_destroy(r);
	assert_int_equal(gone, 0);
	ux_row_cache_item_unref(a); /* a holder keeps it to the end */
	assert_int_equal(gone, 1);
	ux_row_cache_item_unref(NULL);
	ux_row_cache_destroy(NULL);
}

static void what_was_read_before_a_change_is_not_kept_after_it(void **state)
{
	(void)state;
	int gone = 0;
	struct ux_row_cache *r = ux_row_cache_create();
	uint64_t moment = 0;
	assert_null(ux_row_cache_get(r, UX_STR("a"), &moment));
	struct thing *t = make("a", &gone);
	ux_row_cache_clear(r);
	ux_row_cache_put(r, &t->item, moment);
	assert_null(get(r, "a"));
	ux_row_cache_item_unref(&t->item);
	assert_int_equal(gone, 1);
	ux_row_cache_destroy(r);
}

static void the_newer_one_of_a_key_takes_the_place_of_the_older(void **state)
{
	(void)state;
	int gone = 0;
	struct ux_row_cache *r = ux_row_cache_create();
	put(r, "a", &gone);
	put(r, "a", &gone);
	assert_int_equal(gone, 1);
	ux_row_cache_destroy(r);
	assert_int_equal(gone, 2);
}

static void no_more_than_so_many_are_kept(void **state)
{
	(void)state;
	enum {
		MANY = 20000,
		KEPT = 512
	};
	int gone = 0;
	struct ux_row_cache *r = ux_row_cache_create();
	for (int i = 0; i < MANY; i++) {
		char key[16];
		snprintf(key, sizeof(key), "%d", i);
		put(r, key, &gone);
	}
	assert_int_equal(gone, MANY - KEPT);
	ux_row_cache_destroy(r);
	assert_int_equal(gone, MANY);
}

static void old_answers_are_requested_again(void **state)
{
	(void)state;
	int gone = 0;
	struct ux_row_cache *r = ux_row_cache_create();
	const struct timespec nap = {.tv_nsec = 50000000};
	struct ux_row_cache_item *item = NULL;
	put(r, "a", &gone);
	for (int i = 0; i < 1200 && (item = get(r, "a")); i++) {
		ux_row_cache_item_unref(item);
		nanosleep(&nap, NULL);
	}
	assert_null(item);
	ux_row_cache_destroy(r);
}

static void add_module(struct ux_index *ix, const char *id, uint8_t byte)
{
	const char *const ids[] = {id};
	const struct ux_arrival what = {.ns = "default", .ids = ids, .n_ids = 1};
	const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_candidate c = {.kind = UX_KIND_EXECUTABLE,
				 .size = 1,
				 .quality = UX_QUALITY_SYMTAB,
				 .counts = {.functions = byte},
				 .holds = UX_HOLDS_CODE,
				 .origin_name = "",
				 .description = "",
				 .file_name = "",
				 .key_id = "",
				 .reason = ""};
	struct ux_add_result r;
	memset(c.blob.bytes, byte, sizeof(c.blob.bytes));
	assert_int_equal(ix->modules.add(ix, &what, &c, &who, 1, &r, NULL), UX_OK);
}

static void a_module_is_as_the_index_has_it_from_the_change_on(void **state)
{
	(void)state;
	struct make_server s;
	struct ux_cached_row *m[4] = {0};
	static const char id[] = "gnu:00112233445566778899aabbccddeeff00112233";
	make_server_open(&s, NULL, /* open_reading= */ true);
	struct ux_module_cache *cache = s.server.cache;
	struct ux_row_cache *r = ux_module_cache_rows(cache);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_row_cache_module(r, &s.store, "default", id, &m[0], &err),
			 UX_ENOTFOUND);
	add_module(s.store.index, id, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ux_row_cache_module(r, &s.store, "default", id, &m[i], NULL),
				 UX_OK);
	assert_int_equal(m[0]->row.n_candidates, 1);
	add_module(s.store.index, id, 2);
	ux_module_cache_evict_id(cache, "default", id);
	assert_int_equal(ux_row_cache_module(r, &s.store, "default", id, &m[2], NULL), UX_OK);
	assert_int_equal(m[2]->row.n_candidates, 2);
	assert_int_equal(m[0]->row.n_candidates, 1);
	assert_int_equal(ux_row_cache_module(r, &s.store, "other", id, &m[3], NULL), UX_ENOTFOUND);
	for (int i = 0; i < 3; i++)
		ux_row_cache_item_unref(&m[i]->item);
	make_server_close(&s);
}

UX_SUITE(row_cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_got_until_something_is_forgotten),
		cmocka_unit_test(what_was_read_before_a_change_is_not_kept_after_it),
		cmocka_unit_test(the_newer_one_of_a_key_takes_the_place_of_the_older),
		cmocka_unit_test(no_more_than_so_many_are_kept),
		cmocka_unit_test(old_answers_are_requested_again),
		cmocka_unit_test(a_module_is_as_the_index_has_it_from_the_change_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
