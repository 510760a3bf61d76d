/* SPDX-License-Identifier: Apache-2.0 */
/* service: keys that are remembered, for a second or while the index is away. */
#include "sweep.h"

#include "auth.h"
#include "blobs.h"
#include "recent.h"

#define TOKEN "ux_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const int64_t second = UX_RECENT_NS;

/* An index with one key. */
struct world {
	struct ux_index ix;
	struct ux_known_keys known;
	enum ux_code code; /* result of reading the index */
	ux_time expires, token_expires;
	unsigned reads;
};

static enum ux_code find(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			 struct ux_key *ret, struct ux_token_row *ret_token, struct ux_error *err)
{
	struct world *w = (struct world *)ix;
	(void)arena;
	w->reads++;
	if (w->code != UX_OK)
		return ux_error_set(err, w->code, "it is as the test says");
	*ret = (struct ux_key){.ns = "space", .description = "", .expires = w->expires};
	snprintf(ret->id, sizeof(ret->id), "%s", token_id);
	*ret_token = (struct ux_token_row){.hash = ux_blob_hash_of(UX_STR(TOKEN)),
					   .expires = w->token_expires};
	return UX_OK;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->ix.keys.find = find;
	assert_true(ux_known_keys_init(&w->known));
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	ux_known_keys_deinit(&w->known);
	free(w);
	return 0;
}

static enum ux_code check(struct world *w, int64_t clock_ns, ux_time now)
{
	UX_ARENA(arena, 1 << 16);
	struct ux_key key = {0};
	enum ux_code code = ux_known_keys_check(&w->known, &w->ix, UX_STR(TOKEN), clock_ns, now,
						&arena, &key, NULL);
	if (code == UX_OK)
		assert_string_equal(key.ns, "space");
	return code;
}

static void a_key_is_read_again_after_a_second(void **state)
{
	struct world *w = *state;
	assert_int_equal(check(w, second, 1), UX_OK);
	assert_int_equal(check(w, 2 * second - 1, 1), UX_OK);
	assert_int_equal(w->reads, 1);
	assert_int_equal(check(w, 2 * second, 1), UX_OK);
	assert_int_equal(w->reads, 2);
	w->code = UX_ENOTFOUND;
	assert_int_equal(check(w, 3 * second, 1), UX_EDENIED);
}

static void a_known_key_is_used_for_ten_minutes_while_the_index_is_away(void **state)
{
	struct world *w = *state;
	assert_int_equal(check(w, second, 1), UX_OK);
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, 500 * second, 1), UX_OK);
	assert_int_equal(w->reads, 2);
	/* and the index is tried once a second, by one request */
	assert_int_equal(check(w, 501 * second - 1, 1), UX_OK);
	assert_int_equal(w->reads, 2);
	assert_int_equal(check(w, 501 * second, 1), UX_OK);
	assert_int_equal(w->reads, 3);
	assert_int_equal(check(w, second + UX_RECENT_AWAY_NS - 1, 1), UX_OK);
	assert_int_equal(check(w, second + UX_RECENT_AWAY_NS, 1), UX_EUNAVAILABLE);
}

static void an_unknown_key_is_none_while_the_index_is_away(void **state)
{
	struct world *w = *state;
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, second, 1), UX_EUNAVAILABLE);
}

static void a_key_that_was_denied_is_not_used_when_the_index_is_away_later(void **state)
{
	struct world *w = *state;
	assert_int_equal(check(w, second, 1), UX_OK);
	w->code = UX_ENOTFOUND;
	assert_int_equal(check(w, 2 * second, 1), UX_EDENIED);
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, 3 * second, 1), UX_EUNAVAILABLE);
}

static void a_key_that_was_forgotten_is_not_used_when_the_index_is_away(void **state)
{
	struct world *w = *state;
	assert_int_equal(check(w, second, 1), UX_OK);
	ux_known_keys_forget(&w->known);
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, second + 1, 1), UX_EUNAVAILABLE);
}

static void a_key_and_a_token_of_it_end_while_the_index_is_away(void **state)
{
	struct world *w = *state;
	w->expires = 100;
	assert_int_equal(check(w, second, 1), UX_OK);
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, 3 * second, 99), UX_OK);
	assert_int_equal(check(w, 5 * second, 100), UX_EDENIED);
	w->code = UX_OK;
	w->expires = 0;
	w->token_expires = 50;
	assert_int_equal(check(w, 7 * second, 1), UX_OK);
	w->code = UX_EUNAVAILABLE;
	assert_int_equal(check(w, 9 * second, 49), UX_OK);
	assert_int_equal(check(w, 11 * second, 50), UX_EDENIED);
}

UX_SUITE(known_keys)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_read_again_after_a_second),
		TEST(a_known_key_is_used_for_ten_minutes_while_the_index_is_away),
		TEST(an_unknown_key_is_none_while_the_index_is_away),
		TEST(a_key_that_was_denied_is_not_used_when_the_index_is_away_later),
		TEST(a_key_that_was_forgotten_is_not_used_when_the_index_is_away),
		TEST(a_key_and_a_token_of_it_end_while_the_index_is_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
