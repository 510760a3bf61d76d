/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping messages with many resources: all of their profiles or none. */
#include "profile_keeper.h"

#include "make_server.h"
#include "otlp.h"
#include "otlp_fields.h"
#include "protobuf.h"
#include "sweep.h"

#include <dirent.h>

enum {
	RESOURCES = 1000, /* of a message; their work is checked every 256th */
};

/* Appends a resource profile: a service, with one sample of the stack. */
static void put_resource(struct ux_out *out, unsigned number)
{
	struct ux_out text = {0}, value = {0}, pair = {0}, resource = {0};
	struct ux_out sample = {0}, profile = {0}, scope = {0}, all = {0};
	ux_out_fmt(&text, "s%u", number);
	ux_protobuf_put_bytes(&value, OTLP_VALUE_STRING, ux_out_bytes(&text));
	ux_protobuf_put_bytes(&pair, OTLP_KEY_VALUE_KEY, UX_STR("service.name"));
	ux_protobuf_put_message(&pair, OTLP_KEY_VALUE_VALUE, &value);
	ux_protobuf_put_message(&resource, OTLP_RESOURCE_ATTRIBUTES, &pair);
	ux_protobuf_put_uint(&sample, OTLP_SAMPLE_STACK, 1);
	ux_protobuf_put_uint(&sample, OTLP_SAMPLE_VALUES, number + 1);
	ux_protobuf_put_message(&profile, OTLP_PROFILE_SAMPLES, &sample);
	ux_protobuf_put_message(&scope, OTLP_PROFILES, &profile);
	ux_protobuf_put_message(&all, OTLP_RESOURCE, &resource);
	ux_protobuf_put_message(&all, OTLP_SCOPE_PROFILES, &scope);
	ux_protobuf_put_message(out, OTLP_RESOURCE_PROFILES, &all);
	struct ux_out *const done[] = {&text,   &value,   &pair,  &resource,
				       &sample, &profile, &scope, &all};
	for (size_t i = 0; i < ux_countof(done); i++)
		ux_out_deinit(done[i]);
}

static void write_message(struct ux_out *out, unsigned resources)
{
	struct ux_out dictionary = {0}, none = {0}, one = {0};
	ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE, UX_STR(""));
	ux_protobuf_put_message(&dictionary, OTLP_LOCATION_TABLE, &none);
	ux_protobuf_put_uint(&one, OTLP_LOCATION_ADDRESS, 0x1234);
	ux_protobuf_put_message(&dictionary, OTLP_LOCATION_TABLE, &one);
	ux_out_reset(&one);
	ux_protobuf_put_uint(&one, OTLP_STACK_LOCATIONS, 1);
	ux_protobuf_put_message(&dictionary, OTLP_STACK_TABLE, &none);
	ux_protobuf_put_message(&dictionary, OTLP_STACK_TABLE, &one);
	for (unsigned i = 0; i < resources; i++)
		put_resource(out, i);
	ux_protobuf_put_message(out, OTLP_DICTIONARY, &dictionary);
	assert_false(out->failed);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&one);
}

/* Checks that may still succeed. */
static bool go_on(void *ctx)
{
	unsigned *left = ctx;
	return *left > 0 && (*left)-- > 0;
}

static enum ux_code keep(struct make_server *s, unsigned resources, unsigned checks,
			 uint64_t budget, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out message = {0};
	struct ux_work work = {.budget.left = budget, .go_on = go_on, .ctx = &checks};
	write_message(&message, resources);
	return ux_profile_keep(s->server.profiles, "default", ux_out_bytes(&message), &work, err);
}

static void expect_kept(struct make_server *s, uint64_t n)
{
	struct ux_profile_usage usage;
	char path[96];
	struct ux_index *ix = s->store.index;
	assert_int_equal(ix->profiles.usage(ix, NULL, &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, n);
	snprintf(path, sizeof(path), "%s/blobs", s->dir);
	DIR *d = opendir(path);
	bool any = false;
	for (struct dirent *e; d && (e = readdir(d));)
		any |= strlen(e->d_name) == 2 && e->d_name[0] != '.';
	if (d)
		closedir(d);
	assert_int_equal(any, n > 0);
}

static void a_message_is_kept_whole_or_not_at_all(void **state)
{
	(void)state;
	struct make_server s;
	struct ux_error err = UX_ERROR_INIT;
	make_server_open(&s, NULL, true);
	/* The client leaves before the first resources, between others, and before the commit. */
	for (unsigned checks = 0; checks < RESOURCES / 256 + 1; checks++) {
		assert_int_equal(keep(&s, RESOURCES, checks, UINT64_MAX, &err), UX_EUNAVAILABLE);
		expect_kept(&s, 0);
	}
	assert_int_equal(keep(&s, RESOURCES, 99, 8 << 20, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "too much work"));
	expect_kept(&s, 0);
	assert_int_equal(keep(&s, RESOURCES, 99, UINT64_MAX, NULL), UX_OK);
	expect_kept(&s, RESOURCES);
	make_server_close(&s);
}

static void more_resources_than_a_message_may_have_are_refused(void **state)
{
	(void)state;
	struct make_server s;
	struct ux_error err = UX_ERROR_INIT;
	make_server_open(&s, NULL, true);
	assert_int_equal(keep(&s, UX_OTLP_RESOURCES_MAX + 1, 99, UINT64_MAX, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "more than 4096 resources"));
	expect_kept(&s, 0);
	ux_profile_keeper_configure(s.server.profiles, 1000, 0, /* profiles= */ 9);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(keep(&s, 10, 99, UINT64_MAX, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "profile-count"));
	expect_kept(&s, 0);
	assert_int_equal(keep(&s, 9, 99, UINT64_MAX, NULL), UX_OK);
	expect_kept(&s, 9);
	make_server_close(&s);
}

UX_SUITE(profile_keeper)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_message_is_kept_whole_or_not_at_all),
		UX_TEST(more_resources_than_a_message_may_have_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
