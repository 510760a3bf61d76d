/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries: containers, entries, and their unpacked contents. */
#include "sweep.h"

#include "fatbin.h"
#include "make_elf.h"
#include "make_fatbin.h"

#include <unistd.h>

static struct ux_bytes prose(void)
{
	static uint8_t text[5000];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("add.f32 %f1, %f2, %f3; "[i % 23] + (i % 911 == 0));
	return ux_bytes(text, sizeof(text));
}

/* Two containers: a cubin stored and one packed with zstd; PTX packed with LZ4. */
static void make_three(struct ux_out *out)
{
	size_t begin = make_fatbin_begin(out);
	make_fatbin_add(out, &(struct make_fatbin_entry){
				     .arch = 80, .name = "a.cu", .content = UX_STR("0123456789")});
	make_fatbin_add(
		out, &(struct make_fatbin_entry){.arch = 90,
						 .flags = UX_FATBIN_ZSTD | UX_FATBIN_ARCH_SPECIFIC,
						 .content = prose()});
	make_fatbin_end(out, begin);
	begin = make_fatbin_begin(out);
	make_fatbin_add(out,
			&(struct make_fatbin_entry){.kind = UX_FATBIN_PTX,
						    .arch = 100,
						    .flags = UX_FATBIN_LZ4 | UX_FATBIN_ARCH_FAMILY,
						    .name = "b.cu",
						    .options = "--generate-line-info",
						    .content = prose()});
	make_fatbin_end(out, begin);
}

static void check_three(const struct ux_fatbin_list *list)
{
	static const char *const arch[] = {"sm_80", "sm_90a", "compute_100f"};
	char text[UX_FATBIN_ARCH_TEXT];
	assert_int_equal(list->entries.size, 3);
	assert_int_equal(list->bad, 0);
	for (size_t i = 0; i < 3; i++) {
		struct ux_fatbin_content content;
		const struct ux_fatbin_entry *e = &list->entries.data[i];
		assert_string_equal(ux_fatbin_arch(e, text), arch[i]);
		assert_int_equal(ux_fatbin_unpack(e, NULL, &content, NULL), UX_OK);
		assert_int_equal(content.bytes.size, e->size);
		if (i > 0)
			assert_true(ux_bytes_eq(content.bytes, prose()));
		ux_fatbin_content_free(&content);
	}
	const struct ux_fatbin_entry *e = list->entries.data;
	assert_true(ux_bytes_eq(e[0].name, UX_STR("a.cu")));
	assert_int_equal(e[1].name.size, 0);
	assert_true(ux_bytes_eq(e[2].name, UX_STR("b.cu")));
	assert_true(ux_bytes_starts(e[0].payload, UX_STR("0123456789")));
	assert_string_equal(ux_fatbin_kind_name(e[1].kind), "cubin");
	assert_string_equal(ux_fatbin_kind_name(e[2].kind), "ptx");
}

static void large_content_is_unpacked_into_the_file_for_it(void **state)
{
	(void)state;
	static uint32_t words[UX_FATBIN_SPILL_MIN / sizeof(uint32_t)];
	const struct ux_bytes content = ux_bytes((const uint8_t *)words, sizeof(words));
	struct ux_out file = {0};
	struct ux_fatbin_list list = {0};
	struct ux_fatbin_content got;
	struct ux_spill spill = {.size = 2 * sizeof(words)};
	for (uint32_t i = 0; i < ux_countof(words); i++)
		words[i] = i * i;
	assert_int_equal(ux_spill_open(ux_spill_folder(), spill.size, &spill.fd, NULL), UX_OK);
	size_t begin = make_fatbin_begin(&file);
	make_fatbin_add(&file, &(struct make_fatbin_entry){.kind = UX_FATBIN_CUBIN,
							   .arch = 90,
							   .flags = UX_FATBIN_ZSTD,
							   .content = content});
	make_fatbin_end(&file, begin);
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&file), &list, NULL), UX_OK);
	assert_int_equal(ux_fatbin_unpack(&list.entries.data[0], &spill, &got, NULL), UX_OK);
	assert_true(spill.end > sizeof(words));
	assert_true(ux_bytes_eq(got.bytes, content));
	ux_fatbin_content_free(&got);
	ux_fatbin_list_deinit(&list);
	ux_out_deinit(&file);
	close(spill.fd);
}

static void entries_of_all_containers_come_in_their_order(void **state)
{
	(void)state;
	struct ux_out file = {0};
	struct ux_fatbin_list list;
	make_three(&file);
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&file), &list, NULL), UX_OK);
	check_three(&list);
	assert_int_equal(list.entries.data[0].off, 16);
	ux_fatbin_list_deinit(&list);
	ux_out_deinit(&file);
}

static void fat_binaries_in_host_programs_are_found_by_their_sections(void **state)
{
	(void)state;
	struct ux_out fat = {0};
	struct make_elf m;
	struct ux_fatbin_list list;
	make_three(&fat);
	make_elf_init(&m, 64, false);
	make_elf_section(&m, (struct make_section){.name = ".data", .content = prose()});
	make_elf_section(&m, (struct make_section){.name = ".nv_fatbin",
						   .content = ux_out_bytes(&fat),
						   .align = 8});
	struct ux_bytes file = make_elf_finish(&m);
	assert_int_equal(ux_fatbin_list_read(file, &list, NULL), UX_OK);
	check_three(&list);
	uint64_t off = list.entries.data[0].off;
	assert_memory_equal(file.data + off - 16, "\x50\xed\x55\xba", 4);
	ux_fatbin_list_deinit(&list);
	make_elf_deinit(&m);
	ux_out_deinit(&fat);
}

static void files_without_gpu_code_have_no_entries(void **state)
{
	(void)state;
	struct ux_bytes none[] = {UX_BYTES_NONE, UX_STR("#!/bin/sh"),
				  UX_STR("\x7f"
					 "ELF")};
	for (size_t i = 0; i < ux_countof(none); i++) {
		struct ux_fatbin_list list;
		assert_int_equal(ux_fatbin_list_read(none[i], &list, NULL), UX_OK);
		assert_int_equal(list.entries.size, 0);
		ux_fatbin_list_deinit(&list);
	}
}

static void damaged_container_costs_its_rest_and_no_other(void **state)
{
	(void)state;
	struct ux_out file = {0};
	struct ux_fatbin_list list;
	make_three(&file);
	file.data[16 + 4] = 8; /* header size of the first entry */
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&file), &list, NULL), UX_OK);
	assert_int_equal(list.bad, 1);
	assert_int_equal(list.reason.code, UX_ECORRUPT);
	assert_int_equal(list.entries.size, 1);
	assert_int_equal(list.entries.data[0].arch, 100);
	ux_fatbin_list_deinit(&list);
	ux_out_deinit(&file);
}

static void container_of_another_version_is_passed_over(void **state)
{
	(void)state;
	struct ux_out file = {0};
	struct ux_fatbin_list list;
	make_three(&file);
	file.data[4] = 9;
	assert_int_equal(ux_fatbin_list_read(ux_out_bytes(&file), &list, NULL), UX_OK);
	assert_int_equal(list.bad, 1);
	assert_string_equal(
		list.reason.text,
		"fat binary of version 9 with a header of 16 bytes, expected version 1");
	assert_int_equal(list.entries.size, 1);
	ux_fatbin_list_deinit(&list);
	ux_out_deinit(&file);
}

/* The first entry of one container. */
static enum ux_code unpack_one(const struct make_fatbin_entry *entry, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out file = {0};
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	struct ux_fatbin_content content;
	size_t begin = make_fatbin_begin(&file);
	make_fatbin_add(&file, entry);
	make_fatbin_end(&file, begin);
	UX_TRY(ux_fatbin_list_read(ux_out_bytes(&file), &list, err));
	assert_int_equal(list.entries.size, 1);
	enum ux_code code = ux_fatbin_unpack(&list.entries.data[0], NULL, &content, err);
	ux_fatbin_content_free(&content);
	return code;
}

static void sizes_that_lie_are_refused(void **state)
{
	(void)state;
	static const uint64_t flags[] = {UX_FATBIN_LZ4, UX_FATBIN_ZSTD};
	for (size_t i = 0; i < 2; i++) {
		struct make_fatbin_entry e = {.flags = flags[i], .content = prose()};
		assert_int_equal(unpack_one(&e, NULL), UX_OK);
		e.claimed = prose().size + 1;
		assert_int_equal(unpack_one(&e, NULL), UX_ECORRUPT);
		e.claimed = prose().size - 1;
		assert_int_equal(unpack_one(&e, NULL), UX_ECORRUPT);
		e.claimed = UINT64_C(1) << 40;
		assert_int_equal(unpack_one(&e, NULL), UX_ELIMIT);
		e.claimed = UINT64_MAX;
		assert_int_equal(unpack_one(&e, NULL), UX_ELIMIT);
	}
}

static void what_is_packed_twice_or_obscured_is_unsupported(void **state)
{
	(void)state;
	struct make_fatbin_entry e = {.flags = UX_FATBIN_LZ4 | UX_FATBIN_ZSTD, .content = prose()};
	assert_int_equal(unpack_one(&e, NULL), UX_EUNSUPPORTED);
	e.flags = UX_FATBIN_ZSTD | UX_FATBIN_OBSCURED;
	e.kind = UX_FATBIN_LTO_IR;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(unpack_one(&e, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "is obfuscated by its compiler"));
}

/* Reads and unpacks everything. */
static void read_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_fatbin_list list;
	if (ux_fatbin_list_read(input, &list, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < list.entries.size; i++) {
		struct ux_fatbin_content content;
		const struct ux_fatbin_entry *e = &list.entries.data[i];
		assert_true(e->off < input.size);
		if (ux_fatbin_unpack(e, NULL, &content, NULL) == UX_OK)
			assert_int_equal(content.bytes.size, e->size);
		ux_fatbin_content_free(&content);
	}
	ux_fatbin_list_deinit(&list);
}

static void damaged_fat_binaries_are_read_cleanly(void **state)
{
	(void)state;
	struct ux_out file = {0};
	make_three(&file);
	each_prefix(ux_out_bytes(&file), read_all, NULL);
	each_bit_flip(ux_out_bytes(&file), read_all, NULL);
	each_byte_extreme(ux_out_bytes(&file), read_all, NULL);
	ux_out_deinit(&file);
}

static enum ux_code list_and_unpack(void *ctx)
{
	const struct ux_out *file = ctx;
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	UX_TRY(ux_fatbin_list_read(ux_out_bytes(file), &list, NULL));
	struct ux_fatbin_content content;
	enum ux_code code = ux_fatbin_unpack(&list.entries.data[1], NULL, &content, NULL);
	ux_fatbin_content_free(&content);
	return code;
}

static void lack_of_memory_is_an_error(void **state)
{
	(void)state;
	struct ux_out file = {0};
	make_three(&file);
	/* zstd has its own allocator; if it fails, it reports that the bytes are damaged. */
	assert_true(each_failed_alloc(list_and_unpack, &file, /* may_recover= */ false) > 2);
	ux_out_deinit(&file);
}

UX_SUITE(fatbin)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(entries_of_all_containers_come_in_their_order),
		UX_TEST(large_content_is_unpacked_into_the_file_for_it),
		UX_TEST(fat_binaries_in_host_programs_are_found_by_their_sections),
		UX_TEST(files_without_gpu_code_have_no_entries),
		UX_TEST(damaged_container_costs_its_rest_and_no_other),
		UX_TEST(container_of_another_version_is_passed_over),
		UX_TEST(sizes_that_lie_are_refused),
		UX_TEST(what_is_packed_twice_or_obscured_is_unsupported),
		UX_TEST(damaged_fat_binaries_are_read_cleanly),
		UX_TEST(lack_of_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
