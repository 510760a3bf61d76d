/* SPDX-License-Identifier: Apache-2.0 */
/* otlp: damaged requests, and requests while memory is short. The contents of requests are compared
 * with Google's protobuf package in tests/e2e/test_symbolize.py. */
#include "sweep.h"

#include "otlp.h"
#include "otlp_fields.h"
#include "otlp_names.h"
#include "protobuf.h"

/* Appends a message of integer fields {number, value}, ended by number 0. */
static void put_message(struct ux_out *out, uint32_t number, const uint64_t (*fields)[2])
{
	struct ux_out inner = {0};
	for (; (*fields)[0] != 0; fields++)
		ux_protobuf_put_uint(&inner, (uint32_t)(*fields)[0], (*fields)[1]);
	ux_protobuf_put_message(out, number, &inner);
	ux_out_deinit(&inner);
}

#define FIELDS(...) ((const uint64_t[][2]){__VA_ARGS__, {0, 0}})

/* Two locations of a library, one of them with lines, in one sample. */
static void write_request(struct ux_out *out)
{
	static const char *const strings[] = {"", "libx.so", "process.executable.build_id.gnu",
					      "00ff", "main"};
	struct ux_out dictionary = {0}, inner = {0}, value = {0};
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE, ux_bytes_cstr(strings[i]));
	put_message(&dictionary, OTLP_ATTRIBUTE_TABLE, FIELDS({0, 0}));
	ux_protobuf_put_uint(&inner, OTLP_ATTRIBUTE_KEY, 2);
	put_message(&inner, OTLP_ATTRIBUTE_VALUE, FIELDS({OTLP_VALUE_STRING_INDEX, 3}));
	ux_protobuf_put_message(&dictionary, OTLP_ATTRIBUTE_TABLE, &inner);
	put_message(&dictionary, OTLP_MAPPING_TABLE, FIELDS({0, 0}));
	put_message(&dictionary, OTLP_MAPPING_TABLE,
		    FIELDS({OTLP_MAPPING_START, 0x1000}, {OTLP_MAPPING_LIMIT, 0x9000},
			   {OTLP_MAPPING_FILENAME, 1}, {OTLP_MAPPING_ATTRIBUTES, 1}));
	put_message(&dictionary, OTLP_FUNCTION_TABLE, FIELDS({0, 0}));
	put_message(&dictionary, OTLP_FUNCTION_TABLE, FIELDS({OTLP_FUNCTION_NAME, 4}));
	put_message(&dictionary, OTLP_LOCATION_TABLE, FIELDS({0, 0}));
	put_message(&dictionary, OTLP_LOCATION_TABLE,
		    FIELDS({OTLP_LOCATION_MAPPING, 1}, {OTLP_LOCATION_ADDRESS, 0x1234}));
	ux_out_reset(&inner);
	put_message(&inner, OTLP_LOCATION_LINES,
		    FIELDS({OTLP_LINE_FUNCTION, 1}, {OTLP_LINE_LINE, 7}));
	ux_protobuf_put_message(&dictionary, OTLP_LOCATION_TABLE, &inner);
	put_message(&dictionary, OTLP_STACK_TABLE, FIELDS({0, 0}));
	put_message(&dictionary, OTLP_STACK_TABLE,
		    FIELDS({OTLP_STACK_LOCATIONS, 1}, {OTLP_STACK_LOCATIONS, 2}));
	ux_out_reset(&inner);
	put_message(&inner, OTLP_PROFILE_SAMPLES,
		    FIELDS({OTLP_SAMPLE_STACK, 1}, {OTLP_SAMPLE_VALUES, 5}));
	ux_protobuf_put_message(&value, OTLP_PROFILES, &inner);
	ux_out_reset(&inner);
	ux_protobuf_put_message(&inner, OTLP_SCOPE_PROFILES, &value);
	ux_protobuf_put_message(out, OTLP_RESOURCE_PROFILES, &inner);
	ux_protobuf_put_message(out, OTLP_DICTIONARY, &dictionary);
	assert_false(out->failed);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&inner);
	ux_out_deinit(&value);
}

/* Writes a request with the names of a profile. */
static enum ux_code write_message(const struct ux_otlp *f, const struct ux_profile *p,
				  struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = f->bytes};
	UX_TRY(ux_otlp_names_read(&n, err));
	UX_TRY(ux_otlp_names_take(&n, p, f->first_location, err));
	return ux_otlp_names_write(&n, out, err);
}

/* Reads a request, names its first location that has no name, and writes it. */
static enum ux_code read_any(struct ux_bytes bytes, size_t *ret_named)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_out out = {0};
	struct ux_otlp f;
	struct ux_profile p;
	enum ux_code code = ux_profile_init(&p, &err);
	if (code == UX_OK)
		code = ux_otlp_read(&f, bytes, &p, &err);
	for (size_t i = 1; code == UX_OK && i < p.locations.size; i++) {
		struct ux_profile_frame frame = {.line = 3};
		if (p.locations.data[i].kind == UX_PROFILE_NO_ADDRESS)
			continue;
		code = ux_profile_string(&p, UX_STR("f"), &frame.linkage, &err);
		if (code == UX_OK)
			code = ux_profile_name(&p, (uint32_t)i, &frame, 1, &err);
		*ret_named += code == UX_OK;
	}
	if (code == UX_OK)
		code = write_message(&f, &p, &out, &err);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
	return code;
}

static void sweep_any(struct ux_bytes input, void *ctx)
{
	size_t *named = ctx;
	(void)ux_otlp_is(input);
	enum ux_code code = read_any(input, named);
	assert_true(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT);
}

static enum ux_code alloc_any(void *ctx)
{
	size_t named = 0;
	return read_any(*(struct ux_bytes *)ctx, &named);
}

static void a_request_is_recognized_and_named(void **state)
{
	(void)state;
	struct ux_out out = {0};
	size_t named = 0;
	write_request(&out);
	assert_true(ux_otlp_is(ux_out_bytes(&out)));
	assert_int_equal(read_any(ux_out_bytes(&out), &named), UX_OK);
	assert_int_equal(named, 1);
	assert_false(ux_otlp_is(UX_BYTES_NONE));
	assert_false(ux_otlp_is(UX_STR("main;f 1\n")));
	ux_out_deinit(&out);
}

static void damage_is_an_error_and_nothing_worse(void **state)
{
	(void)state;
	struct ux_out out = {0};
	size_t named = 0;
	write_request(&out);
	struct ux_bytes good = ux_out_bytes(&out);
	each_prefix(good, sweep_any, &named);
	each_bit_flip(good, sweep_any, &named);
	each_byte_extreme(good, sweep_any, &named);
	assert_true(named > good.size);
	assert_true(each_failed_alloc(alloc_any, &good, false) > 10);
	ux_out_deinit(&out);
}

UX_SUITE(otlp)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_request_is_recognized_and_named),
		UX_TEST(damage_is_an_error_and_nothing_worse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
