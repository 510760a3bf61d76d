/* SPDX-License-Identifier: Apache-2.0 */
/* Finds symbols whose names are not the names of pieces. */
#include "sweep.h"

#include "pack.h"

enum {
	BYTES = 1 << 20, /* of names that may be read */
	MANY = 100       /* symbols at one address */
};

static struct ux_code_symbol symbol(uint64_t start, const char *name)
{
	return (struct ux_code_symbol){
		.start = start, .size = 8, .name = name, .name_size = (uint32_t)strcspn(name, "@")};
}

/* Returns the found names: "0:part 0:many.cold 2+8:inner". */
static const char *found_of(const struct ux_piece *pieces, size_t n_pieces,
			    const struct ux_code_symbol *symbols, size_t n_symbols, uint64_t bytes)
{
	static char text[1 << 12];
	ux_cleanup(ux_piece_symbols_deinit) struct ux_piece_symbols found = {0};
	const struct ux_piece_vec p = {.data = (struct ux_piece *)pieces, .size = n_pieces};
	const struct ux_code_symbol_vec s = {.data = (struct ux_code_symbol *)symbols,
					     .size = n_symbols};
	size_t n = 0;
	assert_int_equal(ux_piece_symbols_find(&s, &p, bytes, &found, NULL), UX_OK);
	text[0] = '\0';
	for (size_t i = 0; i < found.parts.size; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u:part ", found.parts.data[i]);
	for (size_t i = 0; i < found.names.size; i++) {
		const struct ux_piece_symbol *f = &found.names.data[i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u+%u:%.*s ", f->piece, f->off,
				      (int)f->name.size, (const char *)f->name.data);
	}
	return text;
}

#define FOUND(pieces, symbols) \
	found_of(pieces, ux_countof(pieces), symbols, ux_countof(symbols), BYTES)

static void names_that_are_those_of_symbols_need_nothing(void **state)
{
	(void)state;
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "f"},
						 {.start = 0x1010, .size = 8, .name = ux_no_name},
						 {.start = 0x1020, .size = 8, .name = "f"}};
	const struct ux_code_symbol symbols[] = {symbol(0x1000, "f"), symbol(0x1010, ux_no_name),
						 symbol(0x1020, "f@VERS_1")};
	assert_string_equal(FOUND(pieces, symbols), "");
}

static void a_part_is_where_no_symbol_has_its_name_and_another_place_has(void **state)
{
	(void)state;
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "many"},
						 {.start = 0x1010, .size = 8, .name = "alone"},
						 {.start = 0x1020, .size = 8, .name = "many"}};
	const struct ux_code_symbol symbols[] = {symbol(0x1000, "many.cold"),
						 symbol(0x1010, "_alone"), symbol(0x1020, "many")};
	assert_string_equal(FOUND(pieces, symbols), "0:part 0+0:many.cold 1+0:_alone ");
}

static void the_start_may_be_another_name_of_a_piece(void **state)
{
	(void)state;
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "many"},
						 {.start = 0x1020, .size = 0x20, .name = "g"}};
	const struct ux_code_symbol symbols[] = {symbol(0x1020, "g"), symbol(0x1030, "many"),
						 symbol(0x1038, "outside"),
						 symbol(0x1040, "beyond")};
	assert_string_equal(FOUND(pieces, symbols), "0:part 1+16:many 1+24:outside ");
}

static void without_symbols_the_unit_says_what_a_part_is(void **state)
{
	(void)state;
	static const struct ux_piece pieces[] = {
		{.start = 0x1000, .size = 8, .name = "many", .part = true},
		{.start = 0x1010, .size = 8, .name = "gone", .part = true},
		{.start = 0x1020, .size = 8, .name = "many"},
		{.start = 0x1030, .size = 8, .name = "f"},
		{.start = 0x1040, .size = 8, .name = "f"}};
	assert_string_equal(found_of(pieces, ux_countof(pieces), NULL, 0, BYTES), "0:part ");
}

static void names_at_one_address_are_limited(void **state)
{
	(void)state;
	static char names[MANY][8];
	struct ux_code_symbol symbols[MANY];
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "f"}};
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "a%u", i);
		symbols[i] = symbol(0x1000, names[i]);
	}
	const char *found = FOUND(pieces, symbols);
	assert_non_null(strstr(found, "0+0:a63 "));
	assert_null(strstr(found, "0+0:a64 "));
}

static void so_many_bytes_of_names_are_read(void **state)
{
	(void)state;
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "f"}};
	const struct ux_code_symbol symbols[] = {symbol(0x1000, "abcd"), symbol(0x1000, "efgh"),
						 symbol(0x1000, "i")};
	assert_string_equal(found_of(pieces, 1, symbols, ux_countof(symbols), 5),
			    "0+0:abcd 0+0:i ");
	assert_string_equal(found_of(pieces, 1, symbols, ux_countof(symbols), 0), "");
}

static enum ux_code find(void *ctx)
{
	ux_cleanup(ux_piece_symbols_deinit) struct ux_piece_symbols found = {0};
	static const struct ux_piece pieces[] = {{.start = 0x1000, .size = 8, .name = "many"},
						 {.start = 0x1020, .size = 8, .name = "many"}};
	const struct ux_code_symbol symbols[] = {symbol(0x1000, "many.cold"),
						 symbol(0x1020, "many")};
	const struct ux_piece_vec p = {.data = (struct ux_piece *)pieces,
				       .size = ux_countof(pieces)};
	const struct ux_code_symbol_vec s = {.data = (struct ux_code_symbol *)symbols,
					     .size = ux_countof(symbols)};
	(void)ctx;
	return ux_piece_symbols_find(&s, &p, BYTES, &found, NULL);
}

static void short_memory_is_reported(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(find, NULL, false) >= 4);
}

UX_SUITE(symbol_names)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(names_that_are_those_of_symbols_need_nothing),
		UX_TEST(a_part_is_where_no_symbol_has_its_name_and_another_place_has),
		UX_TEST(the_start_may_be_another_name_of_a_piece),
		UX_TEST(without_symbols_the_unit_says_what_a_part_is),
		UX_TEST(names_at_one_address_are_limited),
		UX_TEST(so_many_bytes_of_names_are_read),
		UX_TEST(short_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
