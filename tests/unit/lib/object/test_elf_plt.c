/* SPDX-License-Identifier: Apache-2.0 */
/* lib/elf: stubs. */
#include "sweep.h"

#include "elf_plt.h"
#include "make_stubs.h"

static enum ux_code read_all(struct ux_bytes file, struct ux_object_stubs *out)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, NULL));
	return ux_elf_plt_read(&elf, out, NULL);
}

/* "1010 puts 16, ..." of all stubs; without a name its target. */
static const char *listed(struct ux_bytes file)
{
	static char text[512];
	ux_cleanup(ux_object_stubs_deinit) struct ux_object_stubs stubs = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	size_t n = 0;
	text[0] = '\0';
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_elf_plt_read(&elf, &stubs, NULL), UX_OK);
	for (size_t i = 0; i < stubs.size; i++) {
		const struct ux_object_stub *s = &stubs.data[i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 " ", n ? ", " : "",
				      s->pc);
		if (s->name)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", s->name);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "->%" PRIx64, s->target);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %" PRIu64, s->size);
	}
	return text;
}

static void every_shape_is_named_by_the_slot_that_it_loads(void **state)
{
	(void)state;
	for (size_t i = 0; i < make_stubs_count; i++) {
		struct make_elf m;
		const char *found = listed(make_stubs_file(&m, &make_stubs_shapes[i]));
		if (strcmp(found, make_stubs_shapes[i].expected) != 0)
			fail_msg("%s: \"%s\", expected \"%s\"", make_stubs_shapes[i].name, found,
				 make_stubs_shapes[i].expected);
		make_elf_deinit(&m);
	}
}

static const struct make_stubs *shape(const char *name)
{
	for (size_t i = 0; i < make_stubs_count; i++)
		if (strcmp(make_stubs_shapes[i].name, name) == 0)
			return &make_stubs_shapes[i];
	fail_msg("no shape is named %s", name);
	return NULL;
}

static void stub_of_a_function_that_chooses_has_its_name(void **state)
{
	(void)state;
	struct make_elf m;
	assert_string_equal(
		listed(make_stubs_chosen(&m, shape("x86-64-lazy"), 37, 0x1500, /* named= */ true)),
		"1010 memcpy 16, 1020 memcpy 16");
	make_elf_deinit(&m);
	assert_string_equal(
		listed(make_stubs_chosen(&m, shape("aarch64"), 1032, 0x1500, /* named= */ true)),
		"1000 memcpy 16, 1010 memcpy 16");
	make_elf_deinit(&m);
}

static void stub_without_a_name_says_where_the_choice_is_made(void **state)
{
	(void)state;
	struct make_elf m;
	assert_string_equal(
		listed(make_stubs_chosen(&m, shape("x86-64-ibt"), 37, 0x1500, /* named= */ false)),
		"1000 ->1500 16, 1010 ->1500 16");
	make_elf_deinit(&m);
}

/* 32-bit relocations have no room for the target. */
static void target_of_a_choice_may_stand_in_the_slot(void **state)
{
	(void)state;
	struct make_elf m;
	assert_string_equal(listed(make_stubs_chosen(&m, shape("i386-absolute"), 42, 0x1540,
						     /* named= */ false)),
			    "1010 ->1540 16, 1020 ->1540 16");
	make_elf_deinit(&m);
}

static void code_that_loads_no_slot_is_no_stub(void **state)
{
	(void)state;
	struct make_elf m;
	struct make_stubs other = *shape("x86-64-lazy");
	other.type = 1; /* R_X86_64_64 */
	assert_string_equal(listed(make_stubs_file(&m, &other)), "");
	make_elf_deinit(&m);
	other.type = 7;
	other.section = ".text";
	assert_string_equal(listed(make_stubs_file(&m, &other)), "");
	make_elf_deinit(&m);
}

static void objects_and_other_machines_have_none(void **state)
{
	(void)state;
	struct make_elf m;
	struct make_stubs other = *shape("x86-64-lazy");
	other.machine = EM_SPARCV9;
	assert_string_equal(listed(make_stubs_file(&m, &other)), "");
	make_elf_deinit(&m);
	struct ux_bytes file = make_stubs_file(&m, shape("x86-64-lazy"));
	((uint8_t *)(uintptr_t)file.data)[16] = ET_REL;
	assert_string_equal(listed(file), "");
	make_elf_deinit(&m);
}

/* The number and a jump, from 0x1000; size and target, or "-". */
static const char *first_call(struct ux_bytes code, uint64_t index)
{
	static char text[64];
	const struct ux_elf_stub_context place = {.swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
						  .is64 = true};
	uint32_t size = 0;
	uint64_t to = 0;
	if (!ux_elf_stub_first_call(&place, code, 0x1000, index, &size, &to))
		return "-";
	snprintf(text, sizeof(text), "%" PRIu32 " %" PRIx64, size, to);
	return text;
}

static void first_calls_say_their_number(void **state)
{
	(void)state;
	struct ux_bytes small = UX_STR("\x38\x00\x7f\xff\x4b\xff\xff\xf0");
	struct ux_bytes large = UX_STR("\x3c\x00\x00\x01\x60\x00\x80\x02\x48\x00\x00\x10");
	assert_string_equal(first_call(small, 0x7fff), "8 ff4");
	assert_string_equal(first_call(small, 0x7ffe), "-");
	assert_string_equal(first_call(large, 0x18002), "12 1018");
	assert_string_equal(first_call(large, 0x8002), "-");
	assert_string_equal(first_call(ux_bytes(large.data, 8), 0x18002), "-");
	assert_string_equal(first_call(UX_STR("\x48\x00\x00\x10"), 5), "4 1010");
	assert_string_equal(first_call(UX_STR("\x48\x00\x00\x11"), 5), "-"); /* a call */
}

static void sweep(struct ux_bytes input, void *ctx)
{
	ux_cleanup(ux_object_stubs_deinit) struct ux_object_stubs stubs = {0};
	(void)ctx;
	(void)!read_all(input, &stubs);
	for (size_t i = 0; i < stubs.size; i++)
		assert_true(!stubs.data[i].name || stubs.data[i].name[0] != '\0');
}

enum {
	EHDR_SHOFF = 32, /* places of fields in 32-bit files */
	EHDR_SHNUM = 48,
	SHDR_ALL = 40,
	SHDR_ADDR = 12,
	SHDR_OFFSET = 16,
	SHDR_SIZE = 20,
};

/* Appends a section table with n more sections of stubs to a 32-bit file: each has the bytes from
 * the first section's start to the end of the file, at pc 0x8000, 0x18000 and so on. */
static void repeat_stubs(struct make_elf *m, unsigned n)
{
	uint32_t end = (uint32_t)m->file.size;
	uint16_t count = 0;
	memcpy(&count, m->file.data + EHDR_SHNUM, sizeof(count));
	memcpy(m->file.data + EHDR_SHOFF, &end, sizeof(end));
	for (unsigned i = 0; i < count + n; i++) {
		uint8_t s[SHDR_ALL];
		uint32_t off = 0, addr = 0x8000 + 0x10000 * (i - count);
		memcpy(s, m->file.data + m->section_table + (i < count ? i : 1) * sizeof(s),
		       sizeof(s));
		memcpy(&off, s + SHDR_OFFSET, sizeof(off));
		if (i >= count) {
			memcpy(s + SHDR_ADDR, &addr, sizeof(addr));
			memcpy(s + SHDR_SIZE, &(uint32_t){end - off}, sizeof(uint32_t));
		}
		ux_out_put(&m->file, s, sizeof(s));
	}
	assert_int_equal(ux_out_status(&m->file, NULL), UX_OK);
	count = (uint16_t)(count + n);
	memcpy(m->file.data + EHDR_SHNUM, &count, sizeof(count));
}

/* Thousands of sections of the same bytes would make the work grow with the square of the file. */
static void bytes_are_read_as_often_as_the_file_is_large(void **state)
{
	(void)state;
	struct make_elf m;
	make_stubs_file(&m, shape("i386-absolute"));
	repeat_stubs(&m, 1);
	const char *once = listed(ux_out_bytes(&m.file));
	assert_non_null(strstr(once, ", 8010 "));
	make_elf_deinit(&m);
	make_stubs_file(&m, shape("i386-absolute"));
	repeat_stubs(&m, 40);
	const char *often = listed(ux_out_bytes(&m.file));
	assert_non_null(strstr(often, ", 8010 "));
	for (unsigned pc = 0x58010; pc < 0x288010; pc += 0x10000) {
		char stub[32];
		snprintf(stub, sizeof(stub), ", %x ", pc);
		if (strstr(often, stub))
			fail_msg("stub %s is read: %s", stub, often);
	}
	make_elf_deinit(&m);
}

static void damaged_files_give_fewer_stubs(void **state)
{
	(void)state;
	for (size_t i = 0; i < make_stubs_count; i++) {
		struct make_elf m;
		struct ux_bytes file = make_stubs_file(&m, &make_stubs_shapes[i]);
		each_prefix(file, sweep, NULL);
		each_byte_extreme(file, sweep, NULL);
		if (i % 4 == 0)
			each_bit_flip(file, sweep, NULL);
		make_elf_deinit(&m);
	}
}

static enum ux_code read_once(void *ctx)
{
	ux_cleanup(ux_object_stubs_deinit) struct ux_object_stubs stubs = {0};
	return read_all(*(const struct ux_bytes *)ctx, &stubs);
}

static void want_of_memory_is_said(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_bytes file =
		make_stubs_chosen(&m, shape("x86-64-lazy"), 37, 0x1500, /* named= */ true);
	assert_true(each_failed_alloc(read_once, &file, /* may_recover= */ false) > 3);
	make_elf_deinit(&m);
}

UX_SUITE(elf_plt)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(every_shape_is_named_by_the_slot_that_it_loads),
		UX_TEST(stub_of_a_function_that_chooses_has_its_name),
		UX_TEST(stub_without_a_name_says_where_the_choice_is_made),
		UX_TEST(target_of_a_choice_may_stand_in_the_slot),
		UX_TEST(code_that_loads_no_slot_is_no_stub),
		UX_TEST(objects_and_other_machines_have_none),
		UX_TEST(first_calls_say_their_number),
		UX_TEST(bytes_are_read_as_often_as_the_file_is_large),
		UX_TEST(damaged_files_give_fewer_stubs),
		UX_TEST(want_of_memory_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
