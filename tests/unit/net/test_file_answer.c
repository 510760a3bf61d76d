/* SPDX-License-Identifier: Apache-2.0 */
/* net: ranges and conditions on files. */
#include "sweep.h"

#include "exchange.h"
#include "file.h"
#include "file_answer.h"

#include <sys/mman.h>
#include <unistd.h>

#define STR ux_bytes_cstr

#define TAG "\"tag-of-it\""

static const char content[] = "0123456789";

static enum ux_code whole(struct ux_request *req, struct ux_response *res)
{
	if (ux_answer_tagged(req, res, STR(TAG)))
		return UX_OK;
	int fd = memfd_create("content", MFD_CLOEXEC);
	assert_int_equal(ux_file_write(fd, STR(content), NULL), UX_OK);
	return ux_answer_file(req, res, fd, sizeof(content) - 1, STR(TAG), "text/plain");
}

static enum ux_code in_memory(struct ux_request *req, struct ux_response *res)
{
	if (ux_answer_tagged(req, res, STR(TAG)))
		return UX_OK;
	return ux_answer_bytes(req, res, STR(content), STR(TAG), "text/plain");
}

static const struct ux_route routes[] = {
	{UX_METHOD_GET, "/file", whole, NULL, 0, ""},
	{UX_METHOD_GET, "/bytes", in_memory, NULL, 0, ""},
};

static void assert_body(struct ux_response *res, const char *want)
{
	char got[32] = {0};
	if (res->fd >= 0) {
		assert_true(res->fd_size < sizeof(got));
		assert_int_equal(pread(res->fd, got, res->fd_size, (off_t)res->fd_off),
				 res->fd_size);
	} else {
		assert_true(res->body.size < sizeof(got));
		if (res->body.size > 0)
			memcpy(got, res->body.data, res->body.size);
	}
	assert_string_equal(got, want);
}

static void assert_field(const struct ux_response *res, const char *name, const char *want)
{
	for (size_t i = 0; i < res->n_fields; i++) {
		if (!ux_bytes_eq(res->fields[i].name, STR(name)))
			continue;
		assert_non_null(want);
		assert_true(ux_bytes_eq(res->fields[i].value, STR(want)));
		return;
	}
	assert_null(want);
}

struct header {
	const char *name, *value;
};

static void ask(const char *path, struct header a, struct header b, unsigned status,
		const char *body, const char *range)
{
	struct ux_http_app app = {.routes = routes,
				  .n_routes = ux_countof(routes),
				  .limits = ux_http_limits_default((struct ux_http_limits){0})};
	struct ux_exchange x;
	ux_exchange_init(&x, &app, STR("GET"), STR(path));
	if (a.name)
		ux_exchange_header(&x, STR(a.name), STR(a.value));
	if (b.name)
		ux_exchange_header(&x, STR(b.name), STR(b.value));
	ux_exchange_begin(&x);
	ux_exchange_finish(&x);
	assert_int_equal(x.res.status, status);
	if (body)
		assert_body(&x.res, body);
	assert_field(&x.res, "ETag", TAG);
	assert_field(&x.res, "Content-Range", range);
	ux_exchange_deinit(&x, true);
}

static const struct header none;

#define RANGE(v) ((struct header){"Range", "bytes=" v})

static void a_range_is_a_part_and_anything_else_the_whole(void **state)
{
	(void)state;
	const char *const paths[] = {"/file", "/bytes"};
	for (size_t i = 0; i < ux_countof(paths); i++) {
		const char *p = paths[i];
		ask(p, none, none, 200, content, NULL);
		ask(p, RANGE("0-0"), none, 206, "0", "bytes 0-0/10");
		ask(p, RANGE("3-5"), none, 206, "345", "bytes 3-5/10");
		ask(p, RANGE("8-"), none, 206, "89", "bytes 8-9/10");
		ask(p, RANGE("8-99999999999999999999"), none, 200, content, NULL);
		ask(p, RANGE("8-18446744073709551615"), none, 206, "89", "bytes 8-9/10");
		ask(p, RANGE("-3"), none, 206, "789", "bytes 7-9/10");
		ask(p, RANGE("-300"), none, 206, content, "bytes 0-9/10");
		ask(p, RANGE("0-1,3-4"), none, 200, content, NULL);
		ask(p, RANGE("5-3"), none, 200, content, NULL);
		ask(p, RANGE("a-b"), none, 200, content, NULL);
		ask(p, (struct header){"Range", "lines=1-2"}, none, 200, content, NULL);
		ask(p, RANGE("10-"), none, 416, NULL, "bytes */10");
		ask(p, RANGE("-0"), none, 416, NULL, "bytes */10");
	}
}

static void a_range_of_other_bytes_is_not_given(void **state)
{
	(void)state;
	ask("/file", RANGE("3-5"), (struct header){"If-Range", TAG}, 206, "345", "bytes 3-5/10");
	ask("/file", RANGE("3-5"), (struct header){"If-Range", "\"other\""}, 200, content, NULL);
	ask("/file", RANGE("3-5"), (struct header){"If-Range", "Tue, 01 Jan 2030 00:00:00 GMT"},
	    200, content, NULL);
}

static void client_that_has_the_bytes_is_not_sent_them(void **state)
{
	(void)state;
	ask("/file", (struct header){"If-None-Match", TAG}, none, 304, "", NULL);
	ask("/file", (struct header){"If-None-Match", "\"a\", W/" TAG}, none, 304, "", NULL);
	ask("/file", (struct header){"If-None-Match", "*"}, RANGE("1-2"), 304, "", NULL);
	ask("/bytes", (struct header){"If-None-Match", "\"a\""}, none, 200, content, NULL);
}

static void ranges_never_leave_the_file(void **state)
{
	(void)state;
	const uint64_t sizes[] = {0, 1, 2, UINT64_MAX};
	const char *const lines[] = {"bytes=0-0",
				     "bytes=0-",
				     "bytes=1-18446744073709551615",
				     "bytes=-1",
				     "bytes=-18446744073709551615",
				     "bytes=18446744073709551615-",
				     "bytes=",
				     "bytes",
				     "bytes=-"};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		for (size_t k = 0; k < ux_countof(lines); k++) {
			uint64_t off = 0, n = 0;
			if (ux_range_parse(STR(lines[k]), sizes[i], &off, &n) != UX_RANGE_PART)
				continue;
			assert_true(n > 0 && off < sizes[i] && n <= sizes[i] - off);
		}
	}
}

/* Each beginning of a line is read within its bytes. */
static void a_range_that_is_cut_is_none(void **state)
{
	(void)state;
	static const char line[] = "bytes=1-345";
	for (size_t n = 0; n < sizeof(line); n++) {
		uint64_t off = 7, size = 7;
		struct ux_bytes cut = guard(ux_bytes(line, n));
		enum ux_range range = ux_range_parse(cut, 1000, &off, &size);
		assert_int_equal(range, n < strlen("bytes=1-") ? UX_RANGE_ALL : UX_RANGE_PART);
		if (range == UX_RANGE_PART)
			assert_int_equal(off, 1);
		guard_free(cut);
	}
}

UX_SUITE(file_answer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_that_is_cut_is_none),
		UX_TEST(a_range_is_a_part_and_anything_else_the_whole),
		UX_TEST(a_range_of_other_bytes_is_not_given),
		UX_TEST(client_that_has_the_bytes_is_not_sent_them),
		UX_TEST(ranges_never_leave_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
