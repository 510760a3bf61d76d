/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of S3 with a real object store. UNHEX_TEST_S3_ENDPOINT and UNHEX_TEST_S3_BUCKET say
 * where: tests/e2e/test_s3.py starts one and runs this program.
 */
#include "sweep.h"

#include "file.h"
#include "out.h"
#include "s3_client.h"
#include "s3_request.h"

#include <unistd.h>

enum {
	LARGE = 2 * UX_S3_PART_BYTES + 12345,
	MANY = 1005, /* objects: a page of a listing has at most 1,000 */
};

static struct ux_s3 *bucket_open(const char *prefix)
{
	struct ux_s3 *s3 = NULL;
	struct ux_error err = UX_ERROR_INIT;
	char place[256];
	const char *endpoint = getenv("UNHEX_TEST_S3_ENDPOINT");
	snprintf(place, sizeof(place), "%s/%s", getenv("UNHEX_TEST_S3_BUCKET"), prefix);
	const struct ux_s3_options options = {.place = place, .endpoint = endpoint};
	if (ux_s3_open(&s3, &options, &err) != UX_OK)
		fail_msg("%s", err.text);
	return s3;
}

static void put(struct ux_s3 *s3, const char *key, const char *text)
{
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr(text)};
	if (ux_s3_put(s3, key, &body, &err) != UX_OK)
		fail_msg("%s", err.text);
}

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	ux_out_put(ctx, bytes.data, bytes.size);
	return UX_OK;
}

static void assert_bytes(struct ux_s3 *s3, const char *key, uint64_t off, uint64_t n,
			 const char *expected)
{
	struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_s3_get(s3, key, off, n, collect, &got, &err) != UX_OK)
		fail_msg("%s", err.text);
	ux_out_u8(&got, '\0');
	assert_string_equal((const char *)got.data, expected);
	ux_out_deinit(&got);
}

static void an_object_is_written_read_and_removed(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("a prefix+1");
	uint64_t size = 0;
	static const char *const keys[] = {"plain", "with blank+plus/and:colon", "a/b/c~d_e-f.g",
					   "\xc3\xa9=&?%"};
	for (size_t i = 0; i < ux_countof(keys); i++) {
		assert_int_equal(ux_s3_head(s3, keys[i], &size, NULL), UX_ENOTFOUND);
		put(s3, keys[i], "hello");
		assert_int_equal(ux_s3_head(s3, keys[i], &size, NULL), UX_OK);
		assert_int_equal(size, 5);
		assert_bytes(s3, keys[i], 0, UINT64_MAX, "hello");
		assert_bytes(s3, keys[i], 1, 3, "ell");
		assert_bytes(s3, keys[i], 2, UINT64_MAX, "llo");
		assert_int_equal(ux_s3_delete(s3, keys[i], NULL), UX_OK);
		assert_int_equal(ux_s3_delete(s3, keys[i], NULL), UX_OK);
		assert_int_equal(ux_s3_head(s3, keys[i], &size, NULL), UX_ENOTFOUND);
	}
	put(s3, "empty", "");
	assert_bytes(s3, "empty", 0, UINT64_MAX, "");
	ux_s3_close(s3);
}

static void a_condition_lets_one_writer_win(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("conditions");
	struct ux_s3_body body = {.bytes = ux_bytes_cstr("first"), .fresh = true};
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK);
	body.bytes = ux_bytes_cstr("second");
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_ECONFLICT);
	assert_bytes(s3, "k", 0, UINT64_MAX, "first");
	body.fresh = false;
	assert_int_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK);
	assert_bytes(s3, "k", 0, UINT64_MAX, "second");
	ux_s3_close(s3);
}

static void bytes_that_differ_from_their_hash_are_refused(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("hashes");
	uint64_t size = 0;
	const struct ux_s3_body body = {.bytes = ux_bytes_cstr("not empty"), .sha256 = UX_S3_EMPTY};
	assert_int_not_equal(ux_s3_put(s3, "k", &body, NULL), UX_OK);
	assert_int_equal(ux_s3_head(s3, "k", &size, NULL), UX_ENOTFOUND);
	ux_s3_close(s3);
}

static enum ux_code count_keys(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	unsigned *n = ctx;
	char expected[32];
	(void)err;
	snprintf(expected, sizeof(expected), "many/%04u", *n);
	assert_string_equal(object->key, expected);
	assert_int_equal(object->size, 1);
	assert_in_range(object->time, 1700000000, INT32_MAX * UINT64_C(4));
	(*n)++;
	return UX_OK;
}

static void a_listing_has_every_page(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("list");
	unsigned n = 0;
	char key[32];
	put(s3, "other", "x");
	put(s3, "manyother", "x");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "many/%04u", i);
		put(s3, key, "x");
	}
	assert_int_equal(ux_s3_list(s3, "many/", count_keys, &n, NULL), UX_OK);
	assert_int_equal(n, MANY);
	ux_s3_close(s3);
}

struct unfinished {
	unsigned n;
	char key[64];
	char upload[256];
};

static enum ux_code keep_unfinished(void *ctx, const struct ux_s3_object *object,
				    struct ux_error *err)
{
	struct unfinished *u = ctx;
	(void)err;
	u->n++;
	snprintf(u->key, sizeof(u->key), "%s", object->key);
	snprintf(u->upload, sizeof(u->upload), "%s", object->upload);
	assert_in_range(object->time, 1700000000, INT32_MAX * UINT64_C(4));
	return UX_OK;
}

static void a_large_file_is_sent_in_parts(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("large");
	struct unfinished left = {0};
	struct ux_error err = UX_ERROR_INIT;
	uint64_t size = 0;
	int fd = -1;
	assert_int_equal(ux_file_temporary(&fd, NULL), UX_OK);
	assert_int_equal(ftruncate(fd, LARGE), 0);
	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "border", 6, UX_S3_PART_BYTES - 3), 6);
	assert_int_equal(pwrite(fd, "end", 3, LARGE - 3), 3);
	const struct ux_s3_body body = {.from_file = true, .fd = fd, .size = LARGE};
	if (ux_s3_put(s3, "file", &body, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(ux_s3_head(s3, "file", &size, NULL), UX_OK);
	assert_int_equal(size, LARGE);
	assert_bytes(s3, "file", 0, 5, "begin");
	assert_bytes(s3, "file", UX_S3_PART_BYTES - 3, 6, "border");
	assert_bytes(s3, "file", LARGE - 3, UINT64_MAX, "end");
	assert_int_equal(ux_s3_list_unfinished(s3, "", keep_unfinished, &left, NULL), UX_OK);
	assert_int_equal(left.n, 0);
	ux_s3_close(s3);
	close(fd);
}

static void objects_are_copied_and_joined_within_the_store(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("copies +1");
	struct unfinished left = {0};
	struct ux_error err = UX_ERROR_INIT;
	uint64_t size = 0;
	int fd = -1;
	assert_int_equal(ux_file_temporary(&fd, NULL), UX_OK);
	assert_int_equal(ftruncate(fd, UX_S3_JOINED_MIN), 0);
	assert_int_equal(pwrite(fd, "end", 3, UX_S3_JOINED_MIN - 3), 3);
	const struct ux_s3_body body = {.from_file = true, .fd = fd, .size = UX_S3_JOINED_MIN};
	if (ux_s3_put(s3, "a first/one+", &body, &err) != UX_OK)
		fail_msg("%s", err.text);
	put(s3, "second", "and more");
	const struct ux_s3_from from[] = {{"a first/one+", UX_S3_JOINED_MIN}, {"second", 8}};
	if (ux_s3_copy(s3, from, 2, "joined", &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_bytes(s3, "joined", UX_S3_JOINED_MIN - 3, UINT64_MAX, "endand more");
	if (ux_s3_copy(s3, from + 1, 1, "copy", &err) != UX_OK)
		fail_msg("%s", err.text);
	put(s3, "second", "other bytes");
	assert_bytes(s3, "copy", 0, UINT64_MAX, "and more");
	assert_int_equal(ux_s3_copy(s3, &(struct ux_s3_from){"absent", 8}, 1, "x", NULL),
			 UX_ENOTFOUND);
	/* A part before others is too small: nothing of it remains. */
	const struct ux_s3_from small[] = {{"second", 11}, {"copy", 8}};
	assert_int_not_equal(ux_s3_copy(s3, small, 2, "x", NULL), UX_OK);
	assert_int_equal(ux_s3_head(s3, "x", &size, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_s3_list_unfinished(s3, "", keep_unfinished, &left, NULL), UX_OK);
	assert_int_equal(left.n, 0);
	ux_s3_close(s3);
	close(fd);
}

static void an_unfinished_upload_is_listed_and_aborted(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("unfinished");
	struct unfinished found = {0};
	struct ux_http_answer answer = {0};
	const struct ux_s3_request begin = {
		.method = UX_METHOD_POST, .key = "x/k", .query = "uploads=", .sha256 = UX_S3_EMPTY};
	assert_int_equal(ux_s3_call(s3, &begin, &answer, NULL), UX_OK);
	ux_http_answer_deinit(&answer);
	assert_int_equal(ux_s3_list_unfinished(s3, "y/", keep_unfinished, &found, NULL), UX_OK);
	assert_int_equal(found.n, 0);
	assert_int_equal(ux_s3_list_unfinished(s3, "x/", keep_unfinished, &found, NULL), UX_OK);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.key, "x/k");
	assert_int_equal(ux_s3_abort(s3, found.key, found.upload, NULL), UX_OK);
	assert_int_equal(ux_s3_abort(s3, found.key, found.upload, NULL), UX_OK);
	found.n = 0;
	assert_int_equal(ux_s3_list_unfinished(s3, "x/", keep_unfinished, &found, NULL), UX_OK);
	assert_int_equal(found.n, 0);
	ux_s3_close(s3);
}

/* Sends the same request by a client that has neither keys nor our code for S3. */
static unsigned plain_status(const char *url, enum ux_method method, const char *body)
{
	struct ux_http_client *c = NULL;
	struct ux_http_answer answer = {0};
	char origin[64];
	size_t n = (size_t)(strchr(strstr(url, "://") + 3, '/') - url);
	snprintf(origin, sizeof(origin), "%.*s", (int)n, url);
	const struct ux_http_client_options options = {.url = origin};
	const struct ux_http_call call = {
		.method = method, .path = url + n, .body = ux_bytes_cstr(body)};
	assert_int_equal(ux_http_client_create(&c, &options, NULL), UX_OK);
	assert_int_equal(ux_http_client_call(c, &call, &answer, NULL), UX_OK);
	unsigned status = answer.status;
	ux_http_answer_deinit(&answer);
	ux_http_client_destroy(c);
	return status;
}

static char *presigned(struct ux_s3 *s3, enum ux_method method, const char *key, uint64_t length)
{
	const struct ux_s3_presign what = {method, key, .expires_s = 60, .length = length};
	char *url = NULL;
	assert_int_equal(ux_s3_presigned(s3, &what, &url, NULL), UX_OK);
	return url;
}

static void a_presigned_url_allows_one_thing(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("presigned");
	char *get = presigned(s3, UX_METHOD_GET, "k", 0),
	     *set = presigned(s3, UX_METHOD_PUT, "k", 0);
	assert_int_equal(plain_status(set, UX_METHOD_PUT, "hello"), 200);
	assert_bytes(s3, "k", 0, UINT64_MAX, "hello");
	assert_int_equal(plain_status(get, UX_METHOD_GET, ""), 200);
	assert_int_equal(plain_status(get, UX_METHOD_PUT, "x"), 403);
	assert_int_equal(plain_status(set, UX_METHOD_GET, ""), 403);
	get[strlen(get) - 1] = get[strlen(get) - 1] == '0' ? '1' : '0';
	assert_int_equal(plain_status(get, UX_METHOD_GET, ""), 403);
	free(get);
	free(set);
	ux_s3_close(s3);
}

static void a_presigned_url_may_allow_one_length(void **state)
{
	(void)state;
	struct ux_s3 *s3 = bucket_open("presigned-length");
	char *set = presigned(s3, UX_METHOD_PUT, "k", 5);
	assert_int_equal(plain_status(set, UX_METHOD_PUT, "hello!"), 403);
	assert_int_equal(plain_status(set, UX_METHOD_PUT, "hell"), 403);
	assert_int_equal(plain_status(set, UX_METHOD_PUT, "hello"), 200);
	assert_bytes(s3, "k", 0, UINT64_MAX, "hello");
	free(set);
	ux_s3_close(s3);
}

static void a_bucket_that_does_not_exist_is_no_missing_object(void **state)
{
	(void)state;
	struct ux_s3 *s3 = NULL;
	struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_s3_options options = {.place = "s3://no-such-bucket",
					      .endpoint = getenv("UNHEX_TEST_S3_ENDPOINT")};
	assert_int_equal(ux_s3_open(&s3, &options, NULL), UX_OK);
	assert_int_equal(ux_s3_get(s3, "k", 0, 1, collect, &got, &err), UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "404 NoSuchBucket, request tx"));
	ux_s3_close(s3);
}

UX_SUITE(s3_bucket)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_written_read_and_removed),
		cmocka_unit_test(a_condition_lets_one_writer_win),
		cmocka_unit_test(bytes_that_differ_from_their_hash_are_refused),
		cmocka_unit_test(a_listing_has_every_page),
		cmocka_unit_test(a_large_file_is_sent_in_parts),
		cmocka_unit_test(objects_are_copied_and_joined_within_the_store),
		cmocka_unit_test(an_unfinished_upload_is_listed_and_aborted),
		cmocka_unit_test(a_presigned_url_allows_one_thing),
		cmocka_unit_test(a_presigned_url_may_allow_one_length),
		cmocka_unit_test(a_bucket_that_does_not_exist_is_no_missing_object),
	};
	if (!getenv("UNHEX_TEST_S3_ENDPOINT") || !getenv("UNHEX_TEST_S3_BUCKET")) {
		fprintf(stderr, "UNHEX_TEST_S3_ENDPOINT or UNHEX_TEST_S3_BUCKET is not set\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
