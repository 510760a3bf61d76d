/* SPDX-License-Identifier: Apache-2.0 */
/* XML answers of S3, and files of access keys. */
#include "sweep.h"

#include "s3_answer.h"
#include "s3_keys.h"

static const char listing[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
	"<Prefix>p/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>"
	"<NextContinuationToken>1ueGcxLP/RvNs=</NextContinuationToken>"
	"<Contents><Key>p/a&amp;b</Key><LastModified>2026-07-11T10:16:37.000Z</LastModified>"
	"<ETag>&quot;x&quot;</ETag><Size>1234567890123</Size><StorageClass>STANDARD</StorageClass>"
	"<Owner><ID>me</ID><Key>not this</Key></Owner></Contents>"
	"<Contents><Key>p/c</Key><LastModified>1970-01-01T00:00:01Z</LastModified><Size>0</Size>"
	"</Contents><CommonPrefixes><Prefix>q/</Prefix></CommonPrefixes></ListBucketResult>";

struct listed {
	size_t n;
	char keys[4][64];
	char uploads[4][64];
	uint64_t sizes[4];
	int64_t times[4];
	enum ux_code code;
};

static enum ux_code keep(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	struct listed *l = ctx;
	(void)err;
	assert_in_range(l->n, 0, 3);
	snprintf(l->keys[l->n], sizeof(l->keys[0]), "%s", object->key);
	snprintf(l->uploads[l->n], sizeof(l->uploads[0]), "%s", object->upload);
	l->sizes[l->n] = object->size;
	l->times[l->n++] = object->time;
	return l->code;
}

static enum ux_code read_answer(const char *xml, struct ux_s3_answer *ret, struct listed *l,
				struct ux_error *err)
{
	struct ux_bytes input = guard(ux_bytes_cstr(xml));
	*err = (struct ux_error)UX_ERROR_INIT;
	enum ux_code code = ux_s3_answer_read(input, ret, l ? keep : NULL, l, err);
	guard_free(input);
	return code;
}

static void a_listing_has_its_objects_and_where_it_goes_on(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	struct listed l = {0};
	struct ux_error err;
	assert_int_equal(read_answer(listing, &answer, &l, &err), UX_OK);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.keys[0], "p/a&b");
	assert_string_equal(l.keys[1], "p/c");
	assert_string_equal(l.uploads[0], "");
	assert_true(l.sizes[0] == UINT64_C(1234567890123) && l.sizes[1] == 0);
	assert_true(l.times[0] == 1783764997 && l.times[1] == 1);
	assert_true(answer.truncated);
	assert_string_equal(answer.next, "1ueGcxLP/RvNs=");
}

static void a_listing_of_unfinished_uploads_has_their_ids(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	struct listed l = {0};
	struct ux_error err;
	assert_int_equal(read_answer("<ListMultipartUploadsResult><KeyMarker></KeyMarker>"
				     "<NextKeyMarker>k</NextKeyMarker>"
				     "<NextUploadIdMarker>u</NextUploadIdMarker>"
				     "<IsTruncated>true</IsTruncated><Upload><Key>k</Key>"
				     "<UploadId>2~x</UploadId><Initiated>2026-07-11T10:16:37.123Z"
				     "</Initiated></Upload></ListMultipartUploadsResult>",
				     &answer, &l, &err),
			 UX_OK);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.uploads[0], "2~x");
	assert_true(l.times[0] == 1783764997);
	assert_string_equal(answer.next, "k");
	assert_string_equal(answer.next_upload, "u");
	assert_string_equal(answer.upload, "");
}

static void an_error_has_its_code_and_the_request(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	struct ux_error err;
	assert_int_equal(read_answer("<Error><Code>SlowDown</Code><Message>later</Message>"
				     "<RequestId>tx0001</RequestId><Detail><Code>x</Code></Detail>"
				     "</Error>",
				     &answer, NULL, &err),
			 UX_OK);
	assert_string_equal(answer.code, "SlowDown");
	assert_string_equal(answer.message, "later");
	assert_string_equal(answer.request, "tx0001");
	assert_int_equal(read_answer("<InitiateMultipartUploadResult><UploadId>2~id</UploadId>"
				     "</InitiateMultipartUploadResult>",
				     &answer, NULL, &err),
			 UX_OK);
	assert_string_equal(answer.upload, "2~id");
}

static void a_field_of_any_length_that_is_not_used_is_skipped(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	static char xml[8192];
	struct ux_error err;
	char text[4001];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	snprintf(xml, sizeof(xml),
		 "<Error><Code>SignatureDoesNotMatch</Code><StringToSign>%s</StringToSign></Error>",
		 text);
	assert_int_equal(read_answer(xml, &answer, NULL, &err), UX_OK);
	assert_string_equal(answer.code, "SignatureDoesNotMatch");
}

static void answers_that_say_the_impossible_are_refused(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	static const char long_code[] =
		"<Error><Code>0123456789012345678901234567890123456789012345678901234567890123"
		"</Code></Error>";
	static const char *const bad[] = {
		"",
		"<html><body>busy<br></body></html>",
		"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
		"<L><Contents><Key>k</Key><Size>many</Size></Contents></L>",
		"<L><Contents><Key>k</Key><LastModified>today</LastModified></Contents></L>",
		"<!DOCTYPE a [<!ENTITY b \"c\">]><Error><Code>&b;</Code></Error>",
		long_code,
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_error err;
		struct listed l = {0};
		assert_int_equal(read_answer(bad[i], &answer, &l, &err), UX_ECORRUPT);
		assert_string_equal(err.section, "XML");
	}
}

static void the_code_of_a_callback_ends_the_reading(void **state)
{
	(void)state;
	static struct ux_s3_answer answer;
	struct listed l = {.code = UX_ELIMIT};
	struct ux_error err;
	assert_int_equal(read_answer(listing, &answer, &l, &err), UX_ELIMIT);
	assert_int_equal(l.n, 1);
}

static void read_damaged(struct ux_bytes input, void *ctx)
{
	static struct ux_s3_answer answer;
	struct listed l = {0};
	struct ux_error err = UX_ERROR_INIT;
	(void)ctx;
	enum ux_code code = ux_s3_answer_read(input, &answer, keep, &l, &err);
	assert_true(code == UX_OK || code == UX_ECORRUPT);
	assert_true(err.off == UX_ERROR_NO_OFF || err.off <= input.size);
}

static void damaged_listings_are_refused_or_read(void **state)
{
	(void)state;
	each_prefix(ux_bytes_cstr(listing), read_damaged, NULL);
	each_bit_flip(ux_bytes_cstr(listing), read_damaged, NULL);
}

/* --- keys ------------------------------------------------------------------------------------- */

static enum ux_code parse_keys(const char *text, struct ux_s3_keys *ret)
{
	struct ux_bytes input = guard(ux_bytes_cstr(text));
	enum ux_code code = ux_s3_keys_parse(input, ret, NULL);
	guard_free(input);
	return code;
}

static void keys_come_from_the_default_section(void **state)
{
	(void)state;
	struct ux_s3_keys keys = {0};
	assert_int_equal(parse_keys("# mine\n[other]\naws_access_key_id = no\n[default]\r\n"
				    "aws_access_key_id=ID1\r\n region = x\n"
				    "aws_secret_access_key =  a/b+c=\n"
				    "aws_session_token = t\n[last]\naws_access_key_id = no",
				    &keys),
			 UX_OK);
	assert_string_equal(keys.id, "ID1");
	assert_string_equal(keys.secret, "a/b+c=");
	assert_string_equal(keys.session, "t");
	ux_s3_keys_deinit(&keys);
	assert_int_equal(parse_keys("aws_access_key_id=A\naws_secret_access_key=B", &keys), UX_OK);
	assert_null(keys.session);
	ux_s3_keys_deinit(&keys);
}

static void half_a_pair_of_keys_is_refused(void **state)
{
	(void)state;
	struct ux_s3_keys keys = {0};
	assert_int_equal(parse_keys("aws_access_key_id=A", &keys), UX_EINVAL);
	assert_int_equal(parse_keys("aws_secret_access_key=A", &keys), UX_EINVAL);
	assert_int_equal(parse_keys("", &keys), UX_ENOTFOUND);
	assert_int_equal(parse_keys("[x]\naws_access_key_id=A\naws_secret_access_key=B", &keys),
			 UX_ENOTFOUND);
	assert_int_equal(parse_keys("aws_access_key_id=A B\naws_secret_access_key=C", &keys),
			 UX_EINVAL);
	assert_null(keys.id);
}

static void keys_of_the_environment_may_be_absent(void **state)
{
	(void)state;
	struct ux_s3_keys keys = {0};
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	assert_int_equal(ux_s3_keys_load(NULL, &keys, NULL), UX_OK);
	assert_null(keys.id);
	setenv("AWS_ACCESS_KEY_ID", "a", 1);
	assert_int_equal(ux_s3_keys_load(NULL, &keys, NULL), UX_EINVAL);
	setenv("AWS_SECRET_ACCESS_KEY", "b", 1);
	assert_int_equal(ux_s3_keys_load(NULL, &keys, NULL), UX_OK);
	assert_string_equal(keys.secret, "b");
	ux_s3_keys_deinit(&keys);
	assert_int_equal(ux_s3_keys_load("/nonexistent", &keys, NULL), UX_ENOTFOUND);
}

UX_SUITE(s3_answer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listing_has_its_objects_and_where_it_goes_on),
		cmocka_unit_test(a_listing_of_unfinished_uploads_has_their_ids),
		cmocka_unit_test(an_error_has_its_code_and_the_request),
		cmocka_unit_test(a_field_of_any_length_that_is_not_used_is_skipped),
		cmocka_unit_test(answers_that_say_the_impossible_are_refused),
		cmocka_unit_test(the_code_of_a_callback_ends_the_reading),
		cmocka_unit_test(damaged_listings_are_refused_or_read),
		cmocka_unit_test(keys_come_from_the_default_section),
		cmocka_unit_test(half_a_pair_of_keys_is_refused),
		cmocka_unit_test(keys_of_the_environment_may_be_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
