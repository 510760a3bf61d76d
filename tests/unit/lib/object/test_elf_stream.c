/* SPDX-License-Identifier: Apache-2.0 */
/* Inflating a section in parts gives the same bytes as inflating it in one call. */
#include "sweep.h"

#include "elf_file.h"
#include "file.h"
#include "make_elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LENGTH = 70000, /* over two windows of deflate */
	LOAD_MAX = 1 << 20,
};

/* Text that compresses, but not to nothing. */
static struct ux_bytes prose(void)
{
	static uint8_t text[LENGTH];
	uint32_t seed = 1;
	for (size_t i = 0; i < LENGTH; i++) {
		seed = seed * 1103515245 + 12345;
		text[i] = i % 5000 < 4000 ? "unhex "[(seed >> 16) % 6] : (uint8_t)(seed >> 16);
	}
	return ux_bytes(text, LENGTH);
}

/* Reads all of the section in parts of `part` bytes, or returns why not. */
static enum ux_code read_in_parts(const struct ux_elf *elf, const struct ux_elf_section *section,
				  size_t part, uint8_t *to, struct ux_error *err)
{
	struct ux_section_stream *stream = NULL;
	uint64_t size = 0;
	struct ux_section_bytes stored;
	UX_TRY(ux_elf_section_bytes(elf, section, &stored, err));
	UX_TRY(ux_section_stream_open(&stored, LOAD_MAX, &stream, &size, err));
	enum ux_code code = UX_OK;
	uint64_t at = 0;
	do {
		code = ux_section_stream_read(stream, to + at, ux_min(part, size - at), err);
		at += part;
	} while (at < size && code == UX_OK);
	ux_section_stream_close(stream);
	return code;
}

static void parts_of_any_size_make_the_whole(void **state)
{
	(void)state;
	static const size_t parts[] = {1, 7, 4096, 32768, 65536, LENGTH};
	static uint8_t got[LENGTH];
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct make_elf m;
		make_elf_init(&m, bits, bits == 32);
		make_elf_packed(&m,
				(struct make_section){.name = ".debug_info", .content = prose()},
				MAKE_ZLIB, LENGTH);
		struct ux_elf elf;
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_info");
		for (size_t i = 0; i < ux_countof(parts); i++) {
			struct ux_error err = UX_ERROR_INIT;
			memset(got, 0, sizeof(got));
			assert_int_equal(read_in_parts(&elf, s, parts[i], got, &err), UX_OK);
			assert_memory_equal(got, prose().data, LENGTH);
		}
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

/* The result of the stream for an input must equal the result of the whole. */
static void same_as_whole(struct ux_bytes file, void *ctx)
{
	static uint8_t got[LOAD_MAX];
	struct ux_elf elf;
	size_t part = *(const size_t *)ctx;
	if (ux_elf_open(&elf, file, NULL) != UX_OK)
		return;
	const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_info");
	if (s && ux_elf_section_compressed(&elf, s)) {
		struct ux_content whole = {0};
		enum ux_code code = ux_elf_section_load(&elf, s, LOAD_MAX, NULL, &whole, NULL);
		enum ux_code mine = read_in_parts(&elf, s, part, got, NULL);
		if (mine != UX_EUNSUPPORTED) /* zstd */
			assert_int_equal(mine, code);
		if (mine == UX_OK)
			assert_memory_equal(got, whole.bytes.data, whole.bytes.size);
		ux_content_free(&whole);
	}
	ux_elf_close(&elf);
}

static void damage_is_what_it_is_to_the_whole(void **state)
{
	(void)state;
	size_t part = 50;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_packed(&m,
			(struct make_section){.name = ".debug_info",
					      .content = ux_bytes(prose().data, 300)},
			MAKE_ZLIB, 300);
	struct ux_bytes file = make_elf_finish(&m);
	each_prefix(file, same_as_whole, &part);
	each_bit_flip(file, same_as_whole, &part);
	each_byte_extreme(file, same_as_whole, &part);
	make_elf_deinit(&m);
}

static void header_of_another_size_is_corrupt(void **state)
{
	(void)state;
	static const struct {
		uint64_t claimed;
		const char *text;
	} cases[] = {
		{299, "inflates to more than the 299 bytes of its header"},
		{301, "inflates to less than the 301 bytes of its header"},
	};
	static uint8_t got[512];
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_elf m;
		struct ux_elf elf;
		struct ux_error err = UX_ERROR_INIT;
		make_elf_init(&m, 64, false);
		make_elf_packed(&m,
				(struct make_section){.name = ".debug_info",
						      .content = ux_bytes(prose().data, 300)},
				MAKE_ZLIB, cases[i].claimed);
		assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
		assert_int_equal(read_in_parts(&elf, ux_elf_section_find(&elf, ".debug_info"), 64,
					       got, &err),
				 UX_ECORRUPT);
		assert_string_equal(err.text, cases[i].text);
		ux_elf_close(&elf);
		make_elf_deinit(&m);
	}
}

static void streams_behind_one_header_are_one(void **state)
{
	(void)state;
	static uint8_t got[1000];
	struct ux_out out = {0};
	ux_out_u32(&out, ELFCOMPRESS_ZLIB);
	ux_out_u32(&out, 0);
	ux_out_u64(&out, sizeof(got));
	ux_out_u64(&out, 1);
	make_zlib(&out, ux_bytes(prose().data, 300));
	make_zlib(&out, ux_bytes(prose().data + 300, 1));
	make_zlib(&out, ux_bytes(prose().data + 301, 699));
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_section(&m, (struct make_section){.name = ".debug_info",
						   .flags = SHF_COMPRESSED,
						   .content = ux_out_bytes(&out)});
	struct ux_elf elf;
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_info");
	for (size_t part = 1; part <= sizeof(got); part = part * 3 + 1) {
		memset(got, 0, sizeof(got));
		assert_int_equal(read_in_parts(&elf, s, part, got, NULL), UX_OK);
		assert_memory_equal(got, prose().data, sizeof(got));
	}
	ux_elf_close(&elf);
	make_elf_deinit(&m);
	ux_out_deinit(&out);
}

static enum ux_code read_again(void *ctx)
{
	static uint8_t got[LENGTH];
	const struct ux_elf *elf = ctx;
	return read_in_parts(elf, ux_elf_section_find(elf, ".debug_info"), 1000, got, NULL);
}

static void want_of_memory_is_said(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_elf elf;
	make_elf_init(&m, 64, false);
	make_elf_packed(&m, (struct make_section){.name = ".debug_info", .content = prose()},
			MAKE_ZLIB, LENGTH);
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(each_failed_alloc(read_again, &elf, /* may_recover= */ false), 2);
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

static enum ux_code open_stream(const struct ux_elf *elf, size_t section, uint64_t max,
				struct ux_section_stream **ret, uint64_t *ret_size)
{
	struct ux_section_bytes stored;
	UX_TRY(ux_elf_section_bytes(elf, &elf->sections[section], &stored, NULL));
	return ux_section_stream_open(&stored, max, ret, ret_size, NULL);
}

static void other_sections_are_no_streams(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_elf elf;
	struct ux_section_stream *stream = NULL;
	uint64_t size = 0;
	make_elf_init(&m, 64, false);
	make_elf_section(&m, (struct make_section){.name = ".a", .content = prose()});
	make_elf_packed(&m, (struct make_section){.name = ".b", .content = prose()}, MAKE_ZSTD,
			LENGTH);
	make_elf_packed(&m, (struct make_section){.name = ".c", .content = prose()}, MAKE_ZLIB,
			LENGTH);
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	assert_int_equal(open_stream(&elf, 1, LOAD_MAX, &stream, &size), UX_EUNSUPPORTED);
	assert_int_equal(open_stream(&elf, 2, LOAD_MAX, &stream, &size), UX_EUNSUPPORTED);
	assert_int_equal(open_stream(&elf, 3, LENGTH - 1, &stream, &size), UX_ELIMIT);
	assert_null(stream);
	assert_null(ux_section_stream_close(NULL));
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

/* Returns how many bytes of a mapping are in this process's page tables. */
static size_t resident(const void *mapping)
{
	char line[512], head[40];
	size_t kib = 0;
	bool found = false;
	FILE *f = fopen("/proc/self/smaps", "r");
	assert_non_null(f);
	snprintf(head, sizeof(head), "%" PRIxPTR "-", (uintptr_t)mapping);
	while (fgets(line, sizeof(line), f)) {
		found |= strncmp(line, head, strlen(head)) == 0;
		if (found && sscanf(line, "Rss: %zu kB", &kib) == 1)
			break;
	}
	fclose(f);
	assert_true(found);
	return kib << 10;
}

static void pages_of_a_mapped_file_are_given_back_while_it_is_inflated(void **state)
{
	enum {
		BYTES = 5 << 20, /* incompressible bytes: several parts whose pages are freed
				    together */
		PART = 100000,
		LEFT_MAX = 5 << 19,
	};
	(void)state;
	uint8_t *noise = malloc(BYTES), *got = malloc(PART);
	assert_non_null(noise);
	assert_non_null(got);
	uint64_t dice = 1;
	for (size_t i = 0; i < BYTES; i++) {
		dice = dice * 6364136223846793005u + 1442695040888963407u;
		noise[i] = (uint8_t)(dice >> 56);
	}
	struct make_elf m;
	make_elf_init(&m, 64, false);
	make_elf_packed(
		&m, (struct make_section){.name = ".debug_info", .content = ux_bytes(noise, BYTES)},
		MAKE_ZLIB, BYTES);
	struct ux_bytes made = make_elf_finish(&m);
	char path[] = "/tmp/ux-elf-stream-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ux_file_write(fd, made, NULL), UX_OK);
	for (int mapped = 0; mapped < 2; mapped++) {
		struct ux_mapping file = {0};
		struct ux_elf elf;
		struct ux_section_bytes stored;
		struct ux_section_stream *stream = NULL;
		uint64_t size = 0;
		assert_int_equal(ux_file_map_fd(fd, &file, NULL), UX_OK);
		assert_int_equal(ux_elf_open(&elf, file.bytes, NULL), UX_OK);
		assert_int_equal(ux_elf_section_bytes(&elf,
						      ux_elf_section_find(&elf, ".debug_info"),
						      &stored, NULL),
				 UX_OK);
		stored.mapped = mapped;
		assert_int_equal(ux_section_stream_open(&stored, UINT64_MAX, &stream, &size, NULL),
				 UX_OK);
		for (size_t at = 0; at < size; at += PART) {
			size_t n = ux_min((size_t)PART, size - at);
			assert_int_equal(ux_section_stream_read(stream, got, n, NULL), UX_OK);
			assert_memory_equal(got, noise + at, n);
		}
		assert_int_equal(resident(file.bytes.data) > LEFT_MAX, !mapped);
		ux_section_stream_close(stream);
		ux_elf_close(&elf);
		ux_file_unmap(&file);
	}
	close(fd);
	unlink(path);
	make_elf_deinit(&m);
	free(noise);
	free(got);
}

UX_SUITE(elf_stream)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(parts_of_any_size_make_the_whole),
		UX_TEST(damage_is_what_it_is_to_the_whole),
		UX_TEST(header_of_another_size_is_corrupt),
		UX_TEST(streams_behind_one_header_are_one),
		UX_TEST(want_of_memory_is_said),
		UX_TEST(other_sections_are_no_streams),
		UX_TEST(pages_of_a_mapped_file_are_given_back_while_it_is_inflated),
	};
	return cmocka_run_group_tests_name("elf_stream", tests, NULL, NULL);
}
