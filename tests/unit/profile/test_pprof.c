/* SPDX-License-Identifier: Apache-2.0 */
/* pprof: reading profiles, adding names to them, writing new ones. */
#include "sweep.h"

#include "pprof.h"
#include "pprof_fields.h"
#include "protobuf.h"

enum {
	UNKNOWN_FIELD = 77 /* which profile.proto does not have */
};

/* Appends a message of integer fields {number, value}, ended by number 0. */
static void put_message(struct ux_out *out, uint32_t number, const uint64_t (*fields)[2])
{
	struct ux_out inner = {0};
	for (; (*fields)[0] != 0; fields++)
		ux_protobuf_put_uint(&inner, (uint32_t)(*fields)[0], (*fields)[1]);
	ux_protobuf_put_bytes(out, number, ux_out_bytes(&inner));
	ux_out_deinit(&inner);
}

#define FIELDS(...) ((const uint64_t[][2]){__VA_ARGS__, {0, 0}})

/* A profile with a named location and two of a library, one of them in two samples; fields in an
 * order that no writer uses, and unknown fields. */
static void write_profile(struct ux_out *out)
{
	static const char *const strings[] = {"",     "samples", "count", "/lib/libx.so",
					      "00ff", "main"};
	put_message(out, PPROF_SAMPLE,
		    FIELDS({PPROF_SAMPLE_LOCATION, 10}, {PPROF_SAMPLE_LOCATION, 30},
			   {PPROF_SAMPLE_VALUE, 5}));
	put_message(out, PPROF_SAMPLE,
		    FIELDS({PPROF_SAMPLE_LOCATION, 20}, {PPROF_SAMPLE_LOCATION, 10},
			   {PPROF_SAMPLE_LOCATION, 30}, {PPROF_SAMPLE_VALUE, 7},
			   {UNKNOWN_FIELD, 1}));
	put_message(out, PPROF_LOCATION,
		    FIELDS({PPROF_LOCATION_ID, 10}, {PPROF_LOCATION_MAPPING, 1},
			   {PPROF_LOCATION_ADDRESS, 0x7f0000001234}, {UNKNOWN_FIELD, 2}));
	put_message(out, PPROF_LOCATION,
		    FIELDS({PPROF_LOCATION_ID, 20}, {PPROF_LOCATION_MAPPING, 1},
			   {PPROF_LOCATION_ADDRESS, 0x7f0000001300}, {PPROF_LOCATION_FOLDED, 1}));
	struct ux_out named = {0};
	ux_protobuf_put_uint(&named, PPROF_LOCATION_ID, 30);
	put_message(&named, PPROF_LOCATION_LINE,
		    FIELDS({PPROF_LINE_FUNCTION, 4}, {PPROF_LINE_LINE, 12}));
	ux_protobuf_put_bytes(out, PPROF_LOCATION, ux_out_bytes(&named));
	ux_out_deinit(&named);
	put_message(out, PPROF_MAPPING,
		    FIELDS({PPROF_MAPPING_ID, 1}, {PPROF_MAPPING_START, 0x7f0000000000},
			   {PPROF_MAPPING_LIMIT, 0x7f0000002000}, {PPROF_MAPPING_OFFSET, 0x4000},
			   {PPROF_MAPPING_FILENAME, 3}, {PPROF_MAPPING_BUILD_ID, 4},
			   {UNKNOWN_FIELD, 3}));
	put_message(out, PPROF_FUNCTION, FIELDS({PPROF_FUNCTION_ID, 4}, {PPROF_FUNCTION_NAME, 5}));
	put_message(out, PPROF_SAMPLE_TYPE, FIELDS({PPROF_TYPE, 1}, {PPROF_UNIT, 2}));
	ux_protobuf_put_uint(out, UNKNOWN_FIELD, 4);
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(out, PPROF_STRING_TABLE, ux_bytes_cstr(strings[i]));
	ux_protobuf_put_uint(out, PPROF_TIME_NANOS, 1700000000000000000);
	assert_false(out->failed);
}

static void read_profile(struct ux_pprof *f, struct ux_bytes bytes, struct ux_profile *p)
{
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_profile_init(p, NULL), UX_OK);
	enum ux_code code = ux_pprof_read(f, bytes, p, &err);
	if (code != UX_OK)
		fail_msg("%s", err.text);
}

static uint32_t string_of(struct ux_profile *p, const char *text)
{
	uint32_t number = 0;
	assert_int_equal(ux_profile_string(p, ux_bytes_cstr(text), &number, NULL), UX_OK);
	return number;
}

static void expect_text(const struct ux_profile *p, uint32_t number, const char *text)
{
	assert_string_equal((const char *)ux_profile_text(p, number).data, text);
}

static void a_profile_has_its_samples_and_places(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_pprof f;
	struct ux_profile p;
	char id[UX_ID_TEXT];
	write_profile(&out);
	assert_true(ux_pprof_is(ux_out_bytes(&out)));
	read_profile(&f, ux_out_bytes(&out), &p);
	assert_int_equal(p.n_types, 1);
	expect_text(&p, p.types[0].unit, "count");
	assert_int_equal(p.modules.size, 2);
	expect_text(&p, p.modules.data[1].path, "/lib/libx.so");
	assert_string_equal(ux_id_format(&p.modules.data[1].id, id), "gnu:00ff");
	assert_int_equal(f.n_locations, 3);
	const struct ux_profile_location *l = p.locations.data + f.first_location;
	assert_int_equal(l[0].kind, UX_PROFILE_OFFSET);
	assert_int_equal(l[0].address, 0x5234);
	assert_false(l[0].returns);
	assert_true(l[2].named);
	expect_text(&p, p.frames.data[l[2].first].name, "main");
	assert_int_equal(p.frames.data[l[2].first].line, 12);
	assert_int_equal(p.samples.size, 2);
	const struct ux_profile_stack *leaf = &p.stacks.data[p.samples.data[1].stack];
	assert_int_equal(leaf->location, f.first_location + 1);
	assert_int_equal(leaf->caller, p.samples.data[0].stack); /* the same callers */
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[1])[0], 7);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

static void without_new_names_the_bytes_are_the_same(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_stream again = {0};
	struct ux_pprof f;
	struct ux_profile p;
	write_profile(&out);
	read_profile(&f, ux_out_bytes(&out), &p);
	assert_int_equal(ux_pprof_rewrite(&f, &p, &again, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(&again.out)));
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
	ux_stream_deinit(&again);
}

/* Names location 1 of the file: an inlined function and the one that it is inlined into. */
static void name_second(struct ux_profile *p, const struct ux_pprof *f)
{
	struct ux_profile_frame frames[] = {
		{.linkage = string_of(p, "_Z5innerv"),
		 .file = string_of(p, "/src/x.h"),
		 .line = 3,
		 .inlined = true},
		{.linkage = string_of(p, "outer"), .file = string_of(p, "/src/x.c"), .line = 90},
	};
	assert_int_equal(
		ux_profile_name(p, f->first_location + 1, frames, ux_countof(frames), NULL), UX_OK);
}

/* How many fields of that number the message has. */
static size_t count_fields(struct ux_bytes message, uint32_t number)
{
	size_t n = 0;
	struct ux_cur c = ux_cur_make(message, NULL, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		n += f.number == number;
	assert_false(c.failed);
	return n;
}

static void names_are_added_and_all_else_is_kept(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_stream named = {0}, plain = {0};
	struct ux_pprof f, again;
	struct ux_profile p, q;
	write_profile(&out);
	read_profile(&f, ux_out_bytes(&out), &p);
	name_second(&p, &f);
	assert_int_equal(ux_pprof_rewrite(&f, &p, &named, NULL), UX_OK);
	assert_int_equal(count_fields(ux_out_bytes(&named.out), UNKNOWN_FIELD), 1);
	assert_int_equal(count_fields(ux_out_bytes(&named.out), PPROF_FUNCTION), 3);

	read_profile(&again, ux_out_bytes(&named.out), &q);
	const struct ux_profile_location *l = q.locations.data + again.first_location;
	assert_int_equal(l[0].n, 0);
	assert_int_equal(l[1].n, 2);
	const struct ux_profile_frame *frame = q.frames.data + l[1].first;
	expect_text(&q, frame[0].name, "inner()");
	expect_text(&q, frame[0].linkage, "_Z5innerv");
	assert_true(frame[0].inlined);
	expect_text(&q, frame[1].name, "outer");
	expect_text(&q, frame[1].file, "/src/x.c");
	assert_int_equal(frame[1].line, 90);
	assert_int_equal(l[1].address, 0x5300);
	assert_int_equal(q.samples.size, 2);

	/* A second round has nothing to add. */
	assert_int_equal(ux_pprof_rewrite(&again, &q, &plain, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&named.out), ux_out_bytes(&plain.out)));
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
	ux_out_deinit(&out);
	ux_stream_deinit(&named);
	ux_stream_deinit(&plain);
}

/* Location number i of a message of many: addresses of 1 to 10 bytes; some locations lack a field,
 * have another order or an unknown field. */
static void put_location(struct ux_out *out, uint64_t i)
{
	struct ux_out inner = {0};
	const uint64_t address = i == 0 ? 0 : UINT64_MAX >> (i % 64);
	if (i % 7 == 3)
		ux_protobuf_put_uint(&inner, PPROF_LOCATION_ADDRESS, address);
	ux_protobuf_put_uint(&inner, PPROF_LOCATION_ID, 5 * i + 7);
	if (i % 5 != 4)
		ux_protobuf_put_uint(&inner, PPROF_LOCATION_MAPPING, 1);
	if (i % 7 != 3)
		ux_protobuf_put_uint(&inner, PPROF_LOCATION_ADDRESS, address);
	if (i % 11 == 5)
		ux_protobuf_put_uint(&inner, UNKNOWN_FIELD, i);
	ux_protobuf_put_bytes(out, PPROF_LOCATION, ux_out_bytes(&inner));
	ux_out_deinit(&inner);
}

/* Returns the number in a field of a message; 0: absent. */
static uint64_t field_of(struct ux_bytes message, uint32_t number)
{
	uint64_t value = 0;
	struct ux_cur c = ux_cur_make(message, NULL, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		value = f.number == number ? f.value : value;
	assert_false(c.failed);
	return value;
}

static void locations_of_any_form_keep_their_fields_and_get_their_lines(void **state)
{
	(void)state;
	enum {
		LOCATIONS = 500
	};
	struct ux_out out = {0};
	struct ux_stream named = {0};
	struct ux_pprof f;
	struct ux_profile p;
	for (size_t i = 0; i < 3; i++)
		ux_protobuf_put_bytes(&out, PPROF_STRING_TABLE, ux_bytes_cstr(i ? "x" : ""));
	put_message(&out, PPROF_MAPPING,
		    FIELDS({PPROF_MAPPING_ID, 1}, {PPROF_MAPPING_FILENAME, 1}));
	for (uint64_t i = 0; i < LOCATIONS; i++)
		put_location(&out, i);
	read_profile(&f, ux_out_bytes(&out), &p);
	assert_int_equal(f.n_locations, LOCATIONS);
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		const struct ux_profile_location *l = &p.locations.data[f.first_location + i];
		struct ux_profile_frame frame = {.linkage = string_of(&p, i % 3 ? "f" : "g"),
						 .line = i * i * i + 1};
		const bool placed = i > 0 && i % 5 != 4;
		assert_int_equal(l->address, i == 0 ? 0 : UINT64_MAX >> (i % 64));
		assert_int_equal(l->module, placed ? 1 : 0);
		if (i % 4 != 0)
			assert_int_equal(ux_profile_name(&p, f.first_location + i, &frame, 1, NULL),
					 UX_OK);
	}
	assert_int_equal(ux_pprof_rewrite(&f, &p, &named, NULL), UX_OK);
	struct ux_cur before = ux_cur_make(ux_out_bytes(&out), NULL, false);
	struct ux_cur after = ux_cur_make(ux_out_bytes(&named.out), NULL, false);
	uint64_t i = 0;
	for (struct ux_protobuf_field a, b; ux_protobuf_next(&before, &a);) {
		assert_true(ux_protobuf_next(&after, &b));
		if (a.number != PPROF_LOCATION)
			continue;
		const struct ux_bytes old = ux_protobuf_text(&a), new = ux_protobuf_text(&b);
		assert_true(ux_bytes_starts(new, old));
		assert_int_equal(new.size > old.size, i % 4 != 0);
		struct ux_cur line = ux_cur_make(new, NULL, false);
		struct ux_protobuf_field one;
		ux_cur_skip(&line, old.size);
		if (i % 4 != 0) {
			assert_true(ux_protobuf_next(&line, &one));
			assert_int_equal(one.number, PPROF_LOCATION_LINE);
			assert_int_equal(field_of(ux_protobuf_text(&one), PPROF_LINE_LINE),
					 i * i * i + 1);
			assert_int_equal(field_of(ux_protobuf_text(&one), PPROF_LINE_FUNCTION),
					 i % 3 ? 1 : 2);
		}
		assert_false(ux_cur_more(&line));
		i++;
	}
	assert_int_equal(i, LOCATIONS);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
	ux_stream_deinit(&named);
}

static void a_new_profile_says_the_same(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_stream made = {0};
	struct ux_pprof f, again;
	struct ux_profile p, q;
	write_profile(&out);
	read_profile(&f, ux_out_bytes(&out), &p);
	name_second(&p, &f);
	assert_int_equal(ux_pprof_write(&p, &made, NULL), UX_OK);
	read_profile(&again, ux_out_bytes(&made.out), &q);
	assert_int_equal(q.samples.size, p.samples.size);
	for (size_t i = 0; i < q.samples.size; i++)
		assert_int_equal(q.values.data[i], p.values.data[i]);
	assert_int_equal(q.locations.size, p.locations.size);
	assert_true(ux_id_eq(&q.modules.data[1].id, &p.modules.data[1].id));
	expect_text(&q, q.types[0].name, "samples");
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
	ux_out_deinit(&out);
	ux_stream_deinit(&made);
}

/* Checks IDs of locations in the order of the message, and the IDs of a sample's stack. The
 * expected number of each in the profile counts from the first location; if IDs are equal, the
 * first one counts. */
static void ids_are(const uint64_t *ids, size_t n, const uint64_t *stack, size_t depth,
		    const uint32_t *expected)
{
	struct ux_out out = {0}, packed = {0};
	struct ux_pprof f;
	struct ux_profile p;
	for (size_t i = 0; i < n; i++)
		put_message(&out, PPROF_LOCATION,
			    FIELDS({PPROF_LOCATION_ID, ids[i]}, {PPROF_LOCATION_ADDRESS, 16 + i}));
	for (size_t i = 0; i < depth; i++)
		ux_out_uleb(&packed, stack[i]);
	struct ux_out sample = {0};
	ux_protobuf_put_bytes(&sample, PPROF_SAMPLE_LOCATION, ux_out_bytes(&packed));
	ux_protobuf_put_bytes(&out, PPROF_SAMPLE, ux_out_bytes(&sample));
	ux_protobuf_put_bytes(&out, PPROF_STRING_TABLE, UX_STR(""));
	read_profile(&f, ux_out_bytes(&out), &p);
	assert_int_equal(p.samples.size, 1);
	uint32_t at = p.samples.data[0].stack;
	for (size_t i = 0; i < depth; i++, at = p.stacks.data[at].caller)
		assert_int_equal(p.stacks.data[at].location, f.first_location + expected[i]);
	assert_int_equal(at, 0);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
	ux_out_deinit(&packed);
	ux_out_deinit(&sample);
}

static void locations_are_found_by_ids_that_count_and_by_any_others(void **state)
{
	(void)state;
#define IDS(...) ((const uint64_t[]){__VA_ARGS__})
	ids_are(IDS(1, 2, 3), 3, IDS(3, 1, 2), 3, (const uint32_t[]){2, 0, 1});
	ids_are(IDS(1, 2, 9, 3), 4, IDS(3, 9, 1, 2), 4, (const uint32_t[]){3, 2, 0, 1});
	ids_are(IDS(2, 1), 2, IDS(1, 2), 2, (const uint32_t[]){1, 0});
	ids_are(IDS(5, 5, 6, 1), 4, IDS(6, 5, 1), 3, (const uint32_t[]){2, 0, 3});
	ids_are(IDS(1, 1, 2), 3, IDS(2, 1), 2, (const uint32_t[]){2, 0});
#undef IDS
}

/* Reads, rewrites and writes any input. */
static enum ux_code read_any(struct ux_bytes bytes)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_stream out = {0};
	struct ux_pprof f;
	struct ux_profile p;
	enum ux_code code = ux_profile_init(&p, &err);
	if (code == UX_OK)
		code = ux_pprof_read(&f, bytes, &p, &err);
	if (code == UX_OK)
		code = ux_pprof_rewrite(&f, &p, &out, &err);
	if (code == UX_OK)
		code = ux_pprof_write(&p, &out, &err);
	ux_profile_deinit(&p);
	ux_stream_deinit(&out);
	return code;
}

static void sweep_any(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	enum ux_code code = read_any(input);
	assert_true(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT);
}

static enum ux_code alloc_any(void *ctx)
{
	return read_any(*(struct ux_bytes *)ctx);
}

static void damage_is_an_error_and_nothing_worse(void **state)
{
	(void)state;
	struct ux_out out = {0};
	write_profile(&out);
	struct ux_bytes good = ux_out_bytes(&out);
	each_prefix(good, sweep_any, NULL);
	each_bit_flip(good, sweep_any, NULL);
	each_byte_extreme(good, sweep_any, NULL);
	assert_true(each_failed_alloc(alloc_any, &good, false) > 10);
	ux_out_deinit(&out);
}

static void dangling_numbers_are_named_with_their_offset(void **state)
{
	(void)state;
	static const uint64_t bad[][4] = {
		{PPROF_SAMPLE, PPROF_SAMPLE_LOCATION, 99},
		{PPROF_MAPPING, PPROF_MAPPING_FILENAME, 99},
		{PPROF_SAMPLE_TYPE, PPROF_TYPE, 99},
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		struct ux_pprof f;
		struct ux_profile p;
		write_profile(&out);
		put_message(&out, (uint32_t)bad[i][0], FIELDS({bad[i][1], bad[i][2]}));
		assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
		assert_int_equal(ux_pprof_read(&f, ux_out_bytes(&out), &p, &err), UX_ECORRUPT);
		assert_non_null(strstr(err.text, "99"));
		assert_string_equal(err.section, "pprof profile");
		ux_profile_deinit(&p);
		ux_out_deinit(&out);
	}
}

static void other_files_are_not_taken_for_profiles(void **state)
{
	(void)state;
	assert_false(ux_pprof_is(UX_BYTES_NONE));
	assert_false(ux_pprof_is(UX_STR("\x7f"
					"ELF\x02\x01\x01")));
	assert_false(ux_pprof_is(UX_STR("main;work;spin 12\n")));
	assert_false(ux_pprof_is(UX_STR("PERFILE2\x68")));
	assert_false(ux_pprof_is(UX_STR("{\"resourceProfiles\":[]}")));
}

UX_SUITE(pprof)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(locations_are_found_by_ids_that_count_and_by_any_others),
		UX_TEST(a_profile_has_its_samples_and_places),
		UX_TEST(without_new_names_the_bytes_are_the_same),
		UX_TEST(names_are_added_and_all_else_is_kept),
		UX_TEST(locations_of_any_form_keep_their_fields_and_get_their_lines),
		UX_TEST(a_new_profile_says_the_same),
		UX_TEST(damage_is_an_error_and_nothing_worse),
		UX_TEST(dangling_numbers_are_named_with_their_offset),
		UX_TEST(other_files_are_not_taken_for_profiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
