/* SPDX-License-Identifier: Apache-2.0 */
/* lib/unwind: the compact unwind tables of ARM as rules. */
#include "sweep.h"

#include "unwind_exidx.h"

enum {
	INDEX = 0x8000, /* where the sections are */
	TABLE = 0x9000,
	SP = 13,
	LR = 14,
	PC = 15,
};

/* .ARM.exidx with one function at 0x1000, and .ARM.extab. */
struct tables {
	uint8_t index[8];
	struct ux_object_range range;
	struct ux_object_ranges image;
	struct ux_exidx x;
};

static void put_u32(uint8_t *at, uint32_t v, bool big)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> 8 * (big ? 3 - i : i));
}

static void make_tables(struct tables *t, uint32_t word, struct ux_bytes table, bool big)
{
	put_u32(t->index, (uint32_t)(0x1000 - INDEX) & 0x7fffffff, big);
	put_u32(t->index + 4, word, big);
	t->range = (struct ux_object_range){.pc = TABLE, .size = table.size, .bytes = table};
	t->image = (struct ux_object_ranges){.data = &t->range, .size = 1};
	t->x = (struct ux_exidx){.data = ux_bytes(t->index, sizeof(t->index)),
				 .pc = INDEX,
				 .swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
				 .image = &t->image};
}

/* Rules as text: "r7+16 r4=[-8] ra=r14"; of a signal's handler with "signal". */
static const char *rules_text(const struct tables *t)
{
	static char text[512];
	struct ux_cfi_row row;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_exidx_row(&t->x, 0, &row, &err);
	assert_int_equal(code, err.code);
	if (code != UX_OK)
		return ux_code_name(code);
	assert_int_equal(row.cfa.how, UX_CFI_OFFSET);
	int n = snprintf(text, sizeof(text), "r%u%+" PRId64, row.cfa_register, row.cfa.value);
	for (unsigned i = 0; i <= PC; i++)
		if (row.rules[i].how == UX_CFI_OFFSET)
			n += snprintf(text + n, sizeof(text) - (size_t)n, " r%u=[%" PRId64 "]", i,
				      row.rules[i].value);
	snprintf(text + n, sizeof(text) - (size_t)n, " ra=r%u%s", row.ra,
		 row.signal ? " signal" : "");
	return text;
}

/* The rules that three bytes in the index give. */
static const char *rules_of_word(uint32_t word)
{
	struct tables t;
	make_tables(&t, word, UX_BYTES_NONE, false);
	return rules_text(&t);
}

/* Returns the rules of instructions in .ARM.extab, after the first word of a routine with words. */
static const char *rules_of(const uint8_t *code, size_t n)
{
	struct tables t;
	uint8_t table[64] = {0};
	size_t words = (n + 3) / 4;
	assert_in_range(n, 1, sizeof(table) - 4);
	/* Two instructions are in the word: one for a signature, and sp += 4, which is 8 in total.
	 */
	put_u32(table, 0x81000000 | (uint32_t)words << 16 | 0xb400, false);
	memset(table + 4, 0xb0, sizeof(table) - 4);
	for (size_t i = 0; i < n; i++)
		table[4 + i / 4 * 4 + 3 - i % 4] = code[i];
	struct ux_bytes guarded = guard(ux_bytes(table, 4 + 4 * words));
	make_tables(&t, TABLE - (INDEX + 4), guarded, false);
	const char *text = rules_text(&t);
	guard_free(guarded);
	return text;
}

#define RULES_OF(...) rules_of((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static void three_instructions_are_in_the_index(void **state)
{
	(void)state;
	assert_string_equal(rules_of_word(0x80b0b0b0), "r13+0 ra=r14");
	assert_string_equal(rules_of_word(0x80a8b0b0), "r13+8 r4=[-8] r14=[-4] ra=r14");
	assert_string_equal(rules_of_word(0x80048400), "r13+24 r14=[-4] ra=r14");
	/* the frame is r7, less 8; there r4 to r11 and the return address are */
	assert_string_equal(rules_of_word(0x8097419f), "unsupported"); /* sp of r15 */
	assert_string_equal(rules_of_word(0x809741af),
			    "r7+28 r4=[-36] r5=[-32] r6=[-28] r7=[-24] r8=[-20] r9=[-16] r10=[-12] "
			    "r11=[-8] r14=[-4] ra=r14");
}

static void functions_that_cannot_be_unwound_are_said_to_be(void **state)
{
	(void)state;
	assert_string_equal(rules_of_word(1), "not found");
	assert_string_equal(rules_of_word(0x81b0b0b0), "corrupt");
	assert_string_equal(rules_of_word(0x80800000), "unsupported"); /* "refuse to unwind" */
}

static void longer_ones_are_in_the_table(void **state)
{
	(void)state;
	assert_string_equal(RULES_OF(0xb0), "r13+8 ra=r14");
	assert_string_equal(RULES_OF(0x3f), "r13+264 ra=r14");
	assert_string_equal(RULES_OF(0xb2, 0x81, 0x01), "r13+1040 ra=r14"); /* 0x204 + 129 * 4 */
	assert_string_equal(RULES_OF(0xb1, 0x09), "r13+16 r0=[-8] r3=[-4] ra=r14");
	assert_string_equal(RULES_OF(0x88, 0x08), "r13+16 r7=[-8] r15=[-4] ra=r15");
	/* Floating-point registers only move the stack pointer. */
	assert_string_equal(RULES_OF(0xb3, 0x83), "r13+44 ra=r14");
	assert_string_equal(RULES_OF(0xb9), "r13+28 ra=r14");
	assert_string_equal(RULES_OF(0xc1), "r13+24 ra=r14");
	assert_string_equal(RULES_OF(0xc6, 0x01), "r13+24 ra=r14");
	assert_string_equal(RULES_OF(0xc7, 0x05), "r13+16 ra=r14");
	assert_string_equal(RULES_OF(0xc8, 0x01), "r13+24 ra=r14");
	assert_string_equal(RULES_OF(0xc9, 0x81), "r13+24 ra=r14");
	assert_string_equal(RULES_OF(0xd2), "r13+32 ra=r14");
	assert_string_equal(RULES_OF(0xb4, 0xb5, 0xb4), "r13+16 ra=r14");
	assert_string_equal(RULES_OF(0x9b, 0xa9), "r11+12 r4=[-12] r5=[-8] r14=[-4] ra=r14");
}

static void the_code_behind_a_handler_restores_all_registers(void **state)
{
	(void)state;
	assert_string_equal(RULES_OF(0xb1, 0x0f, 0x8f, 0xff),
			    "r13+72 r0=[-64] r1=[-60] r2=[-56] r3=[-52] r4=[-48] r5=[-44] r6=[-40] "
			    "r7=[-36] r8=[-32] r9=[-28] r10=[-24] r11=[-20] r12=[-16] r13=[-12] "
			    "r14=[-8] r15=[-4] ra=r15 signal");
}

static void instructions_without_a_meaning_are_refused(void **state)
{
	(void)state;
	static const uint8_t spare[][2] = {{0xb1, 0x00}, {0xb1, 0x10}, {0xb6, 0},   {0xb7, 0},
					   {0xc7, 0x00}, {0xc7, 0x10}, {0xca, 0},   {0xcf, 0},
					   {0xd8, 0},    {0xe0, 0},    {0xff, 0},   {0x9d, 0},
					   {0x9f, 0},    {0xa0, 0xa0}, {0xa0, 0x97}};
	for (size_t i = 0; i < ux_countof(spare); i++)
		assert_string_equal(rules_of(spare[i], 2), "unsupported");
	assert_string_equal(RULES_OF(0x82, 0x00, 0x01),
			    "unsupported"); /* the sp is popped already */
	assert_string_equal(RULES_OF(0xa0, 0xa0, 0xa0, 0xb2), "unsupported");
	assert_string_equal(RULES_OF(0xb0, 0xb0, 0xb0, 0xb2), "r13+8 ra=r14"); /* after the end */
	assert_string_equal(RULES_OF(0x00, 0x00, 0x00, 0xb2), "corrupt");
}

static void a_routine_of_a_language_has_its_words_behind_itself(void **state)
{
	(void)state;
	struct tables t;
	uint8_t table[16];
	put_u32(table, 0x100, false);          /* where the routine is */
	put_u32(table + 4, 0x01b400b2, false); /* one word more */
	put_u32(table + 8, 0x01a8b0b0, false);
	put_u32(table + 12, 0x12345678, false); /* data of the language */
	make_tables(&t, TABLE - (INDEX + 4), ux_bytes(table, sizeof(table)), false);
	assert_string_equal(rules_text(&t), "r13+536 r4=[-8] r14=[-4] ra=r14");
	make_tables(&t, TABLE - (INDEX + 4), ux_bytes(table, 11), false);
	assert_string_equal(rules_text(&t), "corrupt");
	make_tables(&t, TABLE - (INDEX + 4) - 4, ux_bytes(table, sizeof(table)), false);
	assert_string_equal(rules_text(&t), "corrupt"); /* no table is there */
	put_u32(table, 0x83b0b0b0, false);
	make_tables(&t, TABLE - (INDEX + 4), ux_bytes(table, sizeof(table)), false);
	assert_string_equal(rules_text(&t), "unsupported");
	put_u32(table, 0x80b0b0b0, false);
	make_tables(&t, TABLE - (INDEX + 4), ux_bytes(table, sizeof(table)), false);
	assert_string_equal(rules_text(&t), "r13+0 ra=r14");
}

static void both_byte_orders_are_read(void **state)
{
	(void)state;
	struct tables t;
	uint8_t table[4];
	put_u32(table, 0x80a8b0b0, true);
	make_tables(&t, TABLE - (INDEX + 4), ux_bytes(table, sizeof(table)), true);
	assert_string_equal(rules_text(&t), "r13+8 r4=[-8] r14=[-4] ra=r14");
}

static bool append_pc(void *ctx, uint64_t pc, uint64_t off)
{
	uint64_t *last = ctx;
	*last = pc << 8 | off;
	return true;
}

static bool append_none(void *ctx, uint64_t pc, uint64_t off)
{
	(void)ctx;
	(void)pc;
	(void)off;
	return false;
}

static void functions_are_listed(void **state)
{
	(void)state;
	struct tables t;
	uint64_t last = 0;
	make_tables(&t, 1, UX_BYTES_NONE, false);
	assert_int_equal(ux_exidx_each(&t.x, append_pc, &last, NULL), UX_OK);
	assert_int_equal(last, 0x1000 << 8);
	assert_int_equal(ux_exidx_each(&t.x, append_none, NULL, NULL), UX_ENOMEM);
	last = 0;
	t.x.data.size = 7;
	assert_int_equal(ux_exidx_each(&t.x, append_pc, &last, NULL), UX_OK);
	assert_int_equal(last, 0);
}

UX_SUITE(unwind_exidx)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(three_instructions_are_in_the_index),
		UX_TEST(functions_that_cannot_be_unwound_are_said_to_be),
		UX_TEST(longer_ones_are_in_the_table),
		UX_TEST(the_code_behind_a_handler_restores_all_registers),
		UX_TEST(instructions_without_a_meaning_are_refused),
		UX_TEST(a_routine_of_a_language_has_its_words_behind_itself),
		UX_TEST(both_byte_orders_are_read),
		UX_TEST(functions_are_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
