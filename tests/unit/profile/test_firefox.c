/* SPDX-License-Identifier: Apache-2.0 */
/* firefox: damaged profiles, and profiles while memory is short. The contents of profiles are
 * compared with addr2line in tests/e2e/test_firefox.py, and with samply in test_samply.py. */
#include "sweep.h"

#include "firefox.h"

static const char own[] =
	"{\"meta\":{\"symbolicated\":false,\"startTime\":1.5},\"libs\":[{\"path\":\"/x.so\","
	"\"codeId\":\"00ff\"}],\"threads\":[{\"name\":\"t\",\"pid\":\"7.1\",\"tid\":8,"
	"\"stringArray\":[\"0x10\",\"f\"],\"resourceTable\":{\"length\":1,\"lib\":[0],\"type\":[1]},"
	"\"funcTable\":{\"length\":2,\"name\":[0,1],\"resource\":[0,-1],\"fileName\":[null,null]},"
	"\"frameTable\":{\"length\":2,\"address\":[16,-1],\"func\":[0,1],\"inlineDepth\":[0,0],"
	"\"line\":[null,3]},\"stackTable\":{\"length\":2,\"prefix\":[null,0],\"frame\":[1,0]},"
	"\"samples\":{\"length\":3,\"stack\":[1,null,0],\"weight\":[2,1,1]},"
	"\"markers\":{\"data\":[{\"cause\":{\"stack\":1}}]}}]}";

static const char shared[] =
	"{\"threads\":[{\"samples\":{\"stack\":[0]}}],\"libs\":[{\"path\":\"/x\",\"breakpadId\":"
	"\"AB\"}],\"meta\":{},\"shared\":{\"sources\":{\"filename\":[0],\"id\":[null]},"
	"\"resourceTable\":{\"lib\":[0],\"type\":[1]},\"funcTable\":{\"name\":[0],\"resource\":[0],"
	"\"source\":[null]},\"frameTable\":{\"address\":[16],\"func\":[0]},"
	"\"stackTable\":{\"prefix\":[null],\"frame\":[0]},\"stringArray\":[\"0x1\"]}}";

/* Reads a profile, names its frames that have none as a call inlined into another, and writes it.
 */
static enum ux_code read_any(struct ux_bytes bytes, struct ux_out *out)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_firefox f = {0};
	struct ux_profile p;
	enum ux_code code = ux_profile_init(&p, &err);
	if (code == UX_OK)
		code = ux_firefox_read(&f, bytes, &p, &err);
	for (uint32_t i = 1; code == UX_OK && i < p.locations.size; i++) {
		struct ux_profile_frame frames[2] = {{.line = 3, .inlined = true}, {.line = 4}};
		if (p.locations.data[i].n > 0 || p.locations.data[i].named)
			continue;
		code = ux_profile_string(&p, UX_STR("in"), &frames[0].linkage, &err);
		if (code == UX_OK)
			code = ux_profile_string(&p, UX_STR("out"), &frames[1].linkage, &err);
		if (code == UX_OK)
			code = ux_profile_string(&p, UX_STR("a.c"), &frames[1].file, &err);
		if (code == UX_OK)
			code = ux_profile_name(&p, i, frames, 2, &err);
	}
	if (code == UX_OK)
		code = ux_firefox_rewrite(&f, &p, out, &err);
	ux_firefox_close(&f);
	ux_profile_deinit(&p);
	return code;
}

static void assert_has(const struct ux_out *out, const char *text)
{
	if (!memmem(out->data, out->size, text, strlen(text)))
		fail_msg("%s is not in %.*s", text, (int)out->size, (const char *)out->data);
}

static void inlined_calls_are_rows_of_their_own(void **state)
{
	(void)state;
	struct ux_out out = {0};
	assert_true(ux_firefox_is(ux_bytes_cstr(own)));
	assert_int_equal(read_any(ux_bytes_cstr(own), &out), UX_OK);
	assert_has(&out, "\"symbolicated\":true");
	assert_has(&out, "[\"0x10\",\"f\",\"out\",\"a.c\",\"in\"]");
	assert_has(&out, "\"funcTable\":{\"length\":4,\"name\":[0,1,2,4],\"resource\":[0,-1,0,0],"
			 "\"fileName\":[null,null,3,null]}");
	assert_has(&out, "\"frameTable\":{\"length\":3,\"address\":[16,-1,16],\"func\":[2,1,3],"
			 "\"inlineDepth\":[0,0,1],\"line\":[4,3,3]}");
	assert_has(&out, "\"stackTable\":{\"length\":3,\"prefix\":[null,0,1],\"frame\":[1,0,2]}");
	assert_has(&out, "\"stack\":[2,null,0],\"weight\":[2,1,1]");
	assert_has(&out, "{\"cause\":{\"stack\":2}}");
	ux_out_reset(&out);
	assert_int_equal(read_any(ux_bytes_cstr(shared), &out), UX_OK);
	assert_has(&out, "{\"threads\":[{\"samples\":{\"stack\":[1]}}]");
	assert_has(&out, "\"sources\":{\"filename\":[0,2],\"id\":[null,null]}");
	assert_has(&out, "\"source\":[null,1,null]");
	assert_false(ux_firefox_is(UX_STR("{\"meta\":{}}")));
	assert_false(ux_firefox_is(UX_STR("f 1\n")));
	ux_out_deinit(&out);
}

static void sweep_any(struct ux_bytes input, void *ctx)
{
	struct ux_out out = {0};
	size_t *named = ctx;
	(void)ux_firefox_is(input);
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
	const char *const all[] = {own, shared};
	for (size_t i = 0; i < ux_countof(all); i++) {
		struct ux_bytes good = ux_bytes_cstr(all[i]);
		size_t named = 0;
		each_prefix(good, sweep_any, &named);
		each_bit_flip(good, sweep_any, &named);
		assert_true(named > good.size / 2);
		assert_true(each_failed_alloc(alloc_any, &good, false) > 10);
	}
}

UX_SUITE(firefox)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(inlined_calls_are_rows_of_their_own),
		UX_TEST(damage_is_an_error_and_nothing_worse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
