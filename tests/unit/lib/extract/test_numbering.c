/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of names and files: which get one, and in which order. */
#include "sweep.h"

#include "numbering.h"

/* Two units; the first has a separate piece for its own names, the second shares files with it. */
struct fixture {
	struct ux_arena arena;
	struct ux_gsym_drafter drafter;
	struct ux_unit_pieces units[2];
	struct ux_collection collection;
	struct ux_piece_vec pieces;
	struct ux_numbering n;
};

enum {
	LONG_TEXT = 1 << 17
};

static const char *names_a[] = {"unused", "f", "g"};
static const char *names_b[] = {"g", "h"};
static struct ux_code_file files_a[] = {{"", ""}, {"d", "rare.c"}, {"d", "never.c"}};
static struct ux_code_file files_b[] = {{"", ""}, {"d", "often.h"}, {"d", "rare.c"}};

static void add(struct fixture *f, uint32_t unit, const struct ux_gsym_row *rows, size_t n_rows,
		const struct ux_code_inline *nodes, size_t n_nodes)
{
	static const struct ux_gsym_range range = {0, 16};
	struct ux_piece p = {.start = f->pieces.size * 16, .size = 16, .unit = unit};
	const struct ux_gsym_function made = {.size = 16,
					      .rows = rows,
					      .n_rows = n_rows,
					      .inlines = nodes,
					      .n_inlines = n_nodes,
					      .ranges = &range};
	assert_true(ux_gsym_draft_make(&f->drafter, &made, &f->arena, &p.draft));
	assert_true(ux_piece_vec_append(&f->pieces, p));
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){0};
	ux_arena_init(&f->arena, 1 << 20);
	f->units[0] = (struct ux_unit_pieces){
		.names = names_a, .n_names = 3, .files = files_a, .n_files = 3};
	f->units[1] = (struct ux_unit_pieces){
		.names = names_b, .n_names = 2, .files = files_b, .n_files = 3};
	f->collection = (struct ux_collection){.units = f->units, .n_units = 2};
}

static void end(struct fixture *f)
{
	ux_numbering_deinit(&f->n);
	ux_gsym_drafter_deinit(&f->drafter);
	ux_piece_vec_deinit(&f->pieces);
	ux_arena_deinit(&f->arena);
}

static const struct ux_gsym_row rare_then_often[] = {{0, 1, 2}, {4, 2, 1}, {8, 3, 2}, {9, 4, 1}};
static const struct ux_gsym_row rare_row[] = {{0, 1, 1}};
static const struct ux_code_inline call_g_f[] = {{2, 0, 5, 1, 0, 1}, {1, 1, 6, 2, 0, 1}};
static const struct ux_code_inline call_h[] = {{1, 1, 5, 1, 0, 1}, {7, 1, 6, 2, 0, 1}};

static const char *text(const struct fixture *f, uint32_t off)
{
	return (const char *)ux_string_table_bytes(&f->n.strings).data + off;
}

static void only_what_is_used_is_numbered(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	add(&f, 1, rare_then_often, 4, call_h, 2);
	add(&f, UX_PIECE_NO_UNIT, NULL, 0, NULL, 0);
	add(&f, 0, rare_row, 1, call_g_f, 2);
	assert_int_equal(ux_numbering_init(&f.n, &f.collection, &f.pieces, 2, 1 << 20, NULL, NULL),
			 UX_OK);
	assert_int_equal(ux_numbering_assign(&f.n, 1 << 20, 0, NULL), UX_OK);
	assert_int_equal(ux_numbering_spread(&f.n, NULL), UX_OK);
	assert_int_equal(ux_string_table_make(&f.n.strings, 2, NULL), UX_OK);
	struct ux_gsym_numbers a = ux_numbering_of(&f.n, 0), b = ux_numbering_of(&f.n, 1);
	assert_int_equal(a.names[0], 0);
	assert_string_equal(text(&f, a.names[1]), "f");
	assert_string_equal(text(&f, a.names[2]), "g");
	assert_int_equal(b.names[0], 0);
	assert_string_equal(text(&f, b.names[1]), "h");
	assert_int_equal(f.n.files.size, 3); /* none, rare.c and often.h */
	end(&f);
}

static void files_used_most_come_first(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	add(&f, 0, rare_row, 1, NULL, 0);
	add(&f, 1, rare_then_often, 4, call_h, 2);
	assert_int_equal(ux_numbering_init(&f.n, &f.collection, &f.pieces, 1, 1 << 20, NULL, NULL),
			 UX_OK);
	assert_int_equal(ux_numbering_assign(&f.n, 1 << 20, 0, NULL), UX_OK);
	assert_int_equal(ux_numbering_spread(&f.n, NULL), UX_OK);
	assert_int_equal(ux_string_table_make(&f.n.strings, 2, NULL), UX_OK);
	struct ux_gsym_numbers a = ux_numbering_of(&f.n, 0), b = ux_numbering_of(&f.n, 1);
	/* often.h: two rows and two calls; rare.c: three rows of both units. */
	assert_int_equal(b.files[0], 0);
	assert_int_equal(b.files[1], 1);
	assert_int_equal(b.files[2], 2);
	assert_int_equal(a.files[1], 2);
	assert_string_equal(text(&f, f.n.files.data[1].base), "often.h");
	assert_string_equal(text(&f, f.n.files.data[2].base), "rare.c");
	end(&f);
}

static void numbers_may_be_given_again_with_room_for_more(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	add(&f, 0, rare_row, 1, call_g_f, 2);
	assert_int_equal(ux_numbering_init(&f.n, &f.collection, &f.pieces, 1, 1 << 20, NULL, NULL),
			 UX_OK);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_numbering_assign(&f.n, 3, 0, &err), UX_ELIMIT);
	assert_int_equal(ux_numbering_assign(&f.n, 1 << 20, 4, NULL), UX_OK);
	assert_int_equal(ux_numbering_spread(&f.n, NULL), UX_OK);
	assert_int_equal(ux_string_table_make(&f.n.strings, 2, NULL), UX_OK);
	struct ux_gsym_numbers a = ux_numbering_of(&f.n, 0);
	assert_string_equal(text(&f, a.names[2] << 4), "g");
	assert_int_equal(f.n.files.size, 2);
	end(&f);
}

/* Threads read a text only up to their share; the rest is read while it is numbered. */
static void long_texts_are_read_late(void **state)
{
	static char first[LONG_TEXT + 1], second[LONG_TEXT + 1];
	const char *const names[] = {"unused", first, second};
	(void)state;
	struct fixture f;
	begin(&f);
	memset(first, 'x', LONG_TEXT);
	memset(second, 'x', LONG_TEXT);
	f.units[0].names = (const char **)names;
	add(&f, 0, rare_row, 1, call_g_f, 2);
	assert_int_equal(ux_numbering_init(&f.n, &f.collection, &f.pieces, 2, 1, NULL, NULL),
			 UX_OK);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_numbering_assign(&f.n, LONG_TEXT, 0, &err), UX_ELIMIT);
	assert_int_equal(ux_numbering_assign(&f.n, 3 * LONG_TEXT, 0, NULL), UX_OK);
	assert_int_equal(ux_numbering_spread(&f.n, NULL), UX_OK);
	struct ux_gsym_numbers a = ux_numbering_of(&f.n, 0);
	assert_int_equal(a.names[1], a.names[2]);
	/* However often a text occurs, it is read once and takes its place once. */
	for (int i = 0; i < 10; i++) {
		struct ux_string again = ux_string_of(first);
		assert_int_equal(ux_string_table_add(&f.n.strings, &again), a.names[1]);
	}
	assert_int_equal(ux_string_table_status(&f.n.strings, NULL), UX_OK);
	assert_int_equal(ux_numbering_spread(&f.n, NULL), UX_OK);
	assert_int_equal(ux_string_table_make(&f.n.strings, 2, NULL), UX_OK);
	assert_string_equal(text(&f, a.names[1]), first);
	end(&f);
}

UX_SUITE(numbering)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(only_what_is_used_is_numbered),
		UX_TEST(files_used_most_come_first),
		UX_TEST(numbers_may_be_given_again_with_room_for_more),
		UX_TEST(long_texts_are_read_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
