/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_json: damaged requests, and requests while memory is short. The contents of requests are
 * compared with Google's protobuf package in tests/e2e/test_otlp_json.py. */
#include "sweep.h"

#include "otlp_json.h"
#include "otlp_names.h"

static const char request[] =
	"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":"
	"{\"typeStrindex\":4},\"samples\":[{\"stackIndex\":1,\"values\":[\"5\",-2]}]}]}]}],"
	"\"dictionary\":{\"stringTable\":[\"\",\"libx.so\",\"process.executable.build_id.gnu\","
	"\"00ff\",\"caf\\u00e9\"],\"attributeTable\":[{},{\"keyStrindex\":2,\"value\":"
	"{\"stringValueStrindex\":3}}],\"mappingTable\":[{},{\"memoryStart\":\"4096\","
	"\"filenameStrindex\":1,\"attributeIndices\":[1]}],\"locationTable\":[{},{\"mappingIndex\":1,"
	"\"address\":\"4660\"},{\"lines\":[{\"functionIndex\":1}]}],\"functionTable\":[{},"
	"{\"nameStrindex\":4}],\"stackTable\":[{},{\"locationIndices\":[1,2]}]}}";

/* Writes a request with the names of a profile. */
static enum ux_code write_message(struct ux_bytes json, const struct ux_otlp *f,
				  const struct ux_profile *p, struct ux_out *out,
				  struct ux_error *err)
{
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = f->bytes};
	UX_TRY(ux_otlp_names_read(&n, err));
	UX_TRY(ux_otlp_names_take(&n, p, f->first_location, err));
	return ux_otlp_json_write(&n, json, out, err);
}

/* Reads a request, names its first location that has no name, and writes it. */
static enum ux_code read_any(struct ux_bytes bytes, struct ux_out *out)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_out message = {0};
	struct ux_otlp f;
	struct ux_profile p;
	enum ux_code code = ux_profile_init(&p, &err);
	if (code == UX_OK)
		code = ux_otlp_json_read(&f, bytes, &message, &p, &err);
	for (size_t i = 1; code == UX_OK && i < p.locations.size; i++) {
		struct ux_profile_frame frame = {.line = 3};
		if (p.locations.data[i].kind == UX_PROFILE_NO_ADDRESS)
			continue;
		code = ux_profile_string(&p, UX_STR("f"), &frame.linkage, &err);
		if (code == UX_OK)
			code = ux_profile_name(&p, (uint32_t)i, &frame, 1, &err);
	}
	if (code == UX_OK)
		code = write_message(bytes, &f, &p, out, &err);
	ux_profile_deinit(&p);
	ux_out_deinit(&message);
	return code;
}

static void a_request_is_recognized_and_named(void **state)
{
	(void)state;
	struct ux_out out = {0};
	assert_true(ux_otlp_json_is(ux_bytes_cstr(request)));
	assert_int_equal(read_any(ux_bytes_cstr(request), &out), UX_OK);
	ux_out_u8(&out, 0);
	assert_non_null(
		strstr((char *)out.data,
		       "\"address\":\"4660\",\"lines\":[{\"functionIndex\":2,\"line\":\"3\"}]"));
	assert_non_null(strstr((char *)out.data, "{\"nameStrindex\":5,\"systemNameStrindex\":5}]"));
	assert_non_null(strstr((char *)out.data, "\"caf\\u00e9\",\"f\"]"));
	assert_false(ux_otlp_json_is(UX_BYTES_NONE));
	assert_false(ux_otlp_json_is(UX_STR("{\"dictionary\":[]}")));
	assert_false(ux_otlp_json_is(UX_STR("main;f 1\n")));
	ux_out_deinit(&out);
}

static void sweep_any(struct ux_bytes input, void *ctx)
{
	struct ux_out out = {0};
	size_t *named = ctx;
	(void)ux_otlp_json_is(input);
	enum ux_code code = read_any(input, &out);
	*named += code == UX_OK && out.size > input.size;
	assert_true(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT);
	ux_out_deinit(&out);
}

static enum ux_code alloc_any(void *ctx)
{
	struct ux_out out = {0};
	enum ux_code code = read_any(*(struct ux_bytes *)ctx, &out);
	ux_out_deinit(&out);
	return code;
}

static void damage_is_an_error_and_nothing_worse(void **state)
{
	(void)state;
	struct ux_bytes good = ux_bytes_cstr(request);
	size_t named = 0;
	each_prefix(good, sweep_any, &named);
	each_bit_flip(good, sweep_any, &named);
	assert_true(named > good.size / 2);
	assert_true(each_failed_alloc(alloc_any, &good, false) > 10);
}

UX_SUITE(otlp_json)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_request_is_recognized_and_named),
		UX_TEST(damage_is_an_error_and_nothing_worse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
