/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of requests to S3, against the examples of Amazon's documentation of Signature V4. */
#include "sweep.h"

#include "s3_sign.h"

/* 2013-05-24T00:00:00Z, the time of all of these examples. */
#define EXAMPLE_TIME INT64_C(1369353600)
#define EMPTY        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static char example_id[] = "AKIAIOSFODNN7EXAMPLE";
static char example_secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
static const struct ux_s3_keys example_keys = {example_id, example_secret, NULL};

static struct ux_s3_signed example(const char *method, const char *path, const char *query)
{
	return (struct ux_s3_signed){.method = method,
				     .host = "examplebucket.s3.amazonaws.com",
				     .path = path,
				     .query = query,
				     .payload = EMPTY,
				     .region = "us-east-1",
				     .time = EXAMPLE_TIME};
}

static void assert_signed(const struct ux_s3_signed *what, const struct ux_s3_keys *keys,
			  const char *expected)
{
	struct ux_out text = {0};
	assert_int_equal(ux_s3_sign(what, keys, &text, NULL), UX_OK);
	ux_out_u8(&text, '\0');
	assert_string_equal((const char *)text.data, expected);
	ux_out_deinit(&text);
}

#define SCOPE                                         \
	"AWS4-HMAC-SHA256 "                           \
	"Credential=AKIAIOSFODNN7EXAMPLE/20130524/us" \
	"-east-1/s3/aws4_request,SignedHeaders="

static void the_example_of_get_object_with_a_range(void **state)
{
	(void)state;
	static const char *const headers[] = {"range: bytes=0-9", NULL};
	struct ux_s3_signed what = example("GET", "/test.txt", "");
	what.headers = headers;
	assert_signed(&what, &example_keys,
		      SCOPE "host;range;x-amz-content-sha256;x-amz-date,Signature="
			    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void the_example_of_put_object(void **state)
{
	(void)state;
	static const char *const headers[] = {"x-amz-storage-class: REDUCED_REDUNDANCY",
					      "date:  Fri, 24 May 2013 00:00:00 GMT ", NULL};
	struct ux_out path = {0};
	ux_s3_encode(&path, ux_bytes_cstr("/test$file.text"), true);
	ux_out_u8(&path, '\0');
	struct ux_s3_signed what = example("PUT", (const char *)path.data, "");
	what.headers = headers;
	what.payload = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
	assert_signed(&what, &example_keys,
		      SCOPE "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
			    "Signature="
			    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
	ux_out_deinit(&path);
}

static void the_example_of_a_query_without_a_value(void **state)
{
	(void)state;
	struct ux_s3_signed what = example("GET", "/", "lifecycle=");
	assert_signed(&what, &example_keys,
		      SCOPE "host;x-amz-content-sha256;x-amz-date,Signature="
			    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

static void the_example_of_a_listing(void **state)
{
	(void)state;
	struct ux_out query = {0};
	ux_s3_query_add(&query, "max-keys", ux_bytes_cstr("2"));
	ux_s3_query_add(&query, "prefix", ux_bytes_cstr("J"));
	ux_out_u8(&query, '\0');
	struct ux_s3_signed what = example("GET", "/", (const char *)query.data);
	assert_signed(&what, &example_keys,
		      SCOPE "host;x-amz-content-sha256;x-amz-date,Signature="
			    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
	ux_out_deinit(&query);
}

static void the_example_of_a_presigned_url(void **state)
{
	(void)state;
	struct ux_s3_signed what = example("GET", "/test.txt", "");
	struct ux_out query = {0};
	assert_int_equal(ux_s3_presign(&what, &example_keys, 86400, &query, NULL), UX_OK);
	ux_out_u8(&query, '\0');
	assert_string_equal((const char *)query.data,
			    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
			    "AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
			    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
			    "&X-Amz-SignedHeaders=host&X-Amz-Signature="
			    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
	ux_out_deinit(&query);
}

static void a_session_token_is_signed(void **state)
{
	(void)state;
	static char session[] = "a/b+c==";
	const struct ux_s3_keys keys = {example_id, example_secret, session};
	struct ux_s3_signed what = example("GET", "/test.txt", "");
	struct ux_out text = {0}, query = {0};
	assert_int_equal(ux_s3_sign(&what, &keys, &text, NULL), UX_OK);
	assert_non_null(memmem(text.data, text.size, "x-amz-date;x-amz-security-token,", 32));
	assert_int_equal(ux_s3_presign(&what, &keys, 60, &query, NULL), UX_OK);
	assert_non_null(
		memmem(query.data, query.size, "&X-Amz-Security-Token=a%2Fb%2Bc%3D%3D&", 38));
	ux_out_deinit(&text);
	ux_out_deinit(&query);
}

static void every_byte_but_the_unreserved_ones_is_encoded(void **state)
{
	(void)state;
	struct ux_out text = {0};
	ux_s3_encode(&text, ux_bytes("a-b_c.d~e/f:g h+\xc3\xa9\0", 19), false);
	ux_out_u8(&text, '/');
	ux_s3_encode(&text, ux_bytes_cstr("x/y z"), true);
	ux_out_u8(&text, '\0');
	assert_string_equal((const char *)text.data, "a-b_c.d~e%2Ff%3Ag%20h%2B%C3%A9%00/x/y%20z");
	ux_out_deinit(&text);
}

static void what_cannot_be_signed_is_refused(void **state)
{
	(void)state;
	struct ux_s3_signed what = example("GET", "/", "");
	struct ux_out text = {0};
	assert_int_equal(ux_s3_presign(&what, &example_keys, 0, &text, NULL), UX_EINVAL);
	assert_int_equal(ux_s3_presign(&what, &example_keys, UX_S3_EXPIRES_MAX + 1, &text, NULL),
			 UX_EINVAL);
	static const char *const none[] = {"no colon", NULL};
	what.headers = none;
	assert_int_equal(ux_s3_sign(&what, &example_keys, &text, NULL), UX_EINVAL);
	const char *many[UX_S3_SIGNED_MAX + 1] = {0};
	for (size_t i = 0; i < UX_S3_SIGNED_MAX; i++)
		many[i] = "a: b";
	what.headers = many;
	assert_int_equal(ux_s3_sign(&what, &example_keys, &text, NULL), UX_EINVAL);
	char region[200];
	memset(region, 'r', sizeof(region));
	region[sizeof(region) - 1] = '\0';
	what.headers = NULL;
	what.region = region;
	assert_int_equal(ux_s3_sign(&what, &example_keys, &text, NULL), UX_EINVAL);
	assert_int_equal(text.size, 0);
	ux_out_deinit(&text);
}

static enum ux_code sign_both_ways(void *ctx)
{
	(void)ctx;
	struct ux_s3_signed what = example("GET", "/test.txt", "a=b");
	struct ux_out text = {0};
	enum ux_code code = ux_s3_sign(&what, &example_keys, &text, NULL);
	if (code == UX_OK)
		code = ux_s3_presign(&what, &example_keys, 60, &text, NULL);
	ux_out_deinit(&text);
	return code;
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	(void)each_failed_alloc(sign_both_ways, NULL, false);
}

UX_SUITE(s3_sign)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_get_object_with_a_range),
		cmocka_unit_test(the_example_of_put_object),
		cmocka_unit_test(the_example_of_a_query_without_a_value),
		cmocka_unit_test(the_example_of_a_listing),
		cmocka_unit_test(the_example_of_a_presigned_url),
		cmocka_unit_test(a_session_token_is_signed),
		cmocka_unit_test(every_byte_but_the_unreserved_ones_is_encoded),
		cmocka_unit_test(what_cannot_be_signed_is_refused),
		cmocka_unit_test(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
