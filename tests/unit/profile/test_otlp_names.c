/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_names: damaged messages, and messages while memory is short. The output is compared with
 * Google's protobuf package in tests/e2e/test_otlp_server.py. */
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

static void put_attribute(struct ux_out *dictionary, uint64_t key, uint64_t value)
{
	struct ux_out inner = {0};
	ux_protobuf_put_uint(&inner, OTLP_ATTRIBUTE_KEY, key);
	put_message(&inner, OTLP_ATTRIBUTE_VALUE, FIELDS({OTLP_VALUE_STRING_INDEX, value}));
	ux_protobuf_put_message(dictionary, OTLP_ATTRIBUTE_TABLE, &inner);
	ux_out_deinit(&inner);
}

/*
 * Tables in the order of their numbers, as most encoders write them. Mappings 1 and 3 are of one
 * module, 2 has no identity, 4 is of a process.
 */
static void put_tables(struct ux_out *dictionary)
{
	static const char *const strings[] = {"", "process.executable.build_id.gnu", "00ff",
					      "process.executable.build_id.go", "gobuild"};
	put_message(dictionary, OTLP_MAPPING_TABLE, FIELDS({0, 0}));
	put_message(dictionary, OTLP_MAPPING_TABLE,
		    FIELDS({OTLP_MAPPING_START, 0x1000}, {OTLP_MAPPING_ATTRIBUTES, 2},
			   {OTLP_MAPPING_ATTRIBUTES, 1}));
	put_message(dictionary, OTLP_MAPPING_TABLE, FIELDS({OTLP_MAPPING_START, 0x1000}));
	put_message(dictionary, OTLP_MAPPING_TABLE, FIELDS({OTLP_MAPPING_ATTRIBUTES, 1}));
	put_message(
		dictionary, OTLP_MAPPING_TABLE,
		FIELDS({OTLP_MAPPING_START, UX_OTLP_PROCESS_START}, {OTLP_MAPPING_ATTRIBUTES, 1}));
	put_message(dictionary, OTLP_LOCATION_TABLE, FIELDS({0, 0}));
	for (uint64_t m = 1; m <= 4; m++)
		put_message(dictionary, OTLP_LOCATION_TABLE,
			    FIELDS({OTLP_LOCATION_MAPPING, m}, {OTLP_LOCATION_ADDRESS, 100 + m}));
	struct ux_out named = {0}; /* of a module, too */
	ux_protobuf_put_uint(&named, OTLP_LOCATION_MAPPING, 1);
	ux_protobuf_put_uint(&named, OTLP_LOCATION_ADDRESS, 100);
	put_message(&named, OTLP_LOCATION_LINES, FIELDS({OTLP_LINE_LINE, 7}));
	ux_protobuf_put_message(dictionary, OTLP_LOCATION_TABLE, &named);
	ux_out_deinit(&named);
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(dictionary, OTLP_STRING_TABLE, ux_bytes_cstr(strings[i]));
	put_message(dictionary, OTLP_ATTRIBUTE_TABLE, FIELDS({0, 0}));
	put_attribute(dictionary, 1, 2);
	put_attribute(dictionary, 3, 4);
}

static void write_request(struct ux_out *out)
{
	struct ux_out dictionary = {0};
	put_tables(&dictionary);
	ux_protobuf_put_bytes(out, OTLP_RESOURCE_PROFILES, UX_STR("\x1a\x03url"));
	ux_protobuf_put_message(out, OTLP_DICTIONARY, &dictionary);
	assert_false(out->failed);
	ux_out_deinit(&dictionary);
}

/* Names every location with a module: a call that is inlined into a function. */
static void name_all(struct ux_otlp_names *n)
{
	uint32_t file = ux_otlp_names_string(n, UX_STR("/src/f.c"));
	uint32_t outer = ux_otlp_names_function(n, ux_otlp_names_string(n, UX_STR("outer")),
						ux_otlp_names_string(n, UX_STR("outer")), file);
	uint32_t inner = ux_otlp_names_function(n, ux_otlp_names_string(n, UX_STR("inner()")),
						ux_otlp_names_string(n, UX_STR("_Z5innerv")), file);
	for (size_t m = 0; m < n->modules.size; m++)
		for (size_t i = 0; i < n->modules.data[m].n; i++) {
			uint8_t *p = ux_otlp_lines_begin(n, 2);
			if (!p)
				return;
			p = ux_otlp_lines_put(ux_otlp_lines_put(p, inner, 300), outer, 20);
			ux_otlp_lines_end(n, n->modules.data[m].first + i, p);
		}
}

static enum ux_code name_request(struct ux_bytes bytes, struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = bytes};
	UX_TRY(ux_otlp_names_read(&n, err));
	name_all(&n);
	return ux_otlp_names_write(&n, out, err);
}

static void addresses_are_grouped_by_module(void **state)
{
	(void)state;
	struct ux_out out = {0};
	write_request(&out);
	struct ux_otlp_names n = {.bytes = ux_out_bytes(&out)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	assert_int_equal(n.modules.size, 1);
	char id[UX_ID_TEXT];
	assert_string_equal(ux_id_format(&n.modules.data[0].id, id), "gnu:00ff");
	assert_int_equal(n.modules.data[0].n, 2);
	assert_int_equal(n.addresses[0], 101);
	assert_int_equal(n.addresses[1], 103);
	assert_int_equal(n.n_unknown, 2);
	assert_int_equal(n.addresses[2], 102);
	assert_int_equal(n.addresses[3], 104);
	assert_int_equal(n.locations.data[3].number, 4);
	assert_int_equal(n.n_locations, 6);
	ux_otlp_names_deinit(&n);
	ux_out_deinit(&out);
}

static void lines_are_read_again_as_they_were_written(void **state)
{
	(void)state;
	struct ux_out in = {0}, out = {0};
	struct ux_otlp f;
	struct ux_profile p;
	write_request(&in);
	assert_int_equal(name_request(ux_out_bytes(&in), &out, NULL), UX_OK);
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	assert_int_equal(ux_otlp_read(&f, ux_out_bytes(&out), &p, NULL), UX_OK);
	static const uint32_t depths[] = {0, 2, 0, 2, 0, 1};
	assert_int_equal(f.n_locations, ux_countof(depths));
	for (uint32_t i = 0; i < f.n_locations; i++)
		assert_int_equal(p.locations.data[f.first_location + i].n, depths[i]);
	const struct ux_profile_frame *frame =
		&p.frames.data[p.locations.data[f.first_location + 3].first];
	assert_int_equal(frame[0].line, 300);
	assert_int_equal(frame[1].line, 20);
	assert_true(ux_bytes_eq(ux_profile_text(&p, frame[0].name), UX_STR("inner()")));
	assert_true(ux_bytes_eq(ux_profile_text(&p, frame[0].linkage), UX_STR("_Z5innerv")));
	assert_true(ux_bytes_eq(ux_profile_text(&p, frame[1].file), UX_STR("/src/f.c")));
	ux_profile_deinit(&p);
	ux_out_deinit(&in);
	ux_out_deinit(&out);
}

/* A profile may have names where only it knows how to find them, such as of a process. */
static void lines_are_taken_from_a_profile(void **state)
{
	(void)state;
	struct ux_out dictionary = {0}, in = {0}, out = {0};
	struct ux_otlp f;
	struct ux_profile p, q;
	put_tables(&dictionary);
	put_message(&dictionary, OTLP_FUNCTION_TABLE, FIELDS({0, 0})); /* of the named location */
	ux_protobuf_put_message(&in, OTLP_DICTIONARY, &dictionary);
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	assert_int_equal(ux_otlp_read(&f, ux_out_bytes(&in), &p, NULL), UX_OK);
	for (uint32_t i = 1; i <= 4; i++) {
		struct ux_profile_frame frame = {.line = 10 * i};
		assert_int_equal(ux_profile_string(&p, UX_STR("_Z1fv"), &frame.linkage, NULL),
				 UX_OK);
		assert_int_equal(ux_profile_name(&p, f.first_location + i, &frame, 1, NULL), UX_OK);
	}
	struct ux_otlp_names n = {.bytes = ux_out_bytes(&in)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	assert_int_equal(ux_otlp_names_take(&n, &p, f.first_location, NULL), UX_OK);
	assert_int_equal(ux_otlp_names_write(&n, &out, NULL), UX_OK);
	assert_int_equal(ux_profile_init(&q, NULL), UX_OK);
	assert_int_equal(ux_otlp_read(&f, ux_out_bytes(&out), &q, NULL), UX_OK);
	for (uint32_t i = 1; i <= 4; i++) {
		const struct ux_profile_location *l = &q.locations.data[f.first_location + i];
		const struct ux_profile_frame *frame = &q.frames.data[l->first];
		assert_int_equal(l->n, 1);
		assert_int_equal(frame->line, 10 * i);
		assert_true(ux_bytes_eq(ux_profile_text(&q, frame->name), UX_STR("f()")));
		assert_true(ux_bytes_eq(ux_profile_text(&q, frame->linkage), UX_STR("_Z1fv")));
	}
	ux_otlp_names_deinit(&n);
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&in);
	ux_out_deinit(&out);
}

/* The fields of a run of locations, except for addresses. */
struct run {
	uint64_t mapping;
	uint64_t address; /* of the first one; the others follow */
	unsigned attributes;
	bool named;
	bool address_first; /* the address precedes the mapping */
};

/* Appends n locations; sizes receives the sizes of their fields. */
static void put_run(struct ux_out *dictionary, const struct run *r, unsigned n, size_t *sizes)
{
	struct ux_out one = {0};
	for (unsigned i = 0; i < n; i++) {
		ux_out_reset(&one);
		if (r->address_first)
			ux_protobuf_put_uint(&one, OTLP_LOCATION_ADDRESS, r->address + i);
		ux_protobuf_put_uint(&one, OTLP_LOCATION_MAPPING, r->mapping);
		if (!r->address_first)
			ux_protobuf_put_uint(&one, OTLP_LOCATION_ADDRESS, r->address + i);
		if (r->named)
			put_message(&one, OTLP_LOCATION_LINES, FIELDS({OTLP_LINE_LINE, 7}));
		if (r->attributes > 0)
			ux_protobuf_put_bytes(&one, OTLP_LOCATION_ATTRIBUTES,
					      ux_bytes("\1\2\1\2\1\2\1\2", r->attributes));
		const size_t before = dictionary->size;
		ux_protobuf_put_message(dictionary, OTLP_LOCATION_TABLE, &one);
		sizes[i] = dictionary->size - before;
	}
	ux_out_deinit(&one);
}

/*
 * Locations that differ from the previous one only in their address are read by its shape: runs of
 * three of all kinds, one after the other, with addresses of all sizes.
 */
static void locations_that_differ_in_their_address_are_told_apart(void **state)
{
	(void)state;
	enum {
		MAPPINGS = 200, /* so that some numbers have two bytes */
		RUN = 3,
		MAX = 64 * 20 * RUN
	};
	static uint64_t expected[MAX];
	static size_t sizes[MAX + RUN];
	struct ux_out dictionary = {0}, out = {0};
	size_t n = 0, all = 0;
	for (size_t i = 0; i < MAPPINGS; i++)
		put_message(&dictionary, OTLP_MAPPING_TABLE,
			    FIELDS({OTLP_MAPPING_ATTRIBUTES, i % 2 + 1}));
	for (unsigned bits = 0; bits < 64; bits++) {
		for (unsigned kind = 0; kind < 20; kind++) {
			const struct run r = {
				.mapping = kind % 5 == 4 ? 0
					   : kind > 10   ? 9
							 : 1 + kind * 7 % 5 + 150 * (kind % 2),
				.address = (UINT64_C(1) << bits) - (kind % 3 == 0),
				.attributes = kind % 4,
				.named = kind % 4 == 3,
				.address_first = kind == 17,
			};
			put_run(&dictionary, &r, RUN,
				sizes + n); /* a run that is left out is overwritten */
			all += RUN;
			for (unsigned i = 0; i < RUN && !r.named && r.mapping != 0; i++)
				expected[n++] = r.address + i;
		}
	}
	const char *const strings[] = {"", "process.executable.build_id.gnu", "00ff"};
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE, ux_bytes_cstr(strings[i]));
	put_message(&dictionary, OTLP_ATTRIBUTE_TABLE, FIELDS({0, 0}));
	put_attribute(&dictionary, 1, 2);
	put_attribute(&dictionary, 1, 2);
	ux_protobuf_put_message(&out, OTLP_DICTIONARY, &dictionary);
	struct ux_otlp_names names = {.bytes = ux_out_bytes(&out)};
	assert_int_equal(ux_otlp_names_read(&names, NULL), UX_OK);
	assert_int_equal(names.n_locations, all);
	assert_int_equal(names.modules.size, 1);
	assert_int_equal(names.modules.data[0].n, n);
	for (size_t i = 0; i < n; i++) {
		const struct ux_otlp_location *l = &names.locations.data[i];
		assert_true(names.addresses[i] == expected[i]);
		assert_int_equal(l->end - l->field, sizes[i]);
	}
	ux_otlp_names_deinit(&names);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&out);
}

/* The last location begins like the previous ones, but has a byte after its address. */
static void a_location_is_not_read_as_the_one_before_if_it_is_damaged(void **state)
{
	(void)state;
	static const char plain[] = "\x12\x05\x08\x01\x10\x81\x01",
			  damaged[] = "\x12\x05\x08\x01\x10\x01\x01";
	struct ux_out dictionary = {0}, out = {0};
	static_assert(OTLP_LOCATION_TABLE == 2, "");
	for (unsigned i = 0; i < 2; i++)
		put_message(&dictionary, OTLP_MAPPING_TABLE, FIELDS({0, 0}));
	for (unsigned i = 0; i < 3; i++)
		ux_out_put(&dictionary, i < 2 ? plain : damaged, sizeof(plain) - 1);
	ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE,
			      UX_STR("room behind the locations, "
				     "of which any may be read, "
				     "as in most messages"));
	ux_protobuf_put_message(&out, OTLP_DICTIONARY, &dictionary);
	struct ux_otlp_names names = {.bytes = ux_out_bytes(&out)};
	assert_int_equal(ux_otlp_names_read(&names, NULL), UX_ECORRUPT);
	ux_otlp_names_deinit(&names);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&out);
}

static void without_names_a_message_stays_as_it_is(void **state)
{
	(void)state;
	struct ux_out in = {0}, out = {0};
	write_request(&in);
	struct ux_otlp_names n = {.bytes = ux_out_bytes(&in)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	assert_int_equal(ux_otlp_names_write(&n, &out, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&in), ux_out_bytes(&out)));
	ux_otlp_names_deinit(&n);
	ux_out_deinit(&in);
	ux_out_deinit(&out);
}

static void sweep_any(struct ux_bytes input, void *ctx)
{
	struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	size_t *good = ctx;
	enum ux_code code = name_request(input, &out, &err);
	assert_true(code == UX_OK || code == UX_ECORRUPT);
	*good += code == UX_OK;
	ux_out_deinit(&out);
}

static enum ux_code alloc_any(void *ctx)
{
	struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = name_request(*(struct ux_bytes *)ctx, &out, &err);
	ux_out_deinit(&out);
	return code;
}

static void damage_is_an_error_and_nothing_worse(void **state)
{
	(void)state;
	struct ux_out out = {0};
	size_t good = 0;
	write_request(&out);
	struct ux_bytes whole = ux_out_bytes(&out);
	each_prefix(whole, sweep_any, &good);
	each_bit_flip(whole, sweep_any, &good);
	each_byte_extreme(whole, sweep_any, &good);
	assert_true(good > whole.size);
	assert_true(each_failed_alloc(alloc_any, &whole, false) > 10);
	ux_out_deinit(&out);
}

static void what_dangles_is_said_with_its_offset(void **state)
{
	(void)state;
	struct ux_out dictionary = {0}, out = {0};
	struct ux_error err = UX_ERROR_INIT;
	put_message(&dictionary, OTLP_LOCATION_TABLE, FIELDS({OTLP_LOCATION_MAPPING, 3}));
	ux_protobuf_put_message(&out, OTLP_DICTIONARY, &dictionary);
	assert_int_equal(name_request(ux_out_bytes(&out), &out, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "mapping 3 is past its table of 0");
	assert_int_equal(err.off, 4);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&out);
}

UX_SUITE(otlp_names)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(addresses_are_grouped_by_module),
		UX_TEST(lines_are_read_again_as_they_were_written),
		UX_TEST(lines_are_taken_from_a_profile),
		UX_TEST(locations_that_differ_in_their_address_are_told_apart),
		UX_TEST(a_location_is_not_read_as_the_one_before_if_it_is_damaged),
		UX_TEST(without_names_a_message_stays_as_it_is),
		UX_TEST(damage_is_an_error_and_nothing_worse),
		UX_TEST(what_dangles_is_said_with_its_offset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
