/* SPDX-License-Identifier: Apache-2.0 */
/* The client of S3 against a server that sends the test's bytes. */
#include "sweep.h"

#include "clock.h"
#include "out.h"
#include "s3_client.h"
#include "scripted_server.h"

#define OK(more, body)  "HTTP/1.1 200 OK\r\n" more "Content-Length: " body
#define EMPTY_OK        OK("", "0\r\n\r\n")
#define UNSIZED(status) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n"
#define REFUSAL(status, code)                                                                   \
	{                                                                                       \
		.answer = UNSIZED(status) "<Error><Code>" code "</Code></Error>", .close = true \
	}

static struct ux_s3 *bucket_open(const struct script *s)
{
	struct ux_s3 *s3 = NULL;
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	const struct ux_s3_options options = {
		.place = "s3://bucket/some/prefix/", .endpoint = s->url, .patience_ms = 2000};
	assert_int_equal(ux_s3_open(&s3, &options, NULL), UX_OK);
	return s3;
}

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	ux_out_put(ctx, bytes.data, bytes.size);
	return UX_OK;
}

static void a_request_has_prefix_host_and_signature(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = EMPTY_OK});
	struct ux_s3 *s3 = bucket_open(&s);
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("hello")};
	assert_int_equal(ux_s3_put(s3, "a b/c", &body, NULL), UX_OK);
	assert_string_equal(ux_s3_place(s3), "s3://bucket/some/prefix");
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 1);
	const char *r = s.requests[0];
	assert_non_null(strstr(r, "PUT /bucket/some/prefix/a%20b/c HTTP/1.1\r\n"));
	assert_non_null(strstr(r, "x-amz-content-sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1f"
				  "a7425e73043362938b9824\r\n"));
	assert_non_null(strstr(r, "Authorization: AWS4-HMAC-SHA256 Credential=id/"));
	assert_non_null(strstr(r, "/us-east-1/s3/aws4_request,SignedHeaders="
				  "host;x-amz-content-sha256;x-amz-date,Signature="));
	assert_null(strstr(r, "Expect:"));
	assert_non_null(strstr(r, "\r\n\r\nhello"));
}

static void what_passes_is_repeated(void **state)
{
	(void)state;
	SCRIPT(s, REFUSAL("503 Slow Down", "SlowDown"), {.answer = NULL, .close = true},
	       {.answer = OK("", "3\r\n\r\nabc")});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out got = {0};
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, NULL), UX_OK);
	assert_int_equal(got.size, 3);
	ux_out_deinit(&got);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 3);
}

static void a_cut_answer_is_continued_where_it_ended(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("", "6\r\n\r\nab"), .close = true},
	       {.answer = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-5/6\r\n"
			  "Content-Length: 4\r\n\r\ncdef"});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out got = {0};
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, NULL), UX_OK);
	assert_int_equal(got.size, 6);
	assert_memory_equal(got.data, "abcdef", 6);
	ux_out_deinit(&got);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 2);
	assert_null(strstr(s.requests[0], "Range:"));
	assert_non_null(strstr(s.requests[1], "Range: bytes=2-\r\n"));
}

static void a_server_that_ignores_ranges_is_noticed(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("", "4\r\n\r\nabcd")}, {.answer = OK("", "2\r\n\r\nab")},
	       {.answer = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-3/4\r\n"
			  "Content-Length: 1\r\n\r\nx"},
	       {.answer = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-2/3\r\n"
			  "Content-Length: 1\r\n\r\nx"});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out got = {0};
	for (int i = 0; i < 3; i++)
		assert_int_equal(ux_s3_get(s3, "k", 2, 2, collect, &got, NULL), UX_EIO);
	assert_int_equal(got.size, 0);
	assert_int_equal(ux_s3_get(s3, "k", 2, 2, collect, &got, NULL), UX_ECORRUPT);
	ux_out_deinit(&got);
	ux_s3_close(s3);
	script_close(&s);
}

static void refusals_have_their_meaning(void **state)
{
	(void)state;
	SCRIPT(s, REFUSAL("404 Not Found", "NoSuchKey"), REFUSAL("404 Not Found", "NoSuchBucket"),
	       REFUSAL("403 Forbidden", "SignatureDoesNotMatch"),
	       REFUSAL("412 Precondition Failed", "PreconditionFailed"),
	       REFUSAL("400 Bad Request", "InvalidRequest."),
	       REFUSAL("404 Not Found", "NoSuchKey"));
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("x"), .fresh = true};
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, &err), UX_ENOTFOUND);
	assert_string_equal(err.text, "GET k: 404 NoSuchKey");
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, NULL), UX_EUNAVAILABLE);
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, NULL), UX_EDENIED);
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_ECONFLICT);
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_EIO);
	assert_int_equal(ux_s3_delete(s3, "k", NULL), UX_OK);
	assert_int_equal(got.size, 0);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 6);
	assert_non_null(strstr(s.requests[3], "If-None-Match: *\r\n"));
}

#define XML(text)                                                            \
	{                                                                    \
		.answer = UNSIZED("200 OK") "<r>" text "</r>", .close = true \
	}

/* By S3's reference, one request copies 5 GiB at most. */
static void a_giant_object_is_copied_in_ranges(void **state)
{
	(void)state;
	SCRIPT(s, XML("<UploadId>u</UploadId>"), XML("<ETag>&quot;a&quot;</ETag>"),
	       XML("<ETag>&quot;b&quot;</ETag>"), XML(""),
	       {.answer = OK("", "6442450944\r\n\r\n")});
	struct ux_s3 *s3 = bucket_open(&s);
	const struct ux_s3_from from = {"from", UINT64_C(6) << 30};
	assert_int_equal(ux_s3_copy(s3, &from, 1, "to", NULL), UX_OK);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 5);
	assert_non_null(strstr(s.requests[1], "x-amz-copy-source: /bucket/some/prefix/from\r\n"));
	assert_non_null(strstr(s.requests[1], "x-amz-copy-source-range: bytes=0-5368709119\r\n"));
	assert_non_null(strstr(s.requests[1],
			       "SignedHeaders=host;x-amz-content-sha256;"
			       "x-amz-copy-source;x-amz-copy-source-range;x-amz-date"));
	assert_non_null(
		strstr(s.requests[2], "x-amz-copy-source-range: bytes=5368709120-6442450943\r\n"));
	assert_non_null(strstr(s.requests[3], "<PartNumber>2</PartNumber><ETag>\"b\"</ETag>"));
	assert_non_null(strstr(s.requests[4], "HEAD "));
}

static void a_copy_that_is_refused_leaves_nothing(void **state)
{
	(void)state;
	SCRIPT(s, REFUSAL("501 Not Implemented", "NotImplemented"), XML("<UploadId>u</UploadId>"),
	       {.answer = UNSIZED("200 OK") "  <Error><Code>EntityTooSmall</Code></Error>",
		.close = true},
	       {.answer = "HTTP/1.1 204 No Content\r\n\r\n"});
	struct ux_s3 *s3 = bucket_open(&s);
	const struct ux_s3_from from[] = {{"a", 5}, {"b", 6}};
	assert_int_equal(ux_s3_copy(s3, from, 1, "to", NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_s3_copy(s3, from, 2, "to", NULL), UX_EIO);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 4);
	assert_non_null(strstr(s.requests[3], "DELETE /bucket/some/prefix/to?uploadId=u "));
}

static void while_the_server_is_away_requests_fail_at_once(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = EMPTY_OK});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_error err = UX_ERROR_INIT;
	uint64_t size = 0;
	script_close(&s);
	int64_t before = ux_clock_ms();
	assert_false(ux_s3_failed_within(s3, 60000));
	assert_int_equal(ux_s3_head(s3, "k", &size, NULL), UX_EUNAVAILABLE);
	assert_true(ux_s3_failed_within(s3, 60000) && !ux_s3_is_up(s3));
	assert_false(ux_s3_failed_within(s3, -60000)); /* that long ago, and not tried since */
	int64_t patient = ux_clock_ms() - before;
	assert_in_range(patient, 500, 10000);
	before = ux_clock_ms();
	for (int i = 0; i < 100; i++)
		assert_int_equal(ux_s3_head(s3, "k", &size, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "s3://bucket/some/prefix is unreachable");
	assert_true(ux_clock_ms() - before < patient);
	ux_s3_close(s3);
}

static enum ux_code count_keys(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	(void)err;
	ux_out_fmt(ctx, "%s;", object->key);
	return UX_OK;
}

#define PAGE(more, key)                                                      \
	{                                                                    \
		.answer = UNSIZED("200 OK") "<L>" more "<Contents><Key>" key \
					    "</Key></Contents></L>",         \
		.close = true                                                \
	}

static void a_listing_is_read_page_by_page(void **state)
{
	(void)state;
	SCRIPT(s,
	       PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>a/+"
		    "</NextContinuationToken>",
		    "some/prefix/x/1"),
	       PAGE("", "some/prefix/x/2"), PAGE("", "other/x/1"));
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out keys = {0};
	assert_int_equal(ux_s3_list(s3, "x/", count_keys, &keys, NULL), UX_OK);
	assert_int_equal(keys.size, 8);
	assert_memory_equal(keys.data, "x/1;x/2;", 8);
	assert_int_equal(ux_s3_list(s3, "x/", count_keys, &keys, NULL), UX_ECORRUPT);
	ux_out_deinit(&keys);
	ux_s3_close(s3);
	script_close(&s);
	assert_non_null(
		strstr(s.requests[0], "GET /bucket/?list-type=2&prefix=some%2Fprefix%2Fx%2F "));
	assert_non_null(strstr(s.requests[1], "?continuation-token=a%2F%2B&list-type=2&prefix="));
}

static void addresses_that_name_no_bucket_are_refused(void **state)
{
	(void)state;
	static const char *const places[] = {"bucket",
					     "s3://",
					     "s3://ab",
					     "s3://Upper",
					     "s3://under_score",
					     "s3://-dash",
					     "s3://a..b",
					     "s3://bucket//x",
					     "s3://bucket/a/../b",
					     "s3://bucket/./b",
					     "s3://bucket/a\nb"};
	struct ux_s3 *s3 = NULL;
	for (size_t i = 0; i < ux_countof(places); i++) {
		const struct ux_s3_options options = {.place = places[i]};
		assert_int_equal(ux_s3_open(&s3, &options, NULL), UX_EINVAL);
	}
	static const char *const endpoints[] = {"localhost", "ftp://x", "http://x/path",
						"http://u:p@x"};
	for (size_t i = 0; i < ux_countof(endpoints); i++) {
		const struct ux_s3_options options = {.place = "s3://bucket",
						      .endpoint = endpoints[i]};
		assert_int_equal(ux_s3_open(&s3, &options, NULL), UX_EINVAL);
	}
	const struct ux_s3_options region = {.place = "s3://bucket", .region = "a/b"};
	assert_int_equal(ux_s3_open(&s3, &region, NULL), UX_EINVAL);
	assert_null(s3);
}

static char *presigned(const struct ux_s3_options *options)
{
	struct ux_s3 *s3 = NULL;
	char *url = NULL;
	assert_int_equal(ux_s3_open(&s3, options, NULL), UX_OK);
	const struct ux_s3_presign what = {UX_METHOD_GET, "k", .expires_s = 60};
	assert_int_equal(ux_s3_presigned(s3, &what, &url, NULL), UX_OK);
	ux_s3_close(s3);
	return url;
}

static void the_bucket_is_in_the_path_or_in_the_host(void **state)
{
	(void)state;
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_REGION", "eu-central-1", 1);
	static const struct {
		struct ux_s3_options options;
		const char *begin;
	} cases[] = {
		{{.place = "s3://bucket/p"}, "https://s3.eu-central-1.amazonaws.com/bucket/p/k?X-"},
		{{.place = "s3://bucket", .host_style = true, .region = "us-west-2"},
		 "https://bucket.s3.us-west-2.amazonaws.com/k?X-"},
		{{.place = "s3://bucket", .endpoint = "http://10.0.0.1:80/"},
		 "http://10.0.0.1:80/bucket/k?X-"},
		{{.place = "s3://bucket",
		  .endpoint = "http://10.0.0.1:80/",
		  .public_endpoint = "https://files.example.org"},
		 "https://files.example.org/bucket/k?X-"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		char *url = presigned(&cases[i].options);
		assert_int_equal(strncmp(url, cases[i].begin, strlen(cases[i].begin)), 0);
		free(url);
	}
	unsetenv("AWS_REGION");
}

static void without_keys_requests_are_not_signed(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = EMPTY_OK});
	struct ux_s3 *s3 = NULL;
	char *url = NULL;
	uint64_t size = 0;
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	const struct ux_s3_options options = {.place = "s3://bucket", .endpoint = s.url};
	assert_int_equal(ux_s3_open(&s3, &options, NULL), UX_OK);
	assert_int_equal(ux_s3_head(s3, "k", &size, NULL), UX_OK);
	const struct ux_s3_presign what = {UX_METHOD_GET, "k", .expires_s = 60};
	assert_int_equal(ux_s3_presigned(s3, &what, &url, NULL), UX_EUNSUPPORTED);
	ux_s3_close(s3);
	script_close(&s);
	assert_null(strstr(s.requests[0], "Authorization"));
}

UX_SUITE(s3_client)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_prefix_host_and_signature),
		cmocka_unit_test(what_passes_is_repeated),
		cmocka_unit_test(a_cut_answer_is_continued_where_it_ended),
		cmocka_unit_test(a_server_that_ignores_ranges_is_noticed),
		cmocka_unit_test(refusals_have_their_meaning),
		cmocka_unit_test(a_giant_object_is_copied_in_ranges),
		cmocka_unit_test(a_copy_that_is_refused_leaves_nothing),
		cmocka_unit_test(while_the_server_is_away_requests_fail_at_once),
		cmocka_unit_test(a_listing_is_read_page_by_page),
		cmocka_unit_test(addresses_that_name_no_bucket_are_refused),
		cmocka_unit_test(the_bucket_is_in_the_path_or_in_the_host),
		cmocka_unit_test(without_keys_requests_are_not_signed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
