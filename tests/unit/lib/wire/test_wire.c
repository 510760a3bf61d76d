/* SPDX-License-Identifier: Apache-2.0 */
/* wire: questions and replies in the compact form. */
#include "sweep.h"

#include "wire.h"

static struct ux_id id_of(const char *text)
{
	struct ux_id id;
	assert_int_equal(ux_id_parse(ux_bytes_cstr(text), &id, NULL), UX_OK);
	return id;
}

static const uint64_t near_pcs[] = {0x401000, 0x401000, 0x400fff, 0x402345};
static const uint64_t far_pcs[] = {0, UINT64_MAX, 0x8000000000000000, 1, 0xffffffff80000000};

/* Two modules, one of them with addresses that differences make longer, one empty. */
static void write_question(struct ux_out *out)
{
	const struct ux_wire_options options = {
		.return_addresses = true, .demangle = UX_DEMANGLE_SHORT, .timeout_ms = 2500};
	struct ux_id gnu = id_of("gnu:00ff"), go = id_of("go:a/b"),
		     uuid = id_of("uuid:00112233445566778899aabbccddeeff");
	ux_wire_question_begin(out, &options);
	ux_wire_question_add(out, &gnu, near_pcs, ux_countof(near_pcs));
	ux_wire_question_add(out, &go, NULL, 0);
	ux_wire_question_add(out, &uuid, far_pcs, ux_countof(far_pcs));
	ux_wire_question_end(out);
}

static void expect_module(struct ux_wire_question *q, const char *id, const uint64_t *pcs, size_t n)
{
	struct ux_wire_question_module m;
	char text[UX_ID_TEXT];
	uint64_t got[8];
	bool more = false;
	assert_int_equal(ux_wire_question_next(q, &m, &more, NULL), UX_OK);
	assert_true(more);
	assert_string_equal(ux_id_format(&m.id, text), id);
	assert_int_equal(m.n, n);
	assert_int_equal(ux_wire_question_pcs(&m, got, NULL), UX_OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], pcs[i]);
}

static void question_reads_back_as_it_was_written(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_wire_question q;
	struct ux_wire_question_module m;
	bool more = true;
	write_question(&out);
	assert_int_equal(ux_wire_question_open(&q, ux_out_bytes(&out), NULL), UX_OK);
	assert_true(q.options.return_addresses);
	assert_int_equal(q.options.demangle, UX_DEMANGLE_SHORT);
	assert_int_equal(q.options.timeout_ms, 2500);
	expect_module(&q, "gnu:00ff", near_pcs, ux_countof(near_pcs));
	expect_module(&q, "go:a/b", NULL, 0);
	expect_module(&q, "uuid:00112233445566778899aabbccddeeff", far_pcs, ux_countof(far_pcs));
	assert_int_equal(ux_wire_question_next(&q, &m, &more, NULL), UX_OK);
	assert_false(more);
}

/* Reads all of a question; the code of the first failure. */
static enum ux_code read_question(struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_wire_question q;
	uint64_t pcs[64];
	UX_TRY(ux_wire_question_open(&q, bytes, err));
	for (;;) {
		struct ux_wire_question_module m;
		bool more = false;
		UX_TRY(ux_wire_question_next(&q, &m, &more, err));
		if (!more)
			return UX_OK;
		if (m.n <= ux_countof(pcs))
			UX_TRY(ux_wire_question_pcs(&m, pcs, err));
	}
}

static void question_that_is_wrong_says_what(void **state)
{
	(void)state;
	static const struct {
		struct ux_bytes bytes;
		enum ux_code code;
		const char *says;
	} cases[] = {
		{{NULL, 0}, UX_ECORRUPT, "3 bytes"},
		{{(const uint8_t *)"UXR\x01", 4}, UX_ECORRUPT, "UXQ"},
		{{(const uint8_t *)"UXQ\x02", 4}, UX_EUNSUPPORTED, "version 2; expected version 1"},
		{{(const uint8_t *)"UXQ\x01\x02\0\0\0", 8}, UX_EUNSUPPORTED, "flags"},
		{{(const uint8_t *)"UXQ\x01\0\x04\0\0", 8}, UX_EUNSUPPORTED, "demangle"},
		{{(const uint8_t *)"UXQ\x01\0\0\xff\xff\xff\xff\x10\0", 12},
		 UX_ECORRUPT,
		 "32 bits"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x09\x01x", 10}, UX_EUNSUPPORTED, "ID type"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x03\x01x", 10}, UX_EINVAL, "File ID of 1 byte"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x01\x01x\x02", 11}, UX_EUNSUPPORTED, "format"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x01\x01x\x01\x02\x01\x05", 14},
		 UX_ECORRUPT,
		 "count"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x01\x01x\0\x01\x07zzzzzzz", 20},
		 UX_ECORRUPT,
		 "count"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x01\x01x\x01\x01\x02\x05\x05\0", 16},
		 UX_ECORRUPT,
		 "after the addresses"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\0\0", 9}, UX_ECORRUPT, "after the end"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_error err = UX_ERROR_INIT;
		char text[256];
		assert_int_equal(read_question(cases[i].bytes, &err), cases[i].code);
		ux_error_format(&err, text, sizeof(text));
		if (!strstr(text, cases[i].says))
			fail_msg("case %zu: '%s' does not say '%s'", i, text, cases[i].says);
	}
}

/* f inlined into g at two lines of it, and g without it; a module of each status. */
static void write_reply(struct ux_out *out)
{
	struct ux_wire_reply r = {0};
	uint32_t f = ux_wire_reply_string(&r, UX_STR("f")),
		 g = ux_wire_reply_string(&r, UX_STR("g"));
	uint32_t dir = ux_wire_reply_string(&r, UX_STR("/src"));
	uint32_t file = ux_wire_reply_file(&r, dir, ux_wire_reply_string(&r, UX_STR("x.c")));
	uint32_t one = ux_wire_reply_frame(&r, g, file, 10, 0);
	uint32_t two = ux_wire_reply_frame(&r, f, file, 300, one);
	uint32_t bare = ux_wire_reply_frame(&r, g, 0, 0, 0);
	ux_wire_reply_address(&r, two);
	ux_wire_reply_address(&r, 0);
	ux_wire_reply_address(&r, one);
	ux_wire_reply_module(&r, UX_MODULE_FOUND, UX_QUALITY_INLINES, UX_BYTES_NONE, 0, 3);
	ux_wire_reply_module(&r, UX_MODULE_MISSING, 0, UX_BYTES_NONE, 0, 0);
	ux_wire_reply_module(&r, UX_MODULE_FAILED, 0, UX_STR("damaged"), 0, 0);
	ux_wire_reply_address(&r, bare);
	ux_wire_reply_module(&r, UX_MODULE_PENDING, UX_QUALITY_SYMTAB, UX_STR("late"), 70000, 1);
	ux_wire_reply_write(&r, out);
	assert_true(ux_wire_reply_size(&r) <= out->size);
	ux_wire_reply_deinit(&r);
}

static void expect_frame(const struct ux_frame *f, const char *function, const char *dir,
			 const char *base, uint32_t line, bool inlined)
{
	assert_string_equal(f->function, function);
	assert_string_equal(f->dir, dir);
	assert_string_equal(f->base, base);
	assert_int_equal(f->line, line);
	assert_int_equal(f->inlined, inlined);
}

static void reply_reads_back_as_it_was_written(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_wire_read r;
	struct ux_frame f[4];
	write_reply(&out);
	assert_int_equal(ux_wire_read_open(&r, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(r.n_modules, 4);
	assert_int_equal(ux_wire_read_frames(&r, 0, f, ux_countof(f)), 2);
	expect_frame(&f[0], "f", "/src", "x.c", 300, true);
	expect_frame(&f[1], "g", "/src", "x.c", 10, false);
	assert_int_equal(ux_wire_read_frames(&r, 0, f, 1), 1); /* the outermost is kept */
	expect_frame(&f[0], "g", "/src", "x.c", 10, false);
	assert_int_equal(ux_wire_read_frames(&r, 1, f, ux_countof(f)), 0);
	assert_int_equal(ux_wire_read_frames(&r, 2, f, ux_countof(f)), 1);
	expect_frame(&f[0], "g", "/src", "x.c", 10, false);
	assert_int_equal(r.modules[0].quality, UX_QUALITY_INLINES);
	assert_int_equal(r.modules[1].status, UX_MODULE_MISSING);
	assert_string_equal(ux_wire_read_string(&r, r.modules[1].reason), "");
	assert_int_equal(r.modules[2].status, UX_MODULE_FAILED);
	assert_string_equal(ux_wire_read_string(&r, r.modules[2].reason), "damaged");
	assert_int_equal(r.modules[3].status, UX_MODULE_PENDING);
	assert_int_equal(r.modules[3].retry_after_s, 70000);
	assert_int_equal(r.modules[3].n, 1);
	assert_int_equal(ux_wire_read_frames(&r, r.modules[3].first, f, ux_countof(f)), 1);
	expect_frame(&f[0], "g", "", "", 0, false);
	ux_wire_read_deinit(&r);
}

/* Checks promises that hold for any bytes: an answer or an error, and frames within bounds. */
static void reply_is_read(struct ux_bytes bytes, void *ctx)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_frame f[UX_FRAMES_MAX];
	struct ux_wire_read r;
	(void)ctx;
	enum ux_code code = ux_wire_read_open(&r, bytes, &err);
	assert_int_equal(code, err.code);
	for (size_t i = 0; code == UX_OK && i < r.n_addresses; i++)
		for (size_t n = ux_wire_read_frames(&r, i, f, ux_countof(f)); n > 0; n--)
			assert_true(strlen(f[n - 1].function) < bytes.size);
	ux_wire_read_deinit(&r);
}

static void question_is_read(struct ux_bytes bytes, void *ctx)
{
	struct ux_error err = UX_ERROR_INIT;
	(void)ctx;
	enum ux_code code = read_question(bytes, &err);
	assert_int_equal(code, err.code);
}

static void damaged_bytes_are_refused_or_read_within_bounds(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out question = {0}, reply = {0};
	write_question(&question);
	write_reply(&reply);
	each_prefix(ux_out_bytes(&question), question_is_read, NULL);
	each_bit_flip(ux_out_bytes(&question), question_is_read, NULL);
	each_prefix(ux_out_bytes(&reply), reply_is_read, NULL);
	each_bit_flip(ux_out_bytes(&reply), reply_is_read, NULL);
	each_byte_extreme(ux_out_bytes(&reply), reply_is_read, NULL);
}

static void no_prefix_of_a_reply_is_a_reply(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_reply(&out);
	for (size_t n = 0; n < out.size; n++) {
		struct ux_wire_read r;
		assert_int_equal(ux_wire_read_open(&r, ux_bytes(out.data, n), NULL), UX_ECORRUPT);
		ux_wire_read_deinit(&r);
	}
}

static void frames_nested_deeper_than_any_function_are_refused(void **state)
{
	(void)state;
	for (unsigned deep = UX_FRAMES_MAX; deep <= UX_FRAMES_MAX + 1; deep++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_wire_reply w = {0};
		struct ux_wire_read r;
		uint32_t up = 0;
		for (unsigned i = 0; i < deep; i++)
			up = ux_wire_reply_frame(&w, 0, 0, i, up);
		ux_wire_reply_address(&w, up);
		ux_wire_reply_module(&w, UX_MODULE_FOUND, 0, UX_BYTES_NONE, 0, 1);
		ux_wire_reply_write(&w, &out);
		assert_int_equal(ux_wire_read_open(&r, ux_out_bytes(&out), NULL),
				 deep > UX_FRAMES_MAX ? UX_ECORRUPT : UX_OK);
		ux_wire_read_deinit(&r);
		ux_wire_reply_deinit(&w);
	}
}

/* docs/formats/symbolize-binary.md, "Example". */
static void examples_of_the_page_are_right(void **state)
{
	(void)state;
	static const uint8_t question[] = {0x55, 0x58, 0x51, 0x01, 0x00, 0x02, 0x00, 0x01, 0x02,
					   0x00, 0xff, 0x01, 0x02, 0x03, 0x80, 0x20, 0x04, 0x00};
	static const uint8_t reply[] = {0x55, 0x58, 0x52, 0x01, 0x04, 0x0b, 0x67, 0x00, 0x2f, 0x61,
					0x00, 0x78, 0x2e, 0x63, 0x00, 0x66, 0x00, 0x01, 0x02, 0x03,
					0x02, 0x01, 0x01, 0x07, 0x00, 0x04, 0x01, 0x03, 0x01, 0x01,
					0x00, 0x05, 0x00, 0x00, 0x02, 0x02, 0x00};
	const struct ux_wire_options options = {.demangle = UX_DEMANGLE_FULL};
	const uint64_t pcs[] = {0x1000, 0x1004};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_id id = id_of("gnu:00ff");
	struct ux_wire_read r;
	struct ux_frame f[3];
	ux_wire_question_begin(&out, &options);
	ux_wire_question_add(&out, &id, pcs, ux_countof(pcs));
	ux_wire_question_end(&out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_bytes(question, sizeof(question))));
	assert_int_equal(ux_wire_read_open(&r, ux_bytes(reply, sizeof(reply)), NULL), UX_OK);
	assert_int_equal(ux_wire_read_frames(&r, 0, f, ux_countof(f)), 2);
	expect_frame(&f[0], "f", "/a", "x.c", 3, true);
	expect_frame(&f[1], "g", "/a", "x.c", 7, false);
	assert_int_equal(ux_wire_read_frames(&r, 1, f, ux_countof(f)), 0);
	ux_wire_read_deinit(&r);
}

UX_SUITE(wire)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(question_reads_back_as_it_was_written),
		UX_TEST(question_that_is_wrong_says_what),
		UX_TEST(reply_reads_back_as_it_was_written),
		UX_TEST(examples_of_the_page_are_right),
		UX_TEST(damaged_bytes_are_refused_or_read_within_bounds),
		UX_TEST(no_prefix_of_a_reply_is_a_reply),
		UX_TEST(frames_nested_deeper_than_any_function_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
