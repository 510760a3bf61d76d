/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: units of later waves need not read functions that one unit describes; they find them by
 * the index of symbols. */
#include "sweep.h"

#include "unit_cutter.h"

static struct ux_code_symbol at(uint64_t start)
{
	return (struct ux_code_symbol){.start = start, .size = 16, .name = "f", .name_size = 1};
}

/* Symbols at 0x1000, twice, and at 0x2000. */
struct fixture {
	struct ux_code_symbol list[3];
	struct ux_code_symbol_vec symbols;
	struct ux_code_symbol_index index;
	struct ux_claims claims;
};

static void begin(struct fixture *f)
{
	f->list[0] = f->list[1] = at(0x1000);
	f->list[2] = at(0x2000);
	f->symbols = (struct ux_code_symbol_vec){.data = f->list, .size = 3, .cap = 3};
	assert_true(ux_code_symbol_index_init(&f->index, &f->symbols));
	assert_true(ux_claims_init(&f->claims, &f->index));
}

static void end(struct fixture *f)
{
	ux_claims_deinit(&f->claims);
	ux_code_symbol_index_deinit(&f->index);
}

static void a_claim_of_a_unit_that_has_ended_is_seen(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 2, 0x1000, 16);
	assert_true(ux_claims_has(&f.claims, 3, 0x1000, 16));
	assert_true(ux_claims_has(&f.claims, 5, 0x1000, 16));
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 17));
	assert_false(ux_claims_has(&f.claims, 5, 0x2000, 16));
	end(&f);
}

static void a_claim_of_a_unit_that_may_still_run_is_not_seen(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 2, 0x1000, 16);
	assert_false(ux_claims_has(&f.claims, 2, 0x1000, 16));
	assert_false(ux_claims_has(&f.claims, 0, 0x1000, 16));
	ux_claims_add(&f.claims, 0, 0x2000, 16);
	assert_false(ux_claims_has(&f.claims, 0, 0x2000, 16));
	assert_true(ux_claims_has(&f.claims, 1, 0x2000, 16));
	end(&f);
}

static void the_lowest_unit_claims_in_any_order(void **state)
{
	(void)state;
	static const uint32_t orders[][2] = {{2, 3}, {3, 2}};
	for (size_t i = 0; i < ux_countof(orders); i++) {
		struct fixture f;
		begin(&f);
		for (size_t k = 0; k < 2; k++)
			ux_claims_add(&f.claims, orders[i][k], 0x1000, 10 + orders[i][k]);
		assert_true(ux_claims_has(&f.claims, 5, 0x1000, 12));
		assert_false(ux_claims_has(&f.claims, 5, 0x1000, 13));
		end(&f);
	}
}

static void a_claim_does_not_depend_on_what_later_units_have_claimed_before(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 7, 0x1000, 20);
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 20));
	ux_claims_add(&f.claims, 1, 0x1000, 16);
	assert_true(ux_claims_has(&f.claims, 5, 0x1000, 16));
	ux_claims_clear(&f.claims);
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 16));
	end(&f);
}

static void code_at_which_no_symbol_begins_has_no_claims(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 2, 0x1800, 16);
	assert_false(ux_claims_has(&f.claims, 5, 0x1800, 16));
	assert_false(ux_claims_has(&f.claims, 5, 0x3000, 16));
	end(&f);
}

/* Compares the index with a search at each symbol, and right before and after it. */
static void check_index(const struct ux_code_symbol *list, size_t n)
{
	struct ux_code_symbol_vec symbols = {
		.data = (struct ux_code_symbol *)list, .size = n, .cap = n};
	struct ux_code_symbol_index index;
	assert_true(ux_code_symbol_index_init(&index, &symbols));
	for (size_t i = 0; i < n; i++)
		for (int side = -1; side <= 1; side++) {
			uint64_t pc = list[i].start + (uint64_t)side;
			assert_ptr_equal(ux_code_symbol_index_from(&index, pc),
					 ux_code_symbols_from(&symbols, pc));
		}
	assert_ptr_equal(ux_code_symbol_index_from(&index, 0), n > 0 ? list : NULL);
	assert_ptr_equal(ux_code_symbol_index_from(&index, UINT64_MAX),
			 ux_code_symbols_from(&symbols, UINT64_MAX));
	ux_code_symbol_index_deinit(&index);
}

static void the_index_finds_what_a_search_finds(void **state)
{
	(void)state;
	struct ux_code_symbol dense[100], sparse[100];
	const struct ux_code_symbol ends[] = {at(0), at(0), at(UINT64_MAX)};
	for (size_t i = 0; i < ux_countof(dense); i++) {
		dense[i] = at(0x400000 + i / 3 * 16);
		sparse[i] = at(0x1000 + ((uint64_t)i * i * i << (i / 3)));
	}
	for (size_t n = 0; n <= ux_countof(dense); n += n < 5 ? 1 : 19) {
		check_index(dense, n);
		check_index(sparse, n);
	}
	check_index(ends, ux_countof(ends));
}

UX_SUITE(claims)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_claim_of_a_unit_that_has_ended_is_seen),
		UX_TEST(a_claim_of_a_unit_that_may_still_run_is_not_seen),
		UX_TEST(the_lowest_unit_claims_in_any_order),
		UX_TEST(a_claim_does_not_depend_on_what_later_units_have_claimed_before),
		UX_TEST(code_at_which_no_symbol_begins_has_no_claims),
		UX_TEST(the_index_finds_what_a_search_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
