/* SPDX-License-Identifier: Apache-2.0 */
/* Reading GSYM: opening, lookups, whole records. */
#include "sweep.h"

#include "gsym_decode.h"
#include "gsym_reader.h"
#include "make_gsym.h"

enum {
	FRAMES = 300,
	BUDGET = 1 << 22
};

static struct ux_bytes example(void)
{
	return ux_bytes(make_gsym_example, sizeof(make_gsym_example));
}

static void assert_frame(const struct ux_frame *f, const char *function, const char *base,
			 uint32_t line, bool inlined, uint64_t offset)
{
	assert_string_equal(f->function, function);
	assert_string_equal(f->base, base);
	assert_string_equal(f->dir, *base ? "/tmp/example/src" : "");
	assert_int_equal(f->line, line);
	assert_int_equal(f->inlined, inlined);
	assert_int_equal(f->offset, offset);
}

static void example_is_opened_as_written(void **state)
{
	(void)state;
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_true(ux_gsym_is(example()));
	assert_int_equal(g.version, 1);
	assert_int_equal(g.addr_size, 2);
	assert_int_equal(g.base, 0x400000);
	assert_int_equal(g.n_functions, 2);
	assert_int_equal(g.n_files, 2);
	assert_int_equal(g.uuid.size, 20);
	assert_int_equal(g.uuid.data[19], 0x74);
	assert_int_equal(ux_gsym_start(&g, 1), 0x401007);
	assert_int_equal(ux_gsym_record(&g, 1), 0xb8);
	assert_string_equal(ux_gsym_string(&g, 0x1f), "sq");
	assert_null(ux_gsym_string(&g, 0x27));
}

static void lookup_names_every_inlined_call(void **state)
{
	(void)state;
	struct ux_gsym g;
	struct ux_frame f[4];
	size_t n = 0;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_int_equal(ux_gsym_lookup(&g, 0x401002, f, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 2);
	assert_frame(&f[0], "sq", "m.c", 2, true, 2);
	assert_frame(&f[1], "f", "m.c", 8, false, 2);
	assert_int_equal(ux_gsym_lookup(&g, 0x401003, f, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_frame(&f[0], "f", "m.c", 9, false, 3);
	assert_int_equal(ux_gsym_lookup(&g, 0x401011, f, 4, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_frame(&f[0], "_start", "m.c", 14, false, 10);
}

static void lookup_outside_of_functions_finds_nothing(void **state)
{
	(void)state;
	struct ux_gsym g;
	struct ux_frame f[4];
	size_t n = 77;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_int_equal(ux_gsym_lookup(&g, 0x3fffff, f, 4, &n, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_gsym_lookup(&g, 0x400fff, f, 4, &n, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_gsym_lookup(&g, UINT64_MAX, f, 4, &n, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_gsym_lookup(&g, 0x401012, f, 4, &n, &err), UX_ENOTFOUND);
	assert_string_equal(err.text, "no function at 0x401012");
	assert_int_equal(n, 77);
}

static void few_frames_keep_the_outermost(void **state)
{
	(void)state;
	struct ux_gsym g;
	struct ux_frame f[1];
	size_t n = 0;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_int_equal(ux_gsym_lookup(&g, 0x401002, f, 1, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_frame(&f[0], "f", "m.c", 8, false, 2);
	assert_int_equal(ux_gsym_lookup(&g, 0x401002, NULL, 0, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
}

static void whole_record_is_decoded(void **state)
{
	(void)state;
	UX_ARENA(arena, BUDGET);
	struct ux_gsym g;
	struct ux_gsym_decoded f;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_int_equal(ux_gsym_decode(&g, 0, &arena, &f, NULL), UX_OK);
	assert_int_equal(f.start, 0x401000);
	assert_int_equal(f.size, 7);
	assert_int_equal(f.name, 0x1d);
	const struct ux_gsym_row rows[] = {{0, 2, 1}, {3, 9, 1}, {6, 11, 1}};
	assert_int_equal(f.n_rows, 3);
	assert_memory_equal(f.rows, rows, sizeof(rows));
	assert_int_equal(f.n_inlines, 1);
	assert_int_equal(f.inlines[0].name, 0x1f);
	assert_int_equal(f.inlines[0].call_line, 8);
	assert_int_equal(f.inlines[0].depth, 1);
	const struct ux_gsym_range *r = f.ranges + f.inlines[0].range_first;
	assert_int_equal(r->lo, 0);
	assert_int_equal(r->hi, 3);
}

/* A file of the example with one byte changed is opened; returns the message. */
static const char *open_changed(size_t at, uint8_t value, enum ux_code want)
{
	static struct ux_error err;
	uint8_t copy[MAKE_GSYM_EXAMPLE_SIZE];
	struct ux_gsym g;
	memcpy(copy, make_gsym_example, sizeof(copy));
	copy[at] = value;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_gsym_open(&g, ux_bytes(copy, sizeof(copy)), &err), want);
	return err.text;
}

static void bad_headers_are_named(void **state)
{
	(void)state;
	assert_string_equal(open_changed(0, 'X', UX_EUNSUPPORTED),
			    "not a GSYM: magic 0x47535958 found, 0x4753594d expected");
	assert_string_equal(open_changed(4, 3, UX_EUNSUPPORTED),
			    "GSYM version 3 found, 1 or 2 expected");
	assert_string_equal(open_changed(6, 3, UX_ECORRUPT), "address width is not 1, 2, 4 or 8");
	assert_string_equal(open_changed(7, 21, UX_ECORRUPT), "build ID is longer than 20 bytes");
	assert_string_equal(open_changed(26, 1, UX_ECORRUPT),
			    "string table at 0x50 with 0x10027 bytes exceeds the file of 0xd6");
	assert_string_equal(open_changed(24, 0, UX_ECORRUPT),
			    "string table does not end with a NUL");
	assert_string_equal(open_changed(24, 3, UX_ECORRUPT),
			    "string table does not end with a NUL");
	assert_string_equal(open_changed(19, 1, UX_ECORRUPT),
			    "ends too early: 33554436 bytes expected, 166 found");
}

/* --- compared with the writer's input --------------------------------------------------------- */

static struct ux_bytes random_bytes(uint64_t seed, uint8_t *buf, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		buf[i] = (uint8_t)(seed >> 56);
	}
	return ux_bytes(buf, size);
}

static void assert_same_tree(const struct ux_gsym_decoded *got, const struct ux_gsym_function *want)
{
	assert_int_equal(got->n_inlines, want->n_inlines);
	for (size_t i = 0; i < want->n_inlines; i++) {
		const struct ux_gsym_node *a = &got->inlines[i];
		const struct ux_code_inline *b = &want->inlines[i];
		assert_int_equal(a->name, b->name);
		assert_int_equal(a->call_file, b->call_file);
		assert_int_equal(a->call_line, b->call_line);
		assert_int_equal(a->depth, b->depth);
		assert_int_equal(a->range_count, b->range_count);
		assert_memory_equal(got->ranges + a->range_first, want->ranges + b->range_first,
				    a->range_count * sizeof(struct ux_gsym_range));
	}
}

static void assert_same_function(const struct ux_gsym_decoded *got,
				 const struct ux_gsym_function *want)
{
	assert_int_equal(got->start, want->start);
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->name, want->name);
	assert_int_equal(got->n_rows, want->n_rows);
	if (want->n_rows > 0)
		assert_memory_equal(got->rows, want->rows, want->n_rows * sizeof(*want->rows));
	assert_same_tree(got, want);
}

static bool node_holds(const struct ux_gsym_function *f, const struct ux_code_inline *node,
		       uint32_t off)
{
	for (uint32_t i = 0; i < node->range_count; i++) {
		const struct ux_gsym_range *r = &f->ranges[node->range_first + i];
		if (off >= r->lo && off < r->hi)
			return true;
	}
	return false;
}

/* A lookup by definition: nodes that contain off, outermost first. */
static size_t plain_calls(const struct ux_gsym_function *f, uint32_t off,
			  const struct ux_code_inline **calls)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_inlines; i++) {
		if (f->inlines[i].depth <= n)
			break; /* the list that contains the last hit's children has ended */
		if (f->inlines[i].depth == n + 1 && node_holds(f, &f->inlines[i], off))
			calls[n++] = &f->inlines[i];
	}
	return n;
}

static void assert_place(const struct make_gsym *m, const struct ux_frame *frame, uint32_t file,
			 uint32_t line)
{
	assert_int_equal(frame->line, line);
	assert_string_equal(frame->dir, (const char *)m->strings.data + m->files[file].dir);
	assert_string_equal(frame->base, (const char *)m->strings.data + m->files[file].base);
}

static void assert_lookup(const struct make_gsym *m, const struct ux_gsym *g,
			  const struct ux_gsym_function *f, uint32_t off)
{
	const struct ux_code_inline *calls[FRAMES];
	struct ux_frame frames[FRAMES];
	size_t got = 0, n = plain_calls(f, off, calls);
	assert_int_equal(ux_gsym_lookup(g, f->start + off, frames, FRAMES, &got, NULL), UX_OK);
	assert_int_equal(got, n + 1);
	struct ux_gsym_row row = {0};
	for (size_t i = 0; i < f->n_rows && f->rows[i].off <= off; i++)
		row = f->rows[i];
	assert_place(m, &frames[0], row.file, row.line);
	for (size_t i = 0; i <= n; i++) {
		const struct ux_code_inline *call = i < n ? calls[n - 1 - i] : NULL;
		uint32_t name = call ? call->name : f->name;
		assert_string_equal(frames[i].function, (const char *)m->strings.data + name);
		assert_int_equal(frames[i].inlined, call != NULL);
		assert_int_equal(frames[i].offset, call ? off - f->ranges[call->range_first].lo
							: off + (uint64_t)f->before);
		if (call)
			assert_place(m, &frames[i + 1], call->call_file, call->call_line);
	}
}

static void assert_lookups(const struct make_gsym *m, const struct ux_gsym *g,
			   const struct ux_gsym_function *f)
{
	assert_lookup(m, g, f, 0);
	assert_lookup(m, g, f, f->size - 1);
	for (size_t i = 0; i < f->n_rows; i++) {
		assert_lookup(m, g, f, f->rows[i].off);
		if (f->rows[i].off > 0)
			assert_lookup(m, g, f, f->rows[i].off - 1);
	}
	for (size_t i = 0; i < f->n_inlines; i++) {
		const struct ux_gsym_range *r = &f->ranges[f->inlines[i].range_first];
		assert_lookup(m, g, f, r->lo);
		assert_lookup(m, g, f, r->hi - 1);
		if (r->hi < f->size)
			assert_lookup(m, g, f, r->hi);
	}
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	unsigned seen_order[2] = {0}, seen_width[9] = {0};
	for (uint64_t seed = 0; seed < 600; seed++) {
		UX_ARENA(arena, BUDGET);
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		uint8_t buf[1500];
		struct make_gsym m;
		struct ux_gsym g;
		assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(seed, buf, sizeof(buf))),
				 UX_OK);
		m.version = 1 + seed % 2;
		assert_int_equal(make_gsym_write(&m, &out), UX_OK);
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		assert_int_equal(g.version, m.version);
		assert_int_equal(g.base, m.base);
		assert_true(ux_bytes_eq(g.uuid, m.uuid));
		seen_order[g.swap]++;
		seen_width[g.addr_size]++;
		for (uint32_t i = 0; i < m.n_functions; i++) {
			struct ux_gsym_decoded f;
			assert_int_equal(ux_gsym_decode(&g, i, &arena, &f, NULL), UX_OK);
			assert_same_function(&f, &m.functions[i]);
			assert_lookups(&m, &g, &m.functions[i]);
		}
	}
	assert_true(seen_order[0] && seen_order[1]);
	assert_true(seen_width[1] && seen_width[2] && seen_width[4] && seen_width[8]);
}

/* --- functions that share addresses -------------------------------------------------------- */

struct plain {
	uint64_t start;
	uint32_t size;
};

/* A file of functions named "1", "2", ... at most nine of them, then "x". */
static void write_plain(struct ux_out *out, const struct plain *p, size_t n)
{
	static const uint8_t names[] = "\0001\0002\0003\0004\0005\0006\0007\0008\0009\0x";
	ux_cleanup(ux_out_deinit) struct ux_out data = {0};
	uint64_t starts[80];
	uint64_t records[80];
	assert_true(n <= 80);
	for (size_t i = 0; i < n; i++) {
		starts[i] = p[i].start;
		records[i] = data.size;
		ux_gsym_encode_function(&data, &(struct ux_gsym_function){
						       .size = p[i].size,
						       .name = (uint32_t)(i < 9 ? 2 * i + 1 : 19)});
	}
	struct ux_gsym_file_entry none = {0, 0};
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.n_functions = n,
					    .starts = starts,
					    .records = records,
					    .n_files = 1,
					    .files = &none,
					    .strings = ux_bytes(names, sizeof(names)),
					    .data = &all,
					    .n_data = 1};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, out, NULL), UX_OK);
}

static const char *name_at(const struct ux_out *out, uint64_t pc)
{
	struct ux_gsym g;
	struct ux_frame f[2];
	size_t n = 0;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(out), NULL), UX_OK);
	enum ux_code code = ux_gsym_lookup(&g, pc, f, 2, &n, NULL);
	if (code == UX_ENOTFOUND)
		return "";
	assert_int_equal(code, UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(f[0].line, 0);
	assert_string_equal(f[0].base, "");
	return f[0].function;
}

static void first_function_with_the_start_that_reaches_answers(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct plain p[] = {{0, 100}, {8, 4}, {8, 8}, {8, 16}, {40, 2}};
	write_plain(&out, p, ux_countof(p));
	assert_string_equal(name_at(&out, 7), "1");
	assert_string_equal(name_at(&out, 8), "2");
	assert_string_equal(name_at(&out, 12), "3");
	assert_string_equal(name_at(&out, 16), "4");
	assert_string_equal(name_at(&out, 24), ""); /* in 1, but 4 starts nearer */
	assert_string_equal(name_at(&out, 41), "5");
	assert_string_equal(name_at(&out, 42), "");
}

static void function_without_size_reaches_the_next(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct plain p[] = {{0, 0}, {8, 4}};
	write_plain(&out, p, ux_countof(p));
	assert_string_equal(name_at(&out, 7), "1");
	assert_string_equal(name_at(&out, 9), "2");
}

static void equal_starts_are_found_at_every_place(void **state)
{
	(void)state;
	for (size_t before = 0; before < 8; before++) {
		for (size_t equal = 1; equal < 9; equal++) {
			struct plain p[24];
			size_t n = 0;
			while (n < before)
				p[n] = (struct plain){n, 1}, n++;
			for (size_t i = 0; i < equal; i++)
				p[n++] = (struct plain){100, 4 + (uint32_t)i};
			for (size_t i = 0; i < 4; i++)
				p[n++] = (struct plain){200 + i, 1};
			ux_cleanup(ux_out_deinit) struct ux_out out = {0};
			write_plain(&out, p, n);
			char want[2] = {before < 9 ? (char)('1' + before) : 'x', 0};
			assert_string_equal(name_at(&out, 103), want);
			for (size_t i = 1; i < equal && before + i < 9; i++) {
				want[0] = (char)('1' + before + i);
				assert_string_equal(name_at(&out, 103 + i), want);
			}
		}
	}
}

static void endless_equal_starts_are_not_all_tried(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct plain p[80];
	for (size_t i = 0; i < 80; i++)
		p[i] = (struct plain){0, 1 + (uint32_t)i};
	write_plain(&out, p, 80);
	assert_string_equal(name_at(&out, UX_GSYM_SAME_START_MAX - 1), "x");
	assert_string_equal(name_at(&out, UX_GSYM_SAME_START_MAX), "");
}

static void calls_deeper_than_the_limit_are_not_written(void **state)
{
	(void)state;
	const struct ux_gsym_range range = {0, 8};
	struct ux_code_inline nodes[300];
	for (uint32_t i = 0; i < 300; i++)
		nodes[i] = (struct ux_code_inline){
			.name = 1, .call_line = i, .depth = i + 1, .range_count = 1};
	UX_ARENA(arena, BUDGET);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_function f = {.size = 8, .name = 2, .ranges = &range};
	f.inlines = nodes;
	f.n_inlines = 300;
	struct make_gsym m = {.functions = &f, .n_functions = 1, .strings = UX_STR("\0ab\0")};
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	struct ux_gsym g;
	struct ux_frame frames[FRAMES];
	size_t n = 0;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_lookup(&g, 3, frames, FRAMES, &n, NULL), UX_OK);
	assert_int_equal(n, UX_GSYM_DEPTH_MAX + 1);
	assert_int_equal(frames[1].line, UX_GSYM_DEPTH_MAX - 1);
	struct ux_gsym_decoded read;
	assert_int_equal(ux_gsym_decode(&g, 0, &arena, &read, NULL), UX_OK);
	assert_int_equal(read.n_inlines, UX_GSYM_DEPTH_MAX);
}

/* --- damage -------------------------------------------------------------------------------- */

static void use_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, BUDGET);
	struct ux_gsym g;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_gsym_open(&g, input, &err) != UX_OK) {
		assert_true(err.code != UX_OK && err.text[0] != 0);
		return;
	}
	for (uint32_t i = 0; i < g.n_functions; i++) {
		struct ux_gsym_decoded f;
		struct ux_frame frames[4];
		size_t n = 0;
		err = (struct ux_error)UX_ERROR_INIT;
		if (ux_gsym_decode(&g, i, &arena, &f, &err) != UX_OK)
			assert_true(err.text[0] != 0);
		for (uint64_t off = 0; off < 40; off++) {
			uint64_t pc = ux_gsym_start(&g, i) + off * off;
			if (ux_gsym_lookup(&g, pc, frames, 4, &n, NULL) != UX_OK)
				continue;
			for (size_t k = 0; k < n; k++)
				assert_true(strlen(frames[k].function) + strlen(frames[k].dir) +
						    strlen(frames[k].base) <
					    3 * input.size);
		}
	}
}

static void damaged_files_are_survived(void **state)
{
	(void)state;
	UX_ARENA(arena, BUDGET);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	uint8_t buf[300];
	struct make_gsym m;
	assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(3, buf, sizeof(buf))), UX_OK);
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	const struct ux_bytes files[] = {example(), ux_out_bytes(&out)};
	for (size_t i = 0; i < ux_countof(files); i++) {
		each_prefix(files[i], use_all, NULL);
		each_bit_flip(files[i], use_all, NULL);
		each_byte_extreme(files[i], use_all, NULL);
	}
}

static enum ux_code decode_example(void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, BUDGET);
	struct ux_gsym g;
	struct ux_gsym_decoded f;
	UX_TRY(ux_gsym_open(&g, example(), NULL));
	UX_TRY(ux_gsym_decode(&g, 0, &arena, &f, NULL));
	return ux_gsym_decode(&g, 1, &arena, &f, NULL);
}

static void decoding_without_memory_says_so(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(decode_example, NULL, /* may_recover= */ false) > 1);
	UX_ARENA(arena, 16);
	struct ux_gsym g;
	struct ux_gsym_decoded f;
	assert_int_equal(ux_gsym_open(&g, example(), NULL), UX_OK);
	assert_int_equal(ux_gsym_decode(&g, 0, &arena, &f, NULL), UX_ELIMIT);
}

static void image_begins_at_the_base_unless_the_first_function_does(void **state)
{
	(void)state;
	enum {
		WIDTH_AT = 6,
		BASE_AT = 8,
		STARTS_AT = 48
	};
	uint8_t head[UX_GSYM_BASE_BYTES];
	uint64_t base = 0, found = 0x400000;
	memcpy(head, make_gsym_example, sizeof(head));
	head[WIDTH_AT] = 2;
	head[STARTS_AT] = head[STARTS_AT + 1] = 0;
	assert_int_equal(ux_gsym_image_base(ux_bytes(head, sizeof(head)), &found, NULL),
			 UX_ENOTFOUND);
	memcpy(head + BASE_AT, &base, sizeof(base));
	assert_int_equal(ux_gsym_image_base(ux_bytes(head, sizeof(head)), &found, NULL), UX_OK);
	assert_int_equal(found, 0);
	base = 0x400000;
	memcpy(head + BASE_AT, &base, sizeof(base));
	head[STARTS_AT + 1] = 0x10;
	assert_int_equal(ux_gsym_image_base(ux_bytes(head, sizeof(head)), &found, NULL), UX_OK);
	assert_int_equal(found, 0x400000);
	for (size_t n = 0; n < STARTS_AT + 2; n++)
		assert_int_not_equal(ux_gsym_image_base(ux_bytes(head, n), &found, NULL), UX_OK);
}

static void an_open_file_says_the_same_of_its_image(void **state)
{
	(void)state;
	enum {
		BASE_AT = 8,
		STARTS_AT = 48 /* of 2 bytes each */
	};
	struct ux_gsym g;
	uint8_t file[sizeof(make_gsym_example)];
	uint64_t start = 0, none = 0;
	memcpy(file, make_gsym_example, sizeof(file));
	file[STARTS_AT + 1] = 0; /* the first function begins at the base */
	assert_int_equal(ux_gsym_open(&g, ux_bytes(file, sizeof(file)), NULL), UX_OK);
	assert_true(g.base != 0);
	assert_false(ux_gsym_image_start(&g, &start));
	file[STARTS_AT + 1] = 0x10;
	assert_int_equal(ux_gsym_open(&g, ux_bytes(file, sizeof(file)), NULL), UX_OK);
	assert_true(ux_gsym_image_start(&g, &start));
	assert_int_equal(start, g.base);
	file[STARTS_AT + 1] = 0;
	memcpy(file + BASE_AT, &none, sizeof(none));
	assert_int_equal(ux_gsym_open(&g, ux_bytes(file, sizeof(file)), NULL), UX_OK);
	assert_true(ux_gsym_image_start(&g, &start));
	assert_int_equal(start, 0);
}

UX_SUITE(gsym_reader)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(example_is_opened_as_written),
		UX_TEST(lookup_names_every_inlined_call),
		UX_TEST(lookup_outside_of_functions_finds_nothing),
		UX_TEST(few_frames_keep_the_outermost),
		UX_TEST(whole_record_is_decoded),
		UX_TEST(bad_headers_are_named),
		UX_TEST(an_open_file_says_the_same_of_its_image),
		UX_TEST(what_is_written_is_read),
		UX_TEST(image_begins_at_the_base_unless_the_first_function_does),
		UX_TEST(first_function_with_the_start_that_reaches_answers),
		UX_TEST(function_without_size_reaches_the_next),
		UX_TEST(equal_starts_are_found_at_every_place),
		UX_TEST(endless_equal_starts_are_not_all_tried),
		UX_TEST(calls_deeper_than_the_limit_are_not_written),
		UX_TEST(damaged_files_are_survived),
		UX_TEST(decoding_without_memory_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
