/* SPDX-License-Identifier: Apache-2.0 */
/* extract: run-time code as GSYMs for spans of time. */
#include "sweep.h"

#include "extract.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"
#include "make_jitdump.h"

enum {
	SECOND = 1000000000,
	PARTS_MAX = UX_RUNTIME_PARTS_MAX + 1,
};

/* The parts of an output. */
struct parts {
	struct ux_out out;
	struct ux_runtime_part heads[PARTS_MAX];
	struct ux_bytes gsyms[PARTS_MAX];
	size_t n;
};

static enum ux_code take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	ux_out_put(ctx, bytes.data, bytes.size);
	return ux_out_status(ctx, err);
}

static struct ux_runtime_request request(enum ux_runtime_format format, uint64_t known)
{
	struct ux_runtime_request r = {.format = format,
				       .known = known,
				       .wall_ns = 1000 * INT64_C(1000000000),
				       .from_ns = 1000 * INT64_C(1000000000),
				       .until_ns = 1100 * INT64_C(1000000000)};
	memset(r.seed, 0xab, sizeof(r.seed));
	return r;
}

/* Writes the parts and checks that each is a sound GSYM with the identity of its number. */
static void write_parts(struct parts *p, struct ux_bytes file, struct ux_runtime_request what)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes copy = guard(file);
	memset(p, 0, sizeof(*p));
	assert_int_equal(ux_runtime_gsym_write(copy, &what, take, &p->out, &err), UX_OK);
	guard_free(copy);
	struct ux_bytes left = ux_out_bytes(&p->out);
	while (p->n < PARTS_MAX &&
	       ux_runtime_part_next(&left, &p->heads[p->n], &p->gsyms[p->n], &err)) {
		struct ux_gsym g;
		assert_int_equal(ux_gsym_open(&g, p->gsyms[p->n], &err), UX_OK);
		assert_int_equal(ux_gsym_verify(&g, NULL, &err), UX_OK);
		assert_int_equal(g.uuid.size, UX_ID_FILE_SIZE);
		assert_int_equal(g.uuid.data[0], 0xab);
		assert_int_equal(g.uuid.data[UX_ID_FILE_SIZE - 1], p->n);
		p->n++;
	}
	assert_int_equal(err.code, UX_OK);
	assert_int_equal(left.size, 0);
}

static void assert_name(const struct parts *p, size_t part, uint64_t pc, const char *name,
			uint32_t line)
{
	struct ux_gsym g;
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n = 0;
	struct ux_error err = UX_ERROR_INIT;
	assert_true(part < p->n);
	assert_int_equal(ux_gsym_open(&g, p->gsyms[part], &err), UX_OK);
	enum ux_code code = ux_gsym_lookup(&g, pc, frames, UX_FRAMES_MAX, &n, &err);
	if (!name) {
		assert_true(code == UX_ENOTFOUND || n == 0);
		return;
	}
	assert_int_equal(code, UX_OK);
	assert_int_equal(n, 1);
	assert_string_equal(frames[0].function, name);
	assert_int_equal(frames[0].line, line);
}

static void a_perf_map_becomes_one_part(void **state)
{
	(void)state;
	struct parts p;
	const struct ux_bytes map =
		UX_STR("1000 20 first\n2000 40 JS:*hot /app/t.js:7:3\n1010 8 inner\n"
		       "3000 10 unfinished");
	write_parts(&p, map, request(UX_RUNTIME_PERF_MAP, 0));
	assert_int_equal(p.n, 1);
	assert_int_equal(p.heads[0].from_ns, 1000 * INT64_C(1000000000));
	assert_int_equal(p.heads[0].until_ns, 1100 * INT64_C(1000000000));
	assert_int_equal(p.heads[0].used, map.size - strlen("3000 10 unfinished"));
	assert_int_equal(p.heads[0].functions, 4);
	assert_true(p.heads[0].lines);
	assert_name(&p, 0, 0x1000, "first", 0);
	assert_name(&p, 0, 0x1010, "inner", 0);
	assert_name(&p, 0, 0x1018, "first", 0);
	assert_name(&p, 0, 0x2001, "JS:*hot", 7);
	assert_name(&p, 0, 0x3000, NULL, 0);
	ux_out_deinit(&p.out);
}

static void what_was_known_is_not_written_again(void **state)
{
	(void)state;
	struct parts p;
	const struct ux_bytes map = UX_STR("1000 20 first\n2000 40 second\n");
	write_parts(&p, map, request(UX_RUNTIME_PERF_MAP, strlen("1000 20 first\n")));
	assert_int_equal(p.n, 1);
	assert_name(&p, 0, 0x1000, NULL, 0);
	assert_name(&p, 0, 0x2000, "second", 0);
	ux_out_deinit(&p.out);
	write_parts(&p, map, request(UX_RUNTIME_PERF_MAP, map.size));
	assert_int_equal(p.n, 0);
	ux_out_deinit(&p.out);
	write_parts(&p, UX_STR(""), request(UX_RUNTIME_PERF_MAP, 0));
	assert_int_equal(p.n, 0);
	ux_out_deinit(&p.out);
}

/* first at 0x1000, then second there, which moves to 0x2000, and third at 0x1000. */
static size_t write_moves(struct ux_out *out)
{
	const struct make_jit_row row = {0x1000, 12, "/src/a.x"};
	make_jit_header(out, 0, 0);
	make_jit_debug(out, 0x1000, &row, 1, false);
	make_jit_load(out, (struct make_jit_load){10ULL * SECOND, 0x1000, 16, 1, "first", 16});
	size_t known = out->size;
	make_jit_load(out, (struct make_jit_load){20ULL * SECOND, 0x1000, 16, 2, "second", 16});
	make_jit_move(out, 30ULL * SECOND, 0x1000, 0x2000, 16, 2);
	make_jit_load(out, (struct make_jit_load){31ULL * SECOND, 0x1000, 16, 3, "third", 16});
	return known;
}

static void a_part_begins_where_code_replaces_other_code(void **state)
{
	(void)state;
	struct parts p;
	struct ux_out dump = {0};
	size_t known = write_moves(&dump);
	write_parts(&p, ux_out_bytes(&dump), request(UX_RUNTIME_JITDUMP, 0));
	assert_int_equal(p.n, 3);
	assert_name(&p, 0, 0x1000, "first", 12);
	assert_name(&p, 1, 0x1000, "second", 0);
	assert_name(&p, 1, 0x2000, "second", 0);
	assert_name(&p, 2, 0x1000, "third", 0);
	assert_int_equal(p.heads[1].from_ns, 1020 * INT64_C(1000000000));
	assert_int_equal(p.heads[1].until_ns, p.heads[2].from_ns);
	assert_int_equal(p.heads[2].from_ns, 1031 * INT64_C(1000000000));
	ux_out_deinit(&p.out);
	/* Also if an earlier snapshot sent the other code. */
	write_parts(&p, ux_out_bytes(&dump), request(UX_RUNTIME_JITDUMP, known));
	assert_int_equal(p.n, 2);
	assert_name(&p, 0, 0x1000, "second", 0);
	assert_int_equal(p.heads[0].from_ns, 1020 * INT64_C(1000000000));
	ux_out_deinit(&p.out);
	ux_out_deinit(&dump);
}

/* However often code is replaced; the last part has the last code. */
static void there_are_at_most_so_many_parts(void **state)
{
	(void)state;
	struct parts p;
	struct ux_out dump = {0};
	make_jit_header(&dump, 0, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		make_jit_load(&dump, (struct make_jit_load){(i + 1) * SECOND / 20, 0x1000, 16, i,
							    name, 16});
	}
	write_parts(&p, ux_out_bytes(&dump), request(UX_RUNTIME_JITDUMP, 0));
	assert_in_range(p.n, UX_RUNTIME_PARTS_MAX / 2, UX_RUNTIME_PARTS_MAX);
	assert_name(&p, 0, 0x1000, "f0", 0);
	assert_name(&p, p.n - 1, 0x1000, "f999", 0);
	for (size_t i = 1; i < p.n; i++)
		assert_int_equal(p.heads[i].from_ns, p.heads[i - 1].until_ns);
	ux_out_deinit(&p.out);
	ux_out_deinit(&dump);
}

static void other_files_are_refused(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_runtime_request what = request(UX_RUNTIME_JITDUMP, 0);
	uint8_t zeros[64] = {0};
	assert_int_equal(
		ux_runtime_gsym_write(ux_bytes(zeros, sizeof(zeros)), &what, take, &out, &err),
		UX_EUNSUPPORTED);
	assert_int_equal(out.size, 0);
	ux_out_deinit(&out);
}

static void a_damaged_output_is_refused(void **state)
{
	(void)state;
	struct parts p;
	write_parts(&p, UX_STR("1000 20 first\n"), request(UX_RUNTIME_PERF_MAP, 0));
	for (size_t n = 1; n < p.out.size; n++) {
		struct ux_runtime_part part;
		struct ux_error err = UX_ERROR_INIT;
		struct ux_bytes gsym, copy = guard(ux_bytes(p.out.data, n)), left = copy;
		assert_false(ux_runtime_part_next(&left, &part, &gsym, &err));
		assert_int_equal(err.code, UX_ECORRUPT);
		guard_free(copy);
	}
	ux_out_deinit(&p.out);
}

static enum ux_code write_moves_once(void *ctx)
{
	struct ux_out out = {0};
	const struct ux_out *dump = ctx;
	struct ux_runtime_request what = request(UX_RUNTIME_JITDUMP, 0);
	enum ux_code code = ux_runtime_gsym_write(ux_out_bytes(dump), &what, take, &out, NULL);
	ux_out_deinit(&out);
	return code;
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct ux_out dump = {0};
	(void)write_moves(&dump);
	assert_true(each_failed_alloc(write_moves_once, &dump, /* may_recover= */ true) > 5);
	ux_out_deinit(&dump);
}

static void a_path_has_all_of_a_span(void **state)
{
	(void)state;
	char path[UX_RUNTIME_PATH_MAX], name[UX_RUNTIME_PATH_MAX];
	struct ux_runtime_span got;
	const struct ux_runtime_span span = {.host = "web-1.example",
					     .pid = 4711,
					     .started_ns = 1,
					     .from_ns = 1700000000000000001,
					     .until_ns = INT64_MAX};
	ux_runtime_path_format(&span, path);
	ux_runtime_name_format("web-1.example", 4711, name);
	assert_string_equal(
		path, "/run-time/1/1700000000000000001-9223372036854775807/4711@web-1.example");
	assert_string_equal(strrchr(path, '/') + 1, name);
	assert_true(ux_runtime_path_parse(ux_bytes_cstr(path), &got));
	assert_string_equal(got.host, span.host);
	assert_int_equal(got.pid, span.pid);
	assert_int_equal(got.started_ns, span.started_ns);
	assert_int_equal(got.from_ns, span.from_ns);
	assert_int_equal(got.until_ns, span.until_ns);
	ux_runtime_name_format("a/b c\n", 1, name);
	assert_string_equal(name, "1@a_b_c_");
}

static void other_paths_are_none(void **state)
{
	(void)state;
	static const char *const paths[] = {"",
					    "/run-time/",
					    "/run-time/1/2-3/4@",
					    "/run-time/1/2-3/@h",
					    "/run-time/1/2/4@h",
					    "/run-time/1/2-3/4@h/x",
					    "/run-time/-1/2-3/4@h",
					    "/usr/bin/1/2-3/4@h",
					    "/run-time/1/2-9223372036854775808/4@h",
					    "/run-time/1/2-3/2147483648@h"};
	for (size_t i = 0; i < ux_countof(paths); i++) {
		struct ux_runtime_span span;
		assert_false(ux_runtime_path_parse(ux_bytes_cstr(paths[i]), &span));
	}
}

static struct ux_runtime_symbols symbols(int64_t started, int64_t from)
{
	return (struct ux_runtime_symbols){.span = {.started_ns = started, .from_ns = from}};
}

static void the_span_of_a_time_is_found(void **state)
{
	(void)state;
	struct ux_runtime_list list = {0};
	assert_true(ux_runtime_list_append(&list, symbols(100, 100)));
	assert_true(ux_runtime_list_append(&list, symbols(500, 700)));
	assert_true(ux_runtime_list_append(&list, symbols(100, 200)));
	assert_true(ux_runtime_list_append(&list, symbols(500, 500)));
	ux_runtime_list_sort(&list);
	assert_int_equal(list.data[ux_runtime_list_find(&list, 150)].span.from_ns, 100);
	assert_int_equal(list.data[ux_runtime_list_find(&list, 499)].span.from_ns, 200);
	assert_int_equal(list.data[ux_runtime_list_find(&list, 600)].span.from_ns, 500);
	assert_int_equal(list.data[ux_runtime_list_find(&list, INT64_MAX)].span.from_ns, 700);
	assert_int_equal(ux_runtime_list_find(&list, 99), 4);
	ux_runtime_list_deinit(&list);
}

UX_SUITE(runtime_gsym)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_perf_map_becomes_one_part),
		cmocka_unit_test(what_was_known_is_not_written_again),
		cmocka_unit_test(a_part_begins_where_code_replaces_other_code),
		cmocka_unit_test(there_are_at_most_so_many_parts),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(a_damaged_output_is_refused),
		cmocka_unit_test(each_failed_allocation_is_reported),
		cmocka_unit_test(a_path_has_all_of_a_span),
		cmocka_unit_test(other_paths_are_none),
		cmocka_unit_test(the_span_of_a_time_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
