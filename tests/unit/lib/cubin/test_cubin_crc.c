/* SPDX-License-Identifier: Apache-2.0 */
/* The number by which CUPTI names a cubin. The expected values are answers of cuptiGetCubinCrc() of
 * CUDA 13. */
#include "sweep.h"

#include "cubin_crc.h"

static void short_inputs_have_the_numbers_that_cupti_gave(void **state)
{
	(void)state;
	static const uint8_t zeros[8];
	assert_int_equal(ux_cubin_crc(ux_bytes(zeros, 1)), 0x3e801244);
	assert_int_equal(ux_cubin_crc(UX_STR("\x80")),
			 0x3e801244); /* no byte of one is looked at */
	assert_int_equal(ux_cubin_crc(ux_bytes(zeros, 2)), 0xf15b217f);
	assert_int_equal(ux_cubin_crc(UX_STR("\x01\x00")), 0xcb58a716);
	assert_int_equal(ux_cubin_crc(UX_STR("\x00\x01")), 0xf05b1fec);
	assert_int_equal(ux_cubin_crc(ux_bytes(zeros, 3)), 0xb5c8d2e6);
	assert_int_equal(ux_cubin_crc(ux_bytes(zeros, 4)), 0x940aa1f1);
	assert_int_equal(ux_cubin_crc(ux_bytes(zeros, 8)), 0xf8d3af05);
	assert_int_equal(ux_cubin_crc(UX_STR("123456789")), 0x91d7b794);
}

static void no_bytes_have_a_number(void **state)
{
	(void)state;
	assert_int_equal(ux_cubin_crc(UX_BYTES_NONE), 0x9be17165);
}

/* Bytes i * 7 + 3, of sizes around powers of two. */
static void sizes_around_powers_of_two_have_the_numbers_that_cupti_gave(void **state)
{
	(void)state;
	static const struct {
		size_t size;
		uint32_t expected;
	} cases[] = {
		{5, 0xd7740a76},     {9, 0xb801037c},     {15, 0x23e04e95},   {16, 0xfc0d0be5},
		{17, 0x027c93c8},    {31, 0xc1f73671},    {32, 0x51044dcf},   {33, 0x3b3adce9},
		{255, 0x89667e85},   {256, 0x6b2f64da},   {257, 0x6fdb3a55},  {1000, 0xdd972134},
		{4095, 0x646c7905},  {4096, 0x208bbc35},  {4097, 0x8b9484cc}, {65535, 0x272828f4},
		{65536, 0x4d631b4c}, {65537, 0xa9112d53},
	};
	static uint8_t bytes[70000];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 3);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_bytes input = guard(ux_bytes(bytes, cases[i].size));
		assert_int_equal(ux_cubin_crc(input), cases[i].expected);
		guard_free(input);
	}
}

UX_SUITE(cubin_crc)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(short_inputs_have_the_numbers_that_cupti_gave),
		UX_TEST(no_bytes_have_a_number),
		UX_TEST(sizes_around_powers_of_two_have_the_numbers_that_cupti_gave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
