/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs as bpf(2) describes them, made in code. */
#include "sweep.h"

#include "kernel.h"
#include "make_btf.h"

#define MAIN_AT   0xffffffffc0201000u
#define HELPER_AT 0xffffffffc0100040u

/* A program of two functions; the helper comes before the other one. */
struct program {
	struct make_btf btf;
	struct ux_out functions, lines;
	uint64_t starts[2];
	uint32_t sizes[2];
	uint64_t jited[5];
	struct ux_bpf_info info;
};

static void make_program(struct program *p)
{
	*p = (struct program){.starts = {MAIN_AT, HELPER_AT}, .sizes = {0x80, 0x40}};
	make_btf_init(&p->btf);
	uint32_t main_type = make_btf_function(&p->btf, "watch_packets");
	make_btf_others(&p->btf);
	uint32_t helper_type = make_btf_function(&p->btf, "helper");
	make_bpf_function(&p->functions, 0, main_type);
	make_bpf_function(&p->functions, 6, helper_type);
	uint32_t a = make_btf_string(&p->btf, "/src/dir/filter.c");
	uint32_t b = make_btf_string(&p->btf, "header.h");
	uint32_t c = make_btf_string(&p->btf, "/root.c");
	make_bpf_line(&p->lines, 0, a, 10);
	make_bpf_line(&p->lines, 2, b, 7);
	make_bpf_line(&p->lines, 3, a, 12); /* its code is the next one's */
	make_bpf_line(&p->lines, 4, a, 13);
	make_bpf_line(&p->lines, 6, c, 3);
	const uint64_t jited[] = {MAIN_AT, MAIN_AT + 0x20, MAIN_AT + 0x30, MAIN_AT + 0x30,
				  HELPER_AT + 4};
	memcpy(p->jited, jited, sizeof(jited));
	p->info = (struct ux_bpf_info){
		/* as in Linux, differs from the first function's tag */
		.tag = UX_STR("\1\2\3\4\5\6\7\x8f"),
		.name = UX_STR("watch_packet\0\0\0\0"),
		.tags = UX_STR("\x10\x20\x30\x40\x50\x60\x70\x8f\xaa\xbb\xcc\xdd\xee\xff\0\1"),
		.starts = ux_bytes(p->starts, sizeof(p->starts)),
		.sizes = ux_bytes(p->sizes, sizeof(p->sizes)),
		.functions = ux_out_bytes(&p->functions),
		.function_size = 8,
		.lines = ux_out_bytes(&p->lines),
		.line_size = 16,
		.jited_lines = ux_bytes(p->jited, sizeof(p->jited)),
		.jited_line_size = 8,
		.btf = make_btf_finish(&p->btf)};
}

static void program_deinit(struct program *p)
{
	make_btf_deinit(&p->btf);
	ux_out_deinit(&p->functions);
	ux_out_deinit(&p->lines);
}

static void assert_line(const struct ux_bpf_code *c, uint64_t addr, const char *name,
			const char *dir, const char *base, uint32_t number)
{
	const struct ux_bpf_function *f = ux_bpf_code_find(c, addr);
	assert_non_null(f);
	assert_string_equal(f->name, name);
	const struct ux_bpf_line *line = ux_bpf_code_line(c, f, addr);
	assert_int_equal(line != NULL, base != NULL);
	if (!line)
		return;
	assert_string_equal(line->dir, dir);
	assert_string_equal(line->base, base);
	assert_int_equal(line->line, number);
}

static void functions_and_lines_are_found_by_address(void **state)
{
	(void)state;
	const char *main_name = "bpf_prog_010203040506078f_watch_packets";
	const char *helper = "bpf_prog_aabbccddeeff0001_helper";
	struct program p;
	struct ux_bpf_code c;
	make_program(&p);
	ux_bpf_code_init(&c);
	assert_int_equal(ux_bpf_code_add(&c, &p.info, NULL), UX_OK);
	program_deinit(&p); /* all of it was copied */
	ux_bpf_code_sort(&c);
	assert_line(&c, MAIN_AT, main_name, "/src/dir", "filter.c", 10);
	assert_line(&c, MAIN_AT + 0x1f, main_name, "/src/dir", "filter.c", 10);
	assert_line(&c, MAIN_AT + 0x20, main_name, "", "header.h", 7);
	assert_line(&c, MAIN_AT + 0x30, main_name, "/src/dir", "filter.c", 13);
	assert_line(&c, MAIN_AT + 0x7f, main_name, "/src/dir", "filter.c", 13);
	assert_line(&c, HELPER_AT + 3, helper, NULL, NULL, 0);
	assert_line(&c, HELPER_AT + 4, helper, "/", "root.c", 3);
	assert_null(ux_bpf_code_find(&c, MAIN_AT + 0x80));
	assert_null(ux_bpf_code_find(&c, MAIN_AT - 1));
	assert_null(ux_bpf_code_find(&c, HELPER_AT - 1));
	ux_bpf_code_deinit(&c);
}

static const char *name_at(struct ux_bpf_info *info, enum ux_code expected, uint64_t addr)
{
	static char name[64];
	struct ux_bpf_code c;
	ux_bpf_code_init(&c);
	assert_int_equal(ux_bpf_code_add(&c, info, NULL), expected);
	ux_bpf_code_sort(&c);
	const struct ux_bpf_function *f = ux_bpf_code_find(&c, addr);
	snprintf(name, sizeof(name), "%s", f ? f->name : "none");
	ux_bpf_code_deinit(&c);
	return name;
}

static void what_is_unknown_is_left_out(void **state)
{
	(void)state;
	struct program p;
	make_program(&p);
	struct ux_bpf_info whole = p.info, info = whole;
	info.btf = UX_BYTES_NONE;
	assert_string_equal(name_at(&info, UX_OK, MAIN_AT),
			    "bpf_prog_010203040506078f_watch_packet");
	info.name = UX_STR("\0\0");
	info.tags = UX_BYTES_NONE;
	assert_string_equal(name_at(&info, UX_OK, HELPER_AT), "bpf_prog_010203040506078f");
	info = whole;
	info.functions = UX_BYTES_NONE;
	assert_string_equal(name_at(&info, UX_OK, HELPER_AT),
			    "bpf_prog_aabbccddeeff0001_watch_packet");
	info = whole;
	info.btf.size--; /* its last string has no end: the other names are kept */
	assert_string_equal(name_at(&info, UX_ECORRUPT, MAIN_AT),
			    "bpf_prog_010203040506078f_watch_packet");
	info = whole;
	info.starts.size--;
	assert_string_equal(name_at(&info, UX_ECORRUPT, HELPER_AT), "none");
	p.sizes[0] = 0;  /* not compiled */
	p.starts[1] = 0; /* hidden */
	assert_string_equal(name_at(&whole, UX_OK, MAIN_AT), "none");
	p.sizes[0] = 4;
	p.starts[0] = UINT64_MAX - 3;
	assert_string_equal(name_at(&whole, UX_OK, UINT64_MAX - 2), "none");
	program_deinit(&p);
}

static void types_of_each_kind_are_passed(void **state)
{
	(void)state;
	struct make_btf m;
	struct ux_btf b;
	make_btf_init(&m);
	uint32_t first = make_btf_function(&m, "first");
	make_btf_others(&m);
	uint32_t last = make_btf_function(&m, "last");
	struct ux_bytes bytes = guard(make_btf_finish(&m));
	assert_int_equal(ux_btf_open(&b, bytes, NULL), UX_OK);
	assert_string_equal(ux_btf_function(&b, first), "first");
	assert_string_equal(ux_btf_function(&b, last), "last");
	for (uint32_t i = 0; i < last; i++)
		assert_string_equal(ux_btf_function(&b, i), i == first ? "first" : "");
	assert_string_equal(ux_btf_function(&b, last + 1), "");
	assert_string_equal(ux_btf_function(&b, UINT32_MAX), "");
	assert_string_equal(ux_btf_string(&b, UINT32_MAX), "");
	assert_int_equal(b.unread, 0);
	ux_btf_close(&b);
	guard_free(bytes);
	make_btf_deinit(&m);
}

static void types_behind_one_of_an_unknown_kind_are_not_guessed(void **state)
{
	(void)state;
	struct make_btf m;
	struct ux_btf b;
	make_btf_init(&m);
	uint32_t first = make_btf_function(&m, "first");
	make_btf_type(&m, 0, 31, 0, 0, 0);
	uint32_t last = make_btf_function(&m, "last");
	assert_int_equal(ux_btf_open(&b, make_btf_finish(&m), NULL), UX_OK);
	assert_string_equal(ux_btf_function(&b, first), "first");
	assert_string_equal(ux_btf_function(&b, last), "");
	assert_int_equal(b.unread, 24);
	ux_btf_close(&b);
	make_btf_deinit(&m);
}

static void what_is_no_btf_is_refused(void **state)
{
	(void)state;
	struct make_btf m;
	struct ux_btf b;
	struct ux_error err = UX_ERROR_INIT;
	uint8_t copy[512];
	make_btf_init(&m);
	make_btf_function(&m, "first");
	struct ux_bytes good = make_btf_finish(&m);
	assert_true(good.size < sizeof(copy));
	memcpy(copy, good.data, good.size);
	copy[0] ^= 1;
	assert_int_equal(ux_btf_open(&b, ux_bytes(copy, good.size), &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "expected 0xeb9f, version 1"));
	memcpy(copy, good.data, good.size);
	copy[2] = 2;
	assert_int_equal(ux_btf_open(&b, ux_bytes(copy, good.size), NULL), UX_EUNSUPPORTED);
	memcpy(copy, good.data, good.size);
	copy[4] = 23; /* header's size */
	assert_int_equal(ux_btf_open(&b, ux_bytes(copy, good.size), NULL), UX_ECORRUPT);
	memcpy(copy, good.data, good.size);
	memset(copy + 12, 0xff, 4); /* size of types */
	assert_int_equal(ux_btf_open(&b, ux_bytes(copy, good.size), NULL), UX_ECORRUPT);
	assert_int_equal(ux_btf_open(&b, UX_BYTES_NONE, NULL), UX_ECORRUPT);
	make_btf_deinit(&m);
}

/* One of the program's arrays is the damaged input. */
struct sweep {
	struct ux_bpf_info info;
	size_t off; /* of the array in info */
};

static void add_damaged(struct ux_bytes input, void *ctx)
{
	const struct sweep *s = ctx;
	struct ux_bpf_info info = s->info;
	struct ux_bpf_code c;
	memcpy((char *)&info + s->off, &input, sizeof(input));
	ux_bpf_code_init(&c);
	enum ux_code code = ux_bpf_code_add(&c, &info, NULL);
	assert_true(code == UX_OK || code == UX_ECORRUPT || code == UX_EUNSUPPORTED);
	ux_bpf_code_sort(&c);
	for (size_t i = 0; i < c.functions.size; i++) {
		const struct ux_bpf_function *f = &c.functions.data[i];
		const struct ux_bpf_line *line = ux_bpf_code_line(&c, f, f->end - 1);
		assert_true(f->start < f->end && *f->name);
		assert_true(!line || (line->start >= f->start && line->dir && line->base));
	}
	ux_bpf_code_deinit(&c);
}

static void damaged_arrays_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	static const size_t arrays[] = {
		offsetof(struct ux_bpf_info, btf),       offsetof(struct ux_bpf_info, starts),
		offsetof(struct ux_bpf_info, sizes),     offsetof(struct ux_bpf_info, tags),
		offsetof(struct ux_bpf_info, functions), offsetof(struct ux_bpf_info, lines),
		offsetof(struct ux_bpf_info, name),      offsetof(struct ux_bpf_info, jited_lines),
		offsetof(struct ux_bpf_info, tag),
	};
	struct program p;
	make_program(&p);
	for (size_t i = 0; i < ux_countof(arrays); i++) {
		struct sweep s = {p.info, arrays[i]};
		struct ux_bytes good;
		memcpy(&good, (const char *)&p.info + arrays[i], sizeof(good));
		each_prefix(good, add_damaged, &s);
		each_bit_flip(good, add_damaged, &s);
		each_byte_extreme(good, add_damaged, &s);
	}
	program_deinit(&p);
}

static enum ux_code add_all(void *ctx)
{
	const struct program *p = ctx;
	struct ux_bpf_code c;
	ux_bpf_code_init(&c);
	enum ux_code code = ux_bpf_code_add(&c, &p->info, NULL);
	ux_bpf_code_sort(&c);
	ux_bpf_code_deinit(&c);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	struct program p;
	make_program(&p);
	assert_true(each_failed_alloc(add_all, &p, /* may_recover= */ false) > 3);
	program_deinit(&p);
}

UX_SUITE(bpf_code)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_and_lines_are_found_by_address),
		UX_TEST(what_is_unknown_is_left_out),
		UX_TEST(types_of_each_kind_are_passed),
		UX_TEST(types_behind_one_of_an_unknown_kind_are_not_guessed),
		UX_TEST(what_is_no_btf_is_refused),
		UX_TEST(damaged_arrays_are_read_as_far_as_they_go),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
