/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed .debug_info that is read while it is inflated gives the same result as a plain one.
 */
#include "test_extract.h"

#include "debug_sections.h"
#include "elf_file.h"

#include <sys/resource.h>

#if defined(__SANITIZE_THREAD__)
#define COUNTS_FAULTS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTS_FAULTS 0
#endif
#endif
#ifndef COUNTS_FAULTS
#define COUNTS_FAULTS 1
#endif

enum {
	FAT = SEQUENCED + 1, /* an entry of PADDING bytes */
	FAR,                 /* an inlined call of a function that may be in any unit */

	CONST_VALUE = 0x1c, /* DW_AT_const_value: one that is not read */
	PADDING = 64 << 10,
	UNITS = 380, /* 24 MiB: above the threshold for streaming, and a dozen waves */
};

static const uint8_t padding[PADDING];

/* Functions name_I of 8 bytes; each has an inlined call of its unit's, or of the first unit's
 * function, by a form that may lead there. */
static void make_units(struct made *m, bool far)
{
	struct make_dwarf *d = &m->dwarf;
	MAKE_ABBREV(d, FAT, DW_TAG_variable, false, {CONST_VALUE, DW_FORM_block4});
	if (far)
		MAKE_ABBREV(d, FAR, DW_TAG_inlined_subroutine, false,
			    {DW_AT_abstract_origin, DW_FORM_ref_addr}, {DW_AT_low_pc, DW_FORM_addr},
			    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_data1},
			    {DW_AT_call_line, DW_FORM_data2});
	add_abbrevs(m);
	uint64_t lines = begin_lines(m), first = 0;
	make_set_address(d, TEXT_AT);
	for (int i = 0; i < UNITS; i++)
		make_row(d, i ? 8 : 0, 1);
	make_end_sequence(d, 8);
	make_lines_end(d);
	for (int i = 0; i < UNITS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name_%d", i);
		begin_unit(m, lines);
		MAKE_DIE(d, FAT, (struct make_value){.bytes = ux_bytes(padding, PADDING)});
		uint64_t callee = MAKE_DIE(d, ABSTRACT, T(i % 3 ? "b" : "callee"));
		first = i == 0 ? callee : first;
		MAKE_DIE(d, FUNCTION, T(name), N(TEXT_AT + 8 * i), N(8));
		if (far)
			MAKE_DIE(d, FAR, N(first), N(TEXT_AT + 8 * i), N(4), N(2), N(i + 1));
		else
			MAKE_DIE(d, INLINE, N(callee), N(TEXT_AT + 8 * i), N(4), N(2), N(i + 1));
		if (!far)
			make_null(d);
		make_null(d);
		end_unit(m);
	}
}

static void open_result(struct made *m)
{
	assert_int_equal(ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL), UX_OK);
}

static void streamed_units_give_what_plain_ones_give(void **state)
{
	(void)state;
	for (int far = 0; far < 2; far++) {
		struct made plain, packed;
		made_init(&plain);
		made_init(&packed);
		make_units(&plain, far);
		make_units(&packed, far);
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(extract_with(&plain, made_file(&plain), 1, &err), UX_OK);
		struct ux_bytes file = packed_file(&packed);
		assert_true(file.size < 4 << 20);
		for (unsigned threads = 1; threads <= 8; threads = threads * 2 + 1) {
			assert_int_equal(extract_with(&packed, file, threads, &err), UX_OK);
			assert_int_equal(packed.stats.units, UNITS);
			assert_int_equal(packed.stats.bad_units, 0);
			assert_true(
				ux_bytes_eq(ux_out_bytes(&packed.gsym), ux_out_bytes(&plain.gsym)));
		}
		open_result(&packed);
		assert_string_equal(at(&packed, TEXT_AT + 8 * 301),
				    far ? "callee a.cc:303 < name_301 b.h:302"
					: "b a.cc:303 < name_301 b.h:302");
		assert_string_equal(at(&packed, TEXT_AT + 8 * 301 + 4), "name_301 a.cc:303");
		made_deinit(&plain);
		made_deinit(&packed);
	}
}

/* A section of 24 MiB that stayed in memory would cost a fault for each of its 6,000 pages. */
static void pages_of_units_that_were_read_are_used_again(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_units(&m, false);
	struct ux_bytes file = packed_file(&m);
	struct rusage before, after;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	assert_int_equal(extract_with(&m, file, 1, &err), UX_OK);
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	if (COUNTS_FAULTS) /* ThreadSanitizer has pages of its own for each of ours */
		assert_in_range(after.ru_minflt - before.ru_minflt, 1, 4000);
	made_deinit(&m);
}

/* Readers of entries at random, as for declarations and supplementary files, get all of them. */
static void sections_that_are_loaded_are_complete(void **state)
{
	(void)state;
	struct made m;
	struct ux_object *object = NULL;
	struct ux_debug_sections s;
	made_init(&m);
	make_units(&m, false);
	struct ux_bytes info = make_dwarf_sections(&m.dwarf).data[UX_DWARF_INFO];
	assert_int_equal(ux_object_open(packed_file(&m), &object, NULL), UX_OK);
	assert_int_equal(ux_debug_sections_load(object, 2, NULL, &s, NULL), UX_OK);
	assert_null(s.stream);
	assert_true(ux_bytes_eq(s.dwarf.data[UX_DWARF_INFO], info));
	ux_debug_sections_free(&s);
	ux_object_close(object);
	made_deinit(&m);
}

static void only_independent_units_become_a_stream(void **state)
{
	(void)state;
	for (int far = 0; far < 2; far++) {
		struct made m;
		struct ux_object *object = NULL;
		made_init(&m);
		make_units(&m, far);
		assert_int_equal(ux_object_open(packed_file(&m), &object, NULL), UX_OK);
		for (unsigned threads = 1; threads <= 2; threads++) {
			struct ux_debug_loader l;
			struct ux_debug_sections s;
			assert_int_equal(
				ux_debug_loader_open_stream(&l, object, threads, NULL, &s, NULL),
				UX_OK);
			assert_int_equal(s.stream != NULL, !far);
			assert_int_equal(s.dwarf.data[UX_DWARF_INFO].size > 0, !far);
			ux_debug_sections_free(&s);
		}
		ux_object_close(object);
		made_deinit(&m);
	}
}

static void damage_fails_as_a_whole(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_units(&m, false);
	struct ux_bytes file = packed_file(&m);
	struct ux_elf elf;
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_info");
	/* The last place is inflated by a second thread before the units are known to be
	 * independent; the other damage stays. */
	const uint64_t places[] = {s->size - 100, s->size / 2, 200};
	for (size_t i = 0; i < ux_countof(places); i++) {
		m.elf.file.data[s->off + places[i]] ^= 0x10;
		for (unsigned threads = 1; threads <= 2; threads++) {
			struct ux_error err = UX_ERROR_INIT;
			assert_int_equal(extract_with(&m, file, threads, &err), UX_ECORRUPT);
			assert_string_equal(err.section, ".debug_info");
			assert_int_equal(m.gsym.size, 0);
		}
	}
	ux_elf_close(&elf);
	made_deinit(&m);
}

/* A unit with an endless length costs itself and all units after it. */
static void damaged_header_costs_what_it_costs_a_plain_file(void **state)
{
	(void)state;
	struct made plain, packed;
	made_init(&plain);
	made_init(&packed);
	make_units(&plain, false);
	make_units(&packed, false);
	size_t half = make_off(&plain.dwarf, UX_DWARF_INFO) / UNITS * (UNITS / 2);
	struct made *both[] = {&plain, &packed};
	for (size_t i = 0; i < 2; i++) {
		/* the length of the first unit after the middle */
		const struct ux_out *info = &both[i]->dwarf.out[UX_DWARF_INFO];
		size_t off = 0;
		while (off < half)
			off += 4 + (info->data[off] | (size_t)info->data[off + 1] << 8 |
				    (size_t)info->data[off + 2] << 16);
		make_patch(&both[i]->dwarf, UX_DWARF_INFO, off, 0x7fffffff, 4);
	}
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(extract_with(&plain, made_file(&plain), 2, &err), UX_OK);
	assert_int_equal(extract_with(&packed, packed_file(&packed), 2, &err), UX_OK);
	assert_int_equal(packed.stats.bad_units, 1);
	assert_int_equal(packed.stats.units, plain.stats.units);
	assert_true(ux_bytes_eq(ux_out_bytes(&packed.gsym), ux_out_bytes(&plain.gsym)));
	made_deinit(&plain);
	made_deinit(&packed);
}

UX_SUITE(extract_stream)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(streamed_units_give_what_plain_ones_give),
		UX_TEST(pages_of_units_that_were_read_are_used_again),
		UX_TEST(sections_that_are_loaded_are_complete),
		UX_TEST(only_independent_units_become_a_stream),
		UX_TEST(damage_fails_as_a_whole),
		UX_TEST(damaged_header_costs_what_it_costs_a_plain_file),
	};
	return cmocka_run_group_tests_name("extract_stream", tests, NULL, NULL);
}
