/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: levels of trust, and files kept apart. */
#include "sweep.h"

#include "index_suite.h"

static struct ux_candidate trusted(uint8_t hash, enum ux_trust trust, enum ux_quality quality)
{
	struct ux_candidate c = index_candidate(hash, quality, 10);
	c.trust = trust;
	return c;
}

static struct ux_add_result add(struct ux_index *ix, const char *build, const char *file,
				struct ux_candidate c)
{
	struct ux_add_result r;
	const char *ids[] = {build, file};
	assert_int_equal(index_add_to(ix, "trust", ids, file ? 2 : 1, c, false, NULL, &r), UX_OK);
	return r;
}

static struct ux_module find(struct ux_index *ix, struct ux_arena *arena, const char *id)
{
	struct ux_module m;
	assert_int_equal(ix->modules.find(ix, "trust", id, arena, &m, NULL), UX_OK);
	return m;
}

static bool has(struct ux_index *ix, const char *id)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	return ix->modules.find(ix, "trust", id, &arena, &m, NULL) == UX_OK;
}

/* Returns the first byte of the hash of the module's best GSYM. */
static uint8_t best_of(struct ux_index *ix, const char *id)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m = find(ix, &arena, id);
	const struct ux_candidate *c = ux_module_best(&m, UX_KIND_GSYM);
	assert_non_null(c);
	return c->blob.bytes[0];
}

static struct ux_known known_of(struct ux_index *ix, const char *id)
{
	struct ux_known known;
	assert_int_equal(ix->modules.known(ix, "trust", &id, 1, &known, NULL), UX_OK);
	return known;
}

static void trust_comes_before_quality(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	add(ix, "gnu:a1", NULL, trusted(1, UX_TRUST_USER, UX_QUALITY_INLINES));
	r = add(ix, "gnu:a1", NULL, trusted(2, UX_TRUST_HOST, UX_QUALITY_DYNSYM));
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(best_of(ix, "gnu:a1"), 2);
	assert_int_equal(known_of(ix, "gnu:a1").trust, UX_TRUST_HOST);
	assert_int_equal(known_of(ix, "gnu:a1").quality, UX_QUALITY_DYNSYM);
	r = add(ix, "gnu:a1", "file:a1", trusted(3, UX_TRUST_USER, UX_QUALITY_INLINES));
	assert_int_equal(r.add, UX_ADD_POORER);
	assert_int_equal(r.best_trust, UX_TRUST_HOST);
	assert_false(has(ix, "file:a1")); /* it is not even an alias */
	r = add(ix, "gnu:a1", NULL, trusted(4, UX_TRUST_PACKAGE, UX_QUALITY_SYMTAB));
	assert_int_equal(best_of(ix, "gnu:a1"), 4);
	assert_int_equal(find(ix, &arena, "gnu:a1").n_candidates, 3);
}

static void a_pending_file_counts_with_its_trust(struct ux_index *ix)
{
	struct ux_candidate c = trusted(5, UX_TRUST_USER, UX_QUALITY_NONE);
	c.kind = UX_KIND_EXECUTABLE;
	c.state = UX_CANDIDATE_PENDING;
	c.claim = UX_QUALITY_INLINES;
	add(ix, "gnu:b1", NULL, c);
	assert_int_equal(known_of(ix, "gnu:b1").trust, UX_TRUST_USER);
	assert_int_equal(known_of(ix, "gnu:b1").quality, UX_QUALITY_INLINES);
	add(ix, "gnu:b1", NULL, trusted(6, UX_TRUST_CI, UX_QUALITY_DYNSYM));
	assert_int_equal(known_of(ix, "gnu:b1").trust, UX_TRUST_CI);
	assert_int_equal(known_of(ix, "gnu:b1").quality, UX_QUALITY_DYNSYM);
}

static void the_same_bytes_have_the_highest_trust_that_sent_them(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_candidate c = trusted(7, UX_TRUST_USER, UX_QUALITY_SYMTAB);
	c.provenance.facts[UX_OWNER] = "65534 of 65534";
	add(ix, "gnu:c1", NULL, c);
	c.trust = UX_TRUST_HOST;
	c.provenance.facts[UX_OWNER] = "0 of 0";
	assert_int_equal(add(ix, "gnu:c1", NULL, c).add, UX_ADD_SAME);
	struct ux_module m = find(ix, &arena, "gnu:c1");
	assert_int_equal(m.candidates[0].trust, UX_TRUST_HOST);
	assert_string_equal(m.candidates[0].provenance.facts[UX_OWNER], "0 of 0");
	assert_int_equal(known_of(ix, "gnu:c1").trust, UX_TRUST_HOST);
	c.trust = UX_TRUST_CONTAINER;
	c.provenance.facts[UX_OWNER] = "1 of 1";
	c.description = "mine";
	assert_int_equal(add(ix, "gnu:c1", NULL, c).add, UX_ADD_SAME);
	m = find(ix, &arena, "gnu:c1");
	assert_int_equal(m.candidates[0].trust, UX_TRUST_HOST);
	assert_string_equal(m.candidates[0].provenance.facts[UX_OWNER], "0 of 0");
	assert_string_not_equal(m.candidates[0].description, "mine");
}

/* A program of a user with the build ID of a library comes first, then the library. */
static void a_file_with_more_trust_takes_the_build_id(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	add(ix, "gnu:d1", "file:e1", trusted(11, UX_TRUST_USER, UX_QUALITY_INLINES));
	r = add(ix, "gnu:d1", "file:f1", trusted(12, UX_TRUST_HOST, UX_QUALITY_DYNSYM));
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_false(r.apart);
	assert_int_equal(best_of(ix, "gnu:d1"), 12);
	assert_int_equal(best_of(ix, "file:f1"), 12);
	assert_int_equal(best_of(ix, "file:e1"), 11);
	struct ux_module m = find(ix, &arena, "gnu:d1"), e = find(ix, &arena, "file:e1");
	assert_int_equal(m.n_candidates, 1);
	assert_int_equal(e.n_candidates, 1);
	assert_int_equal(e.n_ids, 1);
	assert_string_equal(e.candidates[0].apart_from, "gnu:d1");
	const struct ux_module_search what = {.apart = "gnu:d1", .limit = 10};
	struct ux_module_list list;
	assert_int_equal(ix->modules.search_newest(ix, "trust", &what, &arena, &list, NULL, NULL),
			 UX_OK);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.modules[0].number, e.number);
}

/* The library comes first. The program never reaches it, however often it is sent. */
static void a_file_with_less_trust_is_kept_apart(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	add(ix, "gnu:d2", "file:f2", trusted(13, UX_TRUST_HOST, UX_QUALITY_DYNSYM));
	for (uint8_t i = 0; i < 3; i++) {
		struct ux_add_result r =
			add(ix, "gnu:d2", "file:e2",
			    trusted((uint8_t)(14 + i), i == 2 ? UX_TRUST_HOST : UX_TRUST_USER,
				    UX_QUALITY_INLINES));
		assert_true(r.apart);
		assert_int_equal(r.add, UX_ADD_NEW);
	}
	assert_int_equal(best_of(ix, "gnu:d2"), 13);
	assert_int_equal(find(ix, &arena, "gnu:d2").n_candidates, 1);
	assert_int_equal(find(ix, &arena, "file:e2").n_candidates, 3);
	assert_int_equal(known_of(ix, "gnu:d2").quality, UX_QUALITY_DYNSYM);
	/* CI has the file: the build ID is its own, too */
	add(ix, "gnu:d2", "file:e2", trusted(17, UX_TRUST_CI, UX_QUALITY_INLINES));
	assert_int_equal(best_of(ix, "gnu:d2"), 17);
	assert_int_equal(best_of(ix, "file:e2"), 17);
	assert_int_equal(find(ix, &arena, "gnu:d2").n_candidates, 5);
}

/* Both are files of users: the first one keeps the build ID until root has the second one. */
static void a_copy_of_root_decides_between_users(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	add(ix, "gnu:d3", "file:e3", trusted(21, UX_TRUST_USER, UX_QUALITY_INLINES));
	assert_true(
		add(ix, "gnu:d3", "file:f3", trusted(22, UX_TRUST_USER, UX_QUALITY_SYMTAB)).apart);
	assert_int_equal(best_of(ix, "gnu:d3"), 21);
	assert_int_equal(best_of(ix, "file:f3"), 22);
	struct ux_add_result r =
		add(ix, "gnu:d3", "file:f3", trusted(22, UX_TRUST_HOST, UX_QUALITY_SYMTAB));
	assert_false(r.apart);
	assert_int_equal(best_of(ix, "gnu:d3"), 22);
	assert_int_equal(best_of(ix, "file:f3"), 22);
	assert_int_equal(best_of(ix, "file:e3"), 21);
	assert_int_equal(known_of(ix, "gnu:d3").trust, UX_TRUST_HOST);
	assert_int_equal(known_of(ix, "file:e3").trust, UX_TRUST_USER);
	assert_string_equal(find(ix, &arena, "file:e3").candidates[0].apart_from, "gnu:d3");
	assert_string_equal(find(ix, &arena, "file:f3").candidates[0].apart_from, "");
}

/* A stripped file has another File ID than the one that CI pushed. */
static void a_stripped_file_stays_with_its_build(struct ux_index *ix)
{
	add(ix, "gnu:d4", "file:e4", trusted(31, UX_TRUST_HOST, UX_QUALITY_DYNSYM));
	assert_false(
		add(ix, "gnu:d4", "file:f4", trusted(32, UX_TRUST_CI, UX_QUALITY_INLINES)).apart);
	assert_int_equal(best_of(ix, "file:e4"), 32);
	assert_int_equal(best_of(ix, "file:f4"), 32);
	assert_int_equal(
		add(ix, "gnu:d4", "file:e4", trusted(33, UX_TRUST_HOST, UX_QUALITY_INLINES)).add,
		UX_ADD_POORER);
}

void index_trust_conforms(struct ux_index *ix)
{
	trust_comes_before_quality(ix);
	a_pending_file_counts_with_its_trust(ix);
	the_same_bytes_have_the_highest_trust_that_sent_them(ix);
	a_file_with_more_trust_takes_the_build_id(ix);
	a_file_with_less_trust_is_kept_apart(ix);
	a_copy_of_root_decides_between_users(ix);
	a_stripped_file_stays_with_its_build(ix);
	index_offers_agree(ix, "trust", 8);
}
