/* SPDX-License-Identifier: Apache-2.0 */
/* What one unit tells, the units of later waves need not read. */
#include "sweep.h"

#include "unit_cutter.h"

static struct ux_code_symbol at(uint64_t start)
{
	return (struct ux_code_symbol){.start = start, .size = 16, .name = "f", .name_size = 1};
}

/* Symbols at 0x1000, twice, and at 0x2000; units 0 to 9, all in wave 0. */
struct fixture {
	struct ux_code_symbol list[3];
	struct ux_code_symbol_vec symbols;
	struct ux_claims claims;
};

static void begin(struct fixture *f)
{
	f->list[0] = f->list[1] = at(0x1000);
	f->list[2] = at(0x2000);
	f->symbols = (struct ux_code_symbol_vec){.data = f->list, .size = 3, .cap = 3};
	assert_true(ux_claims_init(&f->claims, &f->symbols));
	assert_true(ux_claims_grow(&f->claims, 10));
}

static void a_later_wave_sees_a_claim(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	f.claims.wave_of[5] = 1;
	ux_claims_add(&f.claims, 2, 0x1000, 16);
	assert_true(ux_claims_has(&f.claims, 5, 0x1000, 16));
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 17));
	assert_false(ux_claims_has(&f.claims, 5, 0x2000, 16));
	ux_claims_deinit(&f.claims);
}

static void units_that_come_later_see_the_claims_of_before(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 2, 0x1000, 16);
	assert_true(ux_claims_grow(&f.claims, 5000));
	assert_int_equal(f.claims.wave_of[4999], 0);
	f.claims.wave_of[4999] = 1;
	assert_true(ux_claims_has(&f.claims, 4999, 0x1000, 16));
	ux_claims_deinit(&f.claims);
}

static void a_wave_does_not_see_its_own_claims(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	ux_claims_add(&f.claims, 2, 0x1000, 16);
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 16));
	ux_claims_deinit(&f.claims);
}

static void a_unit_of_a_lower_number_reads_for_itself(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	f.claims.wave_of[5] = 1;
	ux_claims_add(&f.claims, 7, 0x1000, 16);
	assert_false(ux_claims_has(&f.claims, 5, 0x1000, 16));
	ux_claims_deinit(&f.claims);
}

static void the_lowest_unit_of_a_wave_claims_in_any_order(void **state)
{
	(void)state;
	static const uint32_t orders[][2] = {{2, 3}, {3, 2}};
	for (size_t i = 0; i < ux_countof(orders); i++) {
		struct fixture f;
		begin(&f);
		f.claims.wave_of[5] = 1;
		for (size_t k = 0; k < 2; k++)
			ux_claims_add(&f.claims, orders[i][k], 0x1000, 10 + orders[i][k]);
		assert_true(ux_claims_has(&f.claims, 5, 0x1000, 12));
		assert_false(ux_claims_has(&f.claims, 5, 0x1000, 13));
		ux_claims_deinit(&f.claims);
	}
}

static void an_earlier_waves_claim_stays_whatever_comes(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	f.claims.wave_of[1] = f.claims.wave_of[8] = 1;
	ux_claims_add(&f.claims, 7, 0x1000, 16);
	ux_claims_add(&f.claims, 1, 0x1000, 16);
	assert_true(ux_claims_has(&f.claims, 8, 0x1000, 16));
	ux_claims_deinit(&f.claims);
}

static void code_at_which_no_symbol_begins_has_no_name(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	f.claims.wave_of[5] = 1;
	ux_claims_add(&f.claims, 2, 0x1800, 16);
	assert_false(ux_claims_has(&f.claims, 5, 0x1800, 16));
	assert_false(ux_claims_has(&f.claims, 5, 0x3000, 16));
	ux_claims_deinit(&f.claims);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_later_wave_sees_a_claim),
		UX_TEST(units_that_come_later_see_the_claims_of_before),
		UX_TEST(a_wave_does_not_see_its_own_claims),
		UX_TEST(a_unit_of_a_lower_number_reads_for_itself),
		UX_TEST(the_lowest_unit_of_a_wave_claims_in_any_order),
		UX_TEST(an_earlier_waves_claim_stays_whatever_comes),
		UX_TEST(code_at_which_no_symbol_begins_has_no_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
