/* SPDX-License-Identifier: Apache-2.0 */
/* lib/object: the mapped files of core dumps. */
#include "sweep.h"

#include "core_file.h"
#include "make_elf.h"

#define HASH UX_STR("\x01\x23\x45\x67\x89\xab\xcd\xef")

enum {
	PAGE = 4096,
	NT_FILE = 0x46494c45
};

static void put_word(struct ux_out *out, uint64_t v, const struct make_elf *m)
{
	unsigned n = m->is64 ? 8 : 4;
	for (unsigned i = 0; i < n; i++)
		ux_out_u8(out, (uint8_t)(v >> 8 * (m->big ? n - 1 - i : i)));
}

struct mapping {
	uint64_t start, end, page;
	const char *path;
};

/* A note NT_FILE; its header claims `count` files. */
static struct ux_out file_note(const struct make_elf *m, const struct mapping *maps, size_t n,
			       uint64_t count)
{
	struct ux_out note = {0};
	put_word(&note, count, m);
	put_word(&note, PAGE, m);
	for (size_t i = 0; i < n; i++) {
		put_word(&note, maps[i].start, m);
		put_word(&note, maps[i].end, m);
		put_word(&note, maps[i].page, m);
	}
	for (size_t i = 0; i < n; i++)
		ux_out_put(&note, maps[i].path, strlen(maps[i].path) + 1);
	return note;
}

/* The first page of a program with a build ID, in the class and byte order of m. */
static void make_image(struct make_elf *image, const struct make_elf *m)
{
	make_elf_init(image, m->is64 ? 64 : 32, m->big);
	image->no_sections = true;
	uint32_t s = make_elf_note(image, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, HASH);
	make_elf_segment(image, (struct make_segment){.type = PT_NOTE, .first = s, .last = s});
}

/* A core dump with that note and one dumped page at 0x10000. */
static struct ux_bytes make_core(struct make_elf *m, struct make_elf *image, struct ux_bytes note)
{
	m->type = ET_CORE;
	uint32_t files = make_elf_note(m, "note", "CORE", NT_FILE, note);
	uint32_t page = make_elf_section(m, (struct make_section){.name = "load",
								  .content = make_elf_finish(image),
								  .addr = 0x10000});
	make_elf_segment(m, (struct make_segment){.type = PT_NOTE, .first = files, .last = files});
	make_elf_segment(m, (struct make_segment){.type = PT_LOAD, .first = page, .last = page});
	return make_elf_finish(m);
}

static const struct mapping usual[] = {
	{0x10000, 0x11000, 0, "/bin/a"}, {0x11000, 0x13000, 1, "/bin/a"},
	{0x20000, 0x21000, 0, "/lib/b"}, {0x30000, 0x31000, 5, "/lib/c"},
	{0x31000, 0x32000, 0, "/lib/c"},
};

static void files_are_listed_with_their_build_ids(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 4; v++) {
		struct make_elf m, image;
		make_elf_init(&m, (v & 1) != 0 ? 32 : 64, (v & 2) != 0);
		make_image(&image, &m);
		struct ux_out note = file_note(&m, usual, ux_countof(usual), ux_countof(usual));
		struct ux_bytes file = make_core(&m, &image, ux_out_bytes(&note));
		struct ux_elf core;
		struct ux_core_modules modules = {0};
		assert_true(ux_core_is(file));
		assert_int_equal(ux_elf_open(&core, file, NULL), UX_OK);
		assert_int_equal(ux_core_read_modules(&core, &modules, NULL), UX_OK);
		assert_int_equal(modules.size, 4);
		assert_string_equal(modules.data[0].path, "/bin/a");
		assert_int_equal(modules.data[0].start, 0x10000);
		assert_int_equal(modules.data[0].end, 0x13000);
		assert_int_equal(modules.data[0].gnu.size, HASH.size);
		assert_memory_equal(modules.data[0].gnu.bytes, HASH.data, HASH.size);
		for (size_t i = 1; i < modules.size; i++)
			assert_int_equal(modules.data[i].gnu.size, 0); /* was not dumped */
		assert_string_equal(modules.data[1].path, "/lib/b");
		ux_core_modules_deinit(&modules);
		ux_elf_close(&core);
		make_elf_deinit(&m);
		make_elf_deinit(&image);
		ux_out_deinit(&note);
	}
}

static enum ux_code read_note(struct ux_out note, struct make_elf *m, struct ux_error *err)
{
	struct make_elf image;
	make_image(&image, m);
	struct ux_elf core;
	struct ux_core_modules modules = {0};
	struct ux_bytes file = make_core(m, &image, ux_out_bytes(&note));
	assert_int_equal(ux_elf_open(&core, file, NULL), UX_OK);
	enum ux_code code = ux_core_read_modules(&core, &modules, err);
	ux_core_modules_deinit(&modules);
	ux_elf_close(&core);
	make_elf_deinit(m);
	make_elf_deinit(&image);
	ux_out_deinit(&note);
	return code;
}

static void damage_is_reported(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_error err = UX_ERROR_INIT;
	make_elf_init(&m, 64, false);
	assert_int_equal(read_note(file_note(&m, usual, 2, 3), &m, &err), UX_ECORRUPT);
	make_elf_init(&m, 64, false);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(read_note(file_note(&m, usual, 2, UINT64_MAX / 24), &m, &err),
			 UX_ECORRUPT);
	assert_non_null(strstr(err.text, "mappings in a note of"));
	struct ux_out empty = {0};
	make_elf_init(&m, 64, false);
	assert_int_equal(read_note(empty, &m, NULL), UX_ECORRUPT);
}

static void too_many_files_are_refused(void **state)
{
	(void)state;
	size_t n = UX_CORE_MODULES_MAX + 1;
	struct mapping *maps = test_calloc(n, sizeof(*maps));
	for (size_t i = 0; i < n; i++)
		maps[i] = (struct mapping){0x10000 + i, 0x10001 + i, 0, "x"};
	struct make_elf m;
	make_elf_init(&m, 64, false);
	assert_int_equal(read_note(file_note(&m, maps, n - 1, n - 1), &m, NULL), UX_OK);
	make_elf_init(&m, 64, false);
	assert_int_equal(read_note(file_note(&m, maps, n, n), &m, NULL), UX_ELIMIT);
	test_free(maps);
}

static void other_files_are_none(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_elf elf;
	struct ux_core_modules modules = {0};
	make_elf_init(&m, 64, false);
	struct ux_bytes file = make_elf_finish(&m);
	assert_false(ux_core_is(file));
	assert_false(ux_core_is(UX_STR("\177ELF")));
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(ux_core_read_modules(&elf, &modules, NULL), UX_ENOTFOUND);
	ux_elf_close(&elf);
	make_elf_deinit(&m);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* A core dump with a thread's status for each size, of that many bytes. */
static struct ux_bytes make_threads(struct make_elf *m, uint16_t machine, const size_t *sizes,
				    size_t n)
{
	bool is64 = machine != EM_386 && machine != EM_ARM;
	make_elf_init(m, is64 ? 64 : 32, m->big);
	m->type = ET_CORE;
	m->machine = machine;
	for (size_t i = 0; i < n; i++) {
		struct make_elf words = {.big = m->big, .is64 = true};
		struct ux_out status = {0};
		/* The 8 bytes at 32 begin with the thread's number; in 32 bits, the bytes at 24. */
		for (size_t k = is64 ? 0 : 1; k < sizes[i] / 8 + (is64 ? 0 : 1); k++)
			put_word(&status, m->big ? (uint64_t)(k + i) << 32 | k : k << 32 | (k + i),
				 &words);
		uint32_t s = make_elf_note(m, "status", "CORE", 1, ux_out_bytes(&status));
		make_elf_segment(m, (struct make_segment){.type = PT_NOTE, .first = s, .last = s});
		ux_out_deinit(&status);
	}
	return make_elf_finish(m);
}

static enum ux_code read_threads(struct ux_bytes file, struct ux_core_threads *ret,
				 struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	return ux_core_read_threads(&elf, ret, err);
}

static void threads_have_their_registers(void **state)
{
	(void)state;
	static const struct {
		uint16_t machine;
		size_t size, registers;
	} machines[] = {{EM_X86_64, 336, 27 * 8},
			{EM_AARCH64, 392, 34 * 8},
			{EM_386, 144, 17 * 4},
			{EM_ARM, 152, 18 * 4}};
	for (size_t i = 0; i < ux_countof(machines); i++)
		for (unsigned big = 0; big < 2; big++) {
			struct make_elf m = {.big = big};
			struct ux_core_threads threads = {0};
			const size_t sizes[] = {machines[i].size, machines[i].size};
			struct ux_bytes file = make_threads(&m, machines[i].machine, sizes, 2);
			assert_int_equal(read_threads(file, &threads, NULL), UX_OK);
			assert_int_equal(threads.size, 2);
			assert_int_equal(threads.data[0].tid, 4);
			assert_int_equal(threads.data[1].tid, 5);
			assert_int_equal(threads.data[1].registers.size, machines[i].registers);
			ux_core_threads_deinit(&threads);
			make_elf_deinit(&m);
		}
}

static void what_is_no_status_of_a_thread_is_said(void **state)
{
	(void)state;
	for (size_t size = 0; size < 112 + 27 * 8; size += 8) {
		struct make_elf m = {0};
		struct ux_core_threads threads = {0};
		struct ux_error err = UX_ERROR_INIT;
		struct ux_bytes file = make_threads(&m, EM_X86_64, &size, 1);
		assert_int_equal(read_threads(file, &threads, &err), UX_ECORRUPT);
		assert_string_equal(err.section, "NT_PRSTATUS");
		ux_core_threads_deinit(&threads);
		make_elf_deinit(&m);
	}
	const size_t whole = 336;
	struct make_elf m = {0};
	struct ux_core_threads threads = {0};
	assert_int_equal(read_threads(make_threads(&m, EM_S390, &whole, 1), &threads, NULL),
			 UX_ENOTFOUND);
	make_elf_deinit(&m);
	for (size_t size = 0; size < 72 + 17 * 4; size += 8) {
		m = (struct make_elf){0};
		assert_int_equal(read_threads(make_threads(&m, EM_386, &size, 1), &threads, NULL),
				 UX_ECORRUPT);
		make_elf_deinit(&m);
	}
	m = (struct make_elf){0};
	assert_int_equal(read_threads(make_threads(&m, EM_X86_64, &whole, 0), &threads, NULL),
			 UX_ENOTFOUND);
	make_elf_deinit(&m);
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Returns the address of the vDSO in a core dump with this auxiliary vector; 0: not dumped. */
static uint64_t vdso_of(unsigned bits, bool big, const uint64_t *words, size_t n)
{
	struct make_elf m;
	struct ux_elf core;
	struct ux_out auxv = {0};
	uint64_t start = 0;
	make_elf_init(&m, bits, big);
	m.type = ET_CORE;
	for (size_t i = 0; i < n; i++)
		put_word(&auxv, words[i], &m);
	uint32_t note = make_elf_note(&m, "auxv", "CORE", 6, ux_out_bytes(&auxv));
	uint32_t page = make_elf_section(
		&m, (struct make_section){.name = "load", .content = HASH, .addr = 0x10000});
	make_elf_segment(&m, (struct make_segment){.type = PT_NOTE, .first = note, .last = note});
	make_elf_segment(&m, (struct make_segment){.type = PT_LOAD, .first = page, .last = page});
	assert_int_equal(ux_elf_open(&core, make_elf_finish(&m), NULL), UX_OK);
	struct ux_bytes image = ux_core_vdso(&core, &start);
	if (image.size > 0)
		assert_true(ux_bytes_eq(image, HASH));
	ux_elf_close(&core);
	make_elf_deinit(&m);
	ux_out_deinit(&auxv);
	return image.size > 0 ? start : 0;
}

static void the_vdso_is_found_by_the_auxiliary_vector(void **state)
{
	(void)state;
	static const uint64_t here[] = {6, 4096, 33, 0x10000, 0, 0};
	static const uint64_t there[] = {33, 0x20000, 0, 0}, none[] = {6, 4096, 0, 0};
	for (unsigned v = 0; v < 4; v++) {
		unsigned bits = (v & 1) != 0 ? 32 : 64;
		bool big = (v & 2) != 0;
		assert_int_equal(vdso_of(bits, big, here, 6), 0x10000);
		assert_int_equal(vdso_of(bits, big, there, 4), 0);
		assert_int_equal(vdso_of(bits, big, none, 4), 0);
		assert_int_equal(vdso_of(bits, big, here, 3), 0); /* cut */
	}
}

UX_SUITE(core_file)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_listed_with_their_build_ids),
		cmocka_unit_test(damage_is_reported),
		cmocka_unit_test(too_many_files_are_refused),
		cmocka_unit_test(other_files_are_none),
		UX_TEST(threads_have_their_registers),
		UX_TEST(what_is_no_status_of_a_thread_is_said),
		UX_TEST(the_vdso_is_found_by_the_auxiliary_vector),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
