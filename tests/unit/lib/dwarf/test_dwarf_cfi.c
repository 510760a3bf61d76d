/* SPDX-License-Identifier: Apache-2.0 */
/* lib/dwarf: the rules that call frame instructions give, and the results of their expressions. */
#include "sweep.h"

#include "dwarf_cfi.h"
#include "make_frames.h"

enum {
	AT = 0x4000, /* where the section is */
	LO = 0x1000, /* of the function */
	SIZE = 0x100,
	RA = 16,
	RBP = 6,
	RSP = 7,
};

/* rsp + 8; the return address at CFA - 8: as x86-64 begins all functions. */
static const uint8_t initial[] = {0x0c, RSP, 8, 0x80 | RA, 1};

/* The rules at a pc of a function with these instructions, as text: "rsp+16 r6=[-16] r16=[-8]". */
static const char *rules_of(const uint8_t *instructions, size_t n, uint64_t pc)
{
	static char text[1024];
	static const char *const forms[] = {
		"", "?", "same", "[%" PRId64 "]", "cfa%+" PRId64, "r%" PRId64, "[expr]", "expr"};
	struct make_frames f;
	struct ux_dwarf_fde fde;
	struct ux_dwarf_cie cie = {.off = UINT64_MAX};
	struct ux_cfi_row row;
	struct ux_error err = UX_ERROR_INIT;
	make_frames_init(&f, true, false, AT);
	f.initial = ux_bytes(initial, sizeof(initial));
	f.instructions = ux_bytes(instructions, n);
	make_frames_cie(&f, "zR");
	size_t off = f.out.size;
	make_frames_fde(&f, LO, SIZE);
	struct ux_dwarf_frames in = {
		.data = guard(ux_out_bytes(&f.out)), .pc = AT, .eh = true, .address_size = 8};
	assert_int_equal(ux_dwarf_fde_read(&in, off, &cie, &fde, &err), UX_OK);
	assert_int_equal(fde.lo, LO);
	assert_int_equal(fde.hi, LO + SIZE);
	enum ux_code code = ux_dwarf_cfi_row(&in, &fde, pc, &row, &err);
	assert_int_equal(code, err.code);
	size_t at = 0;
	if (code != UX_OK)
		snprintf(text, sizeof(text), "%s: %s", ux_code_name(code), err.text);
	else if (row.cfa.how == UX_CFI_VAL_EXPRESSION)
		at = (size_t)snprintf(text, sizeof(text), "expr");
	else
		at = (size_t)snprintf(text, sizeof(text), "r%u%+" PRId64, row.cfa_register,
				      row.cfa.value);
	for (unsigned i = 0; code == UX_OK && i < UX_CFI_REGISTERS; i++) {
		char value[32];
		if (row.rules[i].how == UX_CFI_UNSPECIFIED)
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(value, sizeof(value), forms[row.rules[i].how], row.rules[i].value);
#pragma GCC diagnostic pop
		at += (size_t)snprintf(text + at, sizeof(text) - at, " r%u=%s", i, value);
	}
	guard_free(in.data);
	make_frames_deinit(&f);
	return text;
}

#define RULES(pc, ...) \
	rules_of((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), pc)

static void a_prologue_changes_the_rules_from_pc_to_pc(void **state)
{
	(void)state;
	/* push rbp; mov rsp, rbp; ...; leave */
#define PROLOGUE 0x41, 0x0e, 16, 0x80 | RBP, 2, 0x43, 0x0d, RBP, 0x50, 0x0c, RSP, 8, 0xc0 | RBP
	assert_string_equal(RULES(LO, PROLOGUE), "r7+8 r16=[-8]");
	assert_string_equal(RULES(LO + 1, PROLOGUE), "r7+16 r6=[-16] r16=[-8]");
	assert_string_equal(RULES(LO + 4, PROLOGUE), "r6+16 r6=[-16] r16=[-8]");
	assert_string_equal(RULES(LO + 0x13, PROLOGUE), "r6+16 r6=[-16] r16=[-8]");
	assert_string_equal(RULES(LO + 0x14, PROLOGUE), "r7+8 r16=[-8]");
}

static void a_remembered_row_comes_back_whole(void **state)
{
	(void)state;
	assert_string_equal(RULES(LO + 2, 0x0a, 0x0e, 32, 0x83, 4, 0x42, 0x0b), "r7+8 r16=[-8]");
	assert_string_equal(RULES(LO + 1, 0x0a, 0x0e, 32, 0x83, 4, 0x42, 0x0b),
			    "r7+32 r3=[-32] r16=[-8]");
	assert_non_null(strstr(RULES(LO, 0x0b), "corrupt: restore_state without remember_state"));
}

static void every_kind_of_rule_is_known(void **state)
{
	(void)state;
	assert_string_equal(RULES(LO, 0x05, 3, 5, 0x11, 12, 0x7d, 0x07, 0, 0x08, 1, 0x09, 2, 13),
			    "r7+8 r0=? r1=same r2=r13 r3=[-40] r12=[24] r16=[-8]");
	assert_string_equal(RULES(LO, 0x14, 3, 2, 0x15, 4, 0x7e, 0x2f, 5, 1, 0x2e, 16),
			    "r7+8 r3=cfa-16 r4=cfa+16 r5=[8] r16=[-8]");
	assert_string_equal(RULES(LO, 0x0f, 1, 0x30, 0x10, 3, 1, 0x31, 0x16, 6, 1, 0x32),
			    "expr r3=[expr] r6=expr r16=[-8]");
	assert_string_equal(RULES(LO, 0x12, RBP, 0x7e, 0x06, 16), "r6+16 r16=[-8]");
	assert_string_equal(RULES(LO, 0x13, 0x7c), "r7+32 r16=[-8]");
	assert_string_equal(RULES(LO, 0x05, 0xff, 0x01, 5), "r7+8 r16=[-8]"); /* another column */
}

static void the_pc_moves_by_each_width(void **state)
{
	(void)state;
	assert_string_equal(RULES(LO + 2, 0x02, 3, 0x0e, 16), "r7+8 r16=[-8]");
	assert_string_equal(RULES(LO + 3, 0x02, 3, 0x0e, 16), "r7+16 r16=[-8]");
	assert_string_equal(RULES(LO + 3, 0x03, 3, 0, 0x0e, 16), "r7+16 r16=[-8]");
	assert_string_equal(RULES(LO + 3, 0x04, 3, 0, 0, 0, 0x0e, 16), "r7+16 r16=[-8]");
	assert_string_equal(RULES(LO + 3, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16), "r7+8 r16=[-8]");
}

static void damaged_instructions_are_an_error(void **state)
{
	(void)state;
	assert_non_null(strstr(RULES(LO, 0x3f), "unknown instruction 0x3f"));
	assert_non_null(strstr(RULES(LO, 0x0f, 100, 0x30), "corrupt"));
	assert_non_null(strstr(RULES(LO, 0x0f, 1, 0x30, 0x0e, 8), "not a register and an offset"));
	uint8_t deep[UX_CFI_REMEMBERED_MAX + 1];
	memset(deep, 0x0a, sizeof(deep));
	assert_non_null(strstr(rules_of(deep, sizeof(deep), LO), "too many nested"));
	uint8_t *many = calloc(UX_CFI_STEPS_MAX + 1, 1);
	assert_non_null(many);
	assert_non_null(strstr(rules_of(many, UX_CFI_STEPS_MAX + 1, LO), "instructions"));
	free(many);
}

/* --- expressions ------------------------------------------------------------------------------ */

/* Memory: the word at an address is the address plus 1; 0x999 is not known. */
static bool read_memory(void *ctx, uint64_t address, unsigned size, uint64_t *ret)
{
	(void)ctx;
	*ret = (address + 1) & (size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1);
	return address != 0x999;
}

static enum ux_code compute_with(uint8_t address_size, struct ux_bytes bytes, uint64_t *ret,
				 struct ux_error *err)
{
	static const uint64_t registers[UX_CFI_REGISTERS] = {[RSP] = 0x7000, [RA] = 0x100b};
	const struct ux_cfi_context context = {
		.registers = registers,
		.known = (uint64_t)1 << RSP | (uint64_t)1 << RA,
		.memory = read_memory,
	};
	struct ux_dwarf_frames frames = {
		.data = guard(bytes), .eh = true, .address_size = address_size};
	struct ux_cfi_rule rule = {.size = (uint32_t)bytes.size};
	const uint64_t cfa = 100;
	enum ux_code code = ux_dwarf_cfi_expression(&frames, &rule, &context, &cfa, ret, err);
	guard_free(frames.data);
	return code;
}

static enum ux_code compute(struct ux_bytes bytes, uint64_t *ret, struct ux_error *err)
{
	return compute_with(8, bytes, ret, err);
}

#define COMPUTES_32(result, ...)                                                               \
	do {                                                                                   \
		const uint8_t bytes_[] = {__VA_ARGS__};                                        \
		uint64_t v_ = 0;                                                               \
		assert_int_equal(compute_with(4, ux_bytes(bytes_, sizeof(bytes_)), &v_, NULL), \
				 UX_OK);                                                       \
		assert_int_equal(v_, (uint64_t)(result));                                      \
	} while (0)

#define COMPUTES(result, ...)                                                                  \
	do {                                                                                   \
		const uint8_t bytes_[] = {__VA_ARGS__};                                        \
		uint64_t v_ = 0;                                                               \
		assert_int_equal(compute(ux_bytes(bytes_, sizeof(bytes_)), &v_, NULL), UX_OK); \
		assert_int_equal(v_, (uint64_t)(result));                                      \
	} while (0)

#define FAILS(code, what, ...)                                                                 \
	do {                                                                                   \
		const uint8_t bytes_[] = {__VA_ARGS__};                                        \
		uint64_t v_ = 0;                                                               \
		struct ux_error err_ = UX_ERROR_INIT;                                          \
		assert_int_equal(compute(ux_bytes(bytes_, sizeof(bytes_)), &v_, &err_), code); \
		assert_non_null(strstr(err_.text, what));                                      \
	} while (0)

static void expressions_compute_as_dwarf_says(void **state)
{
	(void)state;
	COMPUTES(100, 0x96);
	COMPUTES(0x7008, 0x77, 8);
	COMPUTES(0x7001, 0x92, RSP, 0, 0x06);
	COMPUTES(0x01, 0x77, 0, 0x94, 1);
	COMPUTES(-3, 0x33, 0x1f);
	COMPUTES(3, 0x09, 0xfd, 0x19);
	COMPUTES(-4, 0x33, 0x20);
	COMPUTES(7, 0x3e, 0x32, 0x1b);
	COMPUTES(-7, 0x09, 0xf2, 0x32, 0x1b);
	COMPUTES(2, 0x3e, 0x34, 0x1d);
	COMPUTES(6, 0x32, 0x33, 0x1e);
	COMPUTES(1, 0x34, 0x33, 0x1c);
	COMPUTES(12, 0x34, 0x23, 8);
	COMPUTES(16, 0x31, 0x34, 0x24);
	COMPUTES(0, 0x31, 0x08, 64, 0x24);
	COMPUTES(-1, 0x09, 0xff, 0x08, 200, 0x26);
	COMPUTES(-2, 0x09, 0xf8, 0x32, 0x26);
	COMPUTES(1, 0x38, 0x33, 0x25);
	COMPUTES(1, 0x09, 0xff, 0x30, 0x2d); /* signed: -1 < 0 */
	COMPUTES(0, 0x09, 0xff, 0x30, 0x2a);
	COMPUTES(5, 0x35, 0x36, 0x16, 0x13, 0x13, 0x35);
	COMPUTES(2, 0x31, 0x32, 0x33, 0x17); /* 3 1 2 */
	COMPUTES(1, 0x31, 0x32, 0x33, 0x15, 2);
	COMPUTES(0x1234, 0x0a, 0x34, 0x12);
	COMPUTES(-2, 0x0d, 0xfe, 0xff, 0xff, 0xff);
	COMPUTES(-2, 0x11, 0x7e);
	COMPUTES(300, 0x10, 0xac, 0x02);
	COMPUTES(7, 0x2f, 1, 0, 0x35, 0x37);       /* skips lit5 */
	COMPUTES(8, 0x31, 0x28, 1, 0, 0x35, 0x38); /* branches */
	COMPUTES(5, 0x30, 0x28, 1, 0, 0x35);       /* does not */
}

/* Linkers' entries for .plt: after the push the CFA is 8 higher. */
static void the_rules_of_stubs_depend_on_the_pc(void **state)
{
	(void)state;
	COMPUTES(0x7010, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	COMPUTES(0x7008, 0x77, 8, 0x80, 0x7f, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
}

static void expressions_of_32_bits_lose_what_is_above(void **state)
{
	(void)state;
	COMPUTES_32(0xfffffffd, 0x33, 0x1f);                      /* -3 */
	COMPUTES_32(3, 0x33, 0x1f, 0x1f);                         /* its negative value */
	COMPUTES_32(3, 0x33, 0x1f, 0x19);                         /* and the absolute value */
	COMPUTES_32(0x12345678, 0x03, 0x78, 0x56, 0x34, 0x12);    /* an address of 4 bytes */
	COMPUTES_32(0x7001, 0x92, RSP, 0, 0x06);                  /* a word of 4 bytes */
	COMPUTES_32(1, 0x33, 0x1f, 0x30, 0x2d);                   /* -3 < 0 */
	COMPUTES_32(0xfffffffe, 0x33, 0x1f, 0x31, 0x26);          /* -3 >> 1, with its sign */
	COMPUTES_32(0x7ffffffe, 0x33, 0x1f, 0x31, 0x25);          /* without */
	COMPUTES_32(0xffffffff, 0x33, 0x1f, 0x32, 0x1b);          /* -3 / 2 */
	COMPUTES_32(0, 0x31, 0x08, 32, 0x24);                     /* 1 << 32 */
	COMPUTES_32(0x80000000, 0x31, 0x4f, 0x24);                /* 1 << 31 */
	COMPUTES_32(0, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x31, 0x22); /* the largest one plus 1 */
}

static void expressions_that_cannot_be_computed_say_why(void **state)
{
	(void)state;
	FAILS(UX_ECORRUPT, "empty", 0x13, 0x13);
	FAILS(UX_ECORRUPT, "too short", 0x15, 9);
	FAILS(UX_ECORRUPT, "zero", 0x31, 0x30, 0x1b);
	FAILS(UX_ECORRUPT, "zero", 0x31, 0x30, 0x1d);
	FAILS(UX_ECORRUPT, "before the expression", 0x2f, 0x00, 0x80);
	FAILS(UX_ECORRUPT, "size", 0x31, 0x94, 9);
	FAILS(UX_EUNSUPPORTED, "unknown operation 0xe0", 0xe0);
	FAILS(UX_ENOTFOUND, "unknown memory", 0x73, 0);
	FAILS(UX_ENOTFOUND, "unknown memory", 0x0a, 0x99, 0x09, 0x06);
	FAILS(UX_ELIMIT, "operations", 0x2f, 0xfd, 0xff); /* a loop */
	FAILS(UX_ECORRUPT, "overflows", 0x12, 0x2f, 0xfc, 0xff);
}

UX_SUITE(dwarf_cfi)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_prologue_changes_the_rules_from_pc_to_pc),
		UX_TEST(a_remembered_row_comes_back_whole),
		UX_TEST(every_kind_of_rule_is_known),
		UX_TEST(the_pc_moves_by_each_width),
		UX_TEST(damaged_instructions_are_an_error),
		UX_TEST(expressions_compute_as_dwarf_says),
		UX_TEST(the_rules_of_stubs_depend_on_the_pc),
		UX_TEST(expressions_of_32_bits_lose_what_is_above),
		UX_TEST(expressions_that_cannot_be_computed_say_why),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
