/* SPDX-License-Identifier: Apache-2.0 */
/* The client of S3 against a server that sends the test's bytes. */
#include "sweep.h"

#include "clock.h"
#include "out.h"
#include "s3_client.h"
#include "scripted_server.h"

#define OK(more, body) "HTTP/1.1 200 OK\r\n" more "Content-Length: " body
#define EMPTY_OK       OK(TAG, "0\r\n\r\n")
/* the MD5 of "hello" */
#define TAG             "ETag: \"5d41402abc4b2a76b9719d911017c592\"\r\n"
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
	       {.answer = OK(TAG, "3\r\n\r\nabc")});
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
	SCRIPT(s, {.answer = OK(TAG, "6\r\n\r\nab"), .close = true},
	       {.answer = "HTTP/1.1 206 Partial Content\r\n" TAG "Content-Range: bytes 2-5/6\r\n"
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
	SCRIPT(s, {.answer = OK(TAG, "4\r\n\r\nabcd")}, {.answer = OK(TAG, "2\r\n\r\nab")},
	       {.answer = "HTTP/1.1 206 Partial Content\r\n" TAG "Content-Range: bytes 3-3/4\r\n"
			  "Content-Length: 1\r\n\r\nx"},
	       {.answer = "HTTP/1.1 206 Partial Content\r\n" TAG "Content-Range: bytes 2-2/3\r\n"
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

#define XML(root, text)                                                                    \
	{                                                                                  \
		.answer = UNSIZED("200 OK") "<" root ">" text "</" root ">", .close = true \
	}
#define BEGUN XML("InitiateMultipartUploadResult", "<UploadId>u</UploadId>")
#define ENDED XML("CompleteMultipartUploadResult", "")

/* By S3's reference, one request copies 5 GiB at most. */
static void a_giant_object_is_copied_in_ranges(void **state)
{
	(void)state;
	SCRIPT(s, BEGUN, XML("CopyPartResult", "<ETag>&quot;a&quot;</ETag>"),
	       XML("CopyPartResult", "<ETag>&quot;b&quot;</ETag>"), ENDED,
	       {.answer = OK(TAG, "6442450944\r\n\r\n")});
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
	SCRIPT(s, REFUSAL("501 Not Implemented", "NotImplemented"), BEGUN,
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

#define PAGE(more, key)                                                                     \
	{                                                                                   \
		.answer = UNSIZED("200 OK") "<ListBucketResult>" more "<Contents><Key>" key \
					    "</Key></Contents></ListBucketResult>",         \
		.close = true                                                               \
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

#define HTML(status)                                                                          \
	{                                                                                     \
		.answer = "HTTP/1.1 " status "\r\nContent-Type: text/html; charset=utf-8\r\n" \
			  "ETag: \"5f3c-1a2\"\r\nContent-Length: 13\r\n\r\n<html></html>",    \
		.close = true                                                                 \
	}

/* Nine acknowledged modules were lost when a proxy answered uploads with its own page. */
static void a_page_of_a_proxy_is_never_an_answer(void **state)
{
	(void)state;
	SCRIPT(s, HTML("200 OK"), {.answer = EMPTY_OK}, HTML("200 OK"), HTML("404 Not Found"),
	       {.answer = OK(TAG, "3\r\n\r\nabc")}, HTML("200 OK"), PAGE("", "some/prefix/x/1"),
	       HTML("200 OK"), {.answer = "HTTP/1.1 204 No Content\r\n\r\n"});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out got = {0}, keys = {0};
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("hello")};
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK);
	assert_int_equal(ux_s3_get(s3, "k", 0, UINT64_MAX, collect, &got, NULL), UX_OK);
	assert_int_equal(got.size, 3);
	assert_int_equal(ux_s3_list(s3, "x/", count_keys, &keys, NULL), UX_OK);
	assert_int_equal(keys.size, 4);
	assert_int_equal(ux_s3_delete(s3, "k", NULL), UX_OK);
	ux_out_deinit(&got);
	ux_out_deinit(&keys);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 9);
}

static void a_page_that_stays_is_a_temporary_failure(void **state)
{
	(void)state;
	SCRIPT(s, HTML("200 OK"), HTML("200 OK"), HTML("200 OK"), HTML("200 OK"), HTML("200 OK"),
	       HTML("200 OK"), HTML("200 OK"));
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("hello")};
	assert_int_equal(ux_s3_put(s3, "k", &body, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "PUT k: 200, but the answer is an HTML page");
	assert_false(ux_s3_is_up(s3));
	ux_s3_close(s3);
	assert_in_range(script_close(&s), 2, 7);
}

/* XHTML without objects must not be an empty listing, nor the end of an upload. */
static void a_document_of_another_kind_is_no_answer(void **state)
{
	(void)state;
	SCRIPT(s, XML("html", ""), PAGE("", "some/prefix/x/1"), {.answer = OK("", "0\r\n\r\n")},
	       {.answer = EMPTY_OK});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_out keys = {0};
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("hello")};
	assert_int_equal(ux_s3_list(s3, "x/", count_keys, &keys, NULL), UX_OK);
	assert_int_equal(keys.size, 4);
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK); /* without an ETag: again */
	ux_out_deinit(&keys);
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 4);
}

static void a_write_with_another_tag_needs_a_proof(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("ETag: \"a\"\r\n", "0\r\n\r\n")},
	       {.answer = OK("ETag: \"a\"\r\n", "5\r\n\r\n"), .close = true},
	       {.answer = OK("ETag: \"a\"\r\n", "0\r\n\r\n")},
	       {.answer = OK("ETag: \"b\"\r\n", "5\r\n\r\n"), .close = true},
	       {.answer = OK("ETag: \"a\"\r\n", "0\r\n\r\n")},
	       {.answer = OK("ETag: \"a\"\r\n", "4\r\n\r\n"), .close = true},
	       {.answer = OK("ETag: \"a\"\r\n", "0\r\n\r\n")},
	       {.answer = UNSIZED("404 Not Found"), .close = true},
	       REFUSAL("404 Not Found", "NoSuchKey"));
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("hello")};
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK);
	assert_int_equal(ux_s3_put(s3, "k", &body, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "k has the ETag \"b\" after it was written; expected \"a\"");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_s3_put(s3, "k", &body, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "k has 4 bytes after it was written; expected 5");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_s3_put(s3, "k", &body, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "k is absent after it was written successfully");
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 9);
}

static void only_s3_says_that_an_object_is_absent(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = UNSIZED("404 Not Found"), .close = true},
	       REFUSAL("404 Not Found", "NoSuchKey"),
	       {.answer = UNSIZED("404 Not Found"), .close = true}, {.answer = EMPTY_OK});
	struct ux_s3 *s3 = bucket_open(&s);
	struct ux_error err = UX_ERROR_INIT;
	uint64_t size = 0;
	assert_int_equal(ux_s3_head(s3, "k", &size, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_s3_head(s3, "k", &size, &err), UX_EUNAVAILABLE);
	assert_string_equal(err.text, "HEAD k: 404, but GET finds the object");
	ux_s3_close(s3);
	assert_int_equal(script_close(&s), 4);
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
		cmocka_unit_test(a_page_of_a_proxy_is_never_an_answer),
		cmocka_unit_test(a_page_that_stays_is_a_temporary_failure),
		cmocka_unit_test(a_document_of_another_kind_is_no_answer),
		cmocka_unit_test(a_write_with_another_tag_needs_a_proof),
		cmocka_unit_test(only_s3_says_that_an_object_is_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
