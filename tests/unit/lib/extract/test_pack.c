/* SPDX-License-Identifier: Apache-2.0 */
/* lib/extract/pack: chooses the version of GSYM for a module; both versions have the same content.
 */
#include "test_extract.h"

#include "elf_defs.h"
#include "gsym_inspect.h"
#include "module_build.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	BUDGET = 1 << 20,
	FUNCTIONS = 600, /* more than two jobs of a thread */
	FEW = 40         /* they are sorted without memory, so a lack of it must not matter */
};

/* n functions of 4 bytes, every second with an inlined call; returns the file. */
static struct ux_bytes made_functions(struct made *m, unsigned n, struct ux_bytes build_id)
{
	made_init(m);
	if (build_id.size > 0)
		make_elf_note(&m->elf, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, build_id);
	add_abbrevs(m);
	uint64_t lines = begin_lines(m);
	make_set_address(&m->dwarf, TEXT_AT);
	for (unsigned i = 0; i < n; i++)
		make_row(&m->dwarf, i ? 4 : 0, i % 3);
	make_end_sequence(&m->dwarf, 4);
	make_lines_end(&m->dwarf);
	begin_unit(m, lines);
	uint64_t callee = MAKE_DIE(&m->dwarf, ABSTRACT, T("callee"));
	for (unsigned i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%u", i);
		MAKE_DIE(&m->dwarf, FUNCTION, T(name), N(TEXT_AT + 4 * i), N(4));
		if (i % 2) {
			MAKE_DIE(&m->dwarf, INLINE, N(callee), N(TEXT_AT + 4 * i + 1), N(2), N(2),
				 N(i));
			make_null(&m->dwarf);
		}
		make_null(&m->dwarf);
	}
	end_unit(m);
	return made_file(m);
}

static struct ux_bytes made_module(struct made *m, struct ux_bytes build_id)
{
	return made_functions(m, FUNCTIONS, build_id);
}

static enum ux_code extract_as(struct made *m, struct ux_bytes file,
			       struct ux_extract_options options, struct ux_error *err)
{
	ux_out_reset(&m->gsym);
	enum ux_code code =
		ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m->gsym, &m->stats, err);
	if (code != UX_OK)
		return code;
	struct ux_gsym_notes notes;
	assert_int_equal(ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL), UX_OK);
	assert_int_equal(ux_gsym_verify(&m->reader, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	assert_int_equal(m->stats.gsym_bytes, m->gsym.size);
	return UX_OK;
}

/* A file that may be written at any place. */
struct places {
	struct ux_out *front; /* the sink's bytes */
	pthread_mutex_t lock;
	uint8_t bytes[1 << 20];
	uint64_t first, end; /* of the placed part */
	size_t calls;
	size_t calls_max; /* then it fails */
};

static enum ux_code to_front(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	return collect_gsym(((struct places *)ctx)->front, bytes, err);
}

static enum ux_code to_place(void *ctx, uint64_t off, struct ux_bytes bytes, struct ux_error *err)
{
	struct places *p = ctx;
	enum ux_code code = UX_OK;
	pthread_mutex_lock(&p->lock);
	if (p->calls++ == p->calls_max)
		code = ux_error_set(err, UX_EIO, "no room at 0x%" PRIx64, off);
	assert_true(off + bytes.size <= sizeof(p->bytes));
	memcpy(p->bytes + off, bytes.data, bytes.size);
	p->first = ux_min(p->first, off);
	p->end = ux_max(p->end, off + bytes.size);
	pthread_mutex_unlock(&p->lock);
	return code;
}

static void records_put_where_they_belong_make_the_same_file(void **state)
{
	(void)state;
	ux_cleanup(made_deinit) struct made m = {0};
	ux_cleanup(ux_out_deinit) struct ux_out other = {0};
	struct ux_extract_stats stats;
	struct ux_bytes file = made_module(&m, UX_STR("0123456789"));
	assert_int_equal(extract_as(&m, file, (struct ux_extract_options){.threads = 1}, NULL),
			 UX_OK);
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct places *p = calloc(1, sizeof(*p));
		pthread_mutex_init(&p->lock, NULL);
		p->front = &other;
		p->first = p->calls_max = SIZE_MAX;
		struct ux_extract_options how = {.threads = threads, .place = to_place};
		ux_out_reset(&other);
		assert_int_equal(ux_extract(file, UX_BYTES_NONE, &how, to_front, p, &stats, NULL),
				 UX_OK);
		assert_int_equal(p->first, other.size);
		assert_int_equal(p->end, m.gsym.size);
		assert_int_equal(stats.gsym_bytes, m.gsym.size);
		ux_out_put(&other, p->bytes + p->first, (size_t)(p->end - p->first));
		assert_memory_equal(other.data, m.gsym.data, m.gsym.size);
		pthread_mutex_destroy(&p->lock);
		free(p);
	}
}

static void place_that_takes_nothing_ends_it(void **state)
{
	(void)state;
	ux_cleanup(made_deinit) struct made m = {0};
	struct ux_bytes file = made_module(&m, UX_BYTES_NONE);
	struct places *p = calloc(1, sizeof(*p));
	pthread_mutex_init(&p->lock, NULL);
	p->front = &m.gsym;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_extract_options how = {.threads = 4, .place = to_place};
	assert_int_equal(ux_extract(file, UX_BYTES_NONE, &how, to_front, p, &m.stats, &err),
			 UX_EIO);
	assert_non_null(strstr(err.text, "no room at"));
	assert_int_equal(m.gsym.size, 0);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Dumps everything in the file except its version; "gsym 1" begins the first line. */
static void dump(const struct made *m, struct ux_out *out)
{
	assert_int_equal(ux_gsym_dump(&m->reader, BUDGET, collect_gsym, out, NULL), UX_OK);
	assert_int_equal(out->data[5], '0' + m->reader.version);
	out->data[5] = '?';
}

static void assert_same_content(struct made *m, const struct ux_out *want)
{
	ux_cleanup(ux_out_deinit) struct ux_out got = {0};
	dump(m, &got);
	assert_int_equal(got.size, want->size);
	assert_memory_equal(got.data, want->data, want->size);
}

enum {
	RELEASED = 5
};

static void count_release(void *ctx, size_t part)
{
	atomic_uint *counts = ctx;
	assert_true(part < RELEASED);
	atomic_fetch_add(&counts[part], 1);
}

static void several_threads_release_each_part_once(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		ux_cleanup(ux_out_deinit) struct ux_out gsym = {0};
		ux_cleanup(ux_module_build_deinit) struct ux_module_build build;
		struct ux_extract_options options = {.threads = threads};
		struct ux_extract_stats stats;
		atomic_uint counts[RELEASED] = {0};
		ux_module_build_init(&build, &options);
		assert_true(ux_code_symbol_vec_append(
			&build.symbols,
			(struct ux_code_symbol){
				.start = TEXT_AT, .size = 4, .name = "f", .name_size = 1}));
		build.release = (struct ux_release){count_release, counts, 0, RELEASED};
		assert_int_equal(ux_module_build_write(&build, collect_gsym, &gsym, &stats, NULL),
				 UX_OK);
		assert_int_equal(stats.counts.functions, 1);
		for (size_t i = 0; i < RELEASED; i++)
			assert_int_equal(counts[i], threads > 1);
	}
}

static void version_2_on_request_says_what_1_says(void **state)
{
	(void)state;
	struct made m;
	ux_cleanup(ux_out_deinit) struct ux_out want = {0};
	struct ux_bytes file = made_module(&m, UX_STR("twenty bytes of hash"));
	assert_int_equal(extract_as(&m, file, (struct ux_extract_options){.threads = 1}, NULL),
			 UX_OK);
	assert_int_equal(m.reader.version, 1);
	dump(&m, &want);
	struct ux_extract_options two = {.threads = 1, .gsym_version = 2};
	assert_int_equal(extract_as(&m, file, two, NULL), UX_OK);
	assert_int_equal(m.reader.version, 2);
	assert_string_equal(at(&m, TEXT_AT + 5), "callee a.cc:2 < f1 b.h:1");
	assert_same_content(&m, &want);
	made_deinit(&m);
}

static void one_byte_too_many_for_version_1_gives_2_at_any_thread_count(void **state)
{
	(void)state;
	static const unsigned threads[] = {1, 2, 8};
	struct made m;
	ux_cleanup(ux_out_deinit) struct ux_out want = {0}, first = {0};
	struct ux_bytes file = made_module(&m, UX_BYTES_NONE);
	assert_int_equal(extract_as(&m, file, (struct ux_extract_options){.threads = 1}, NULL),
			 UX_OK);
	uint64_t size = m.gsym.size;
	dump(&m, &want);
	for (size_t i = 0; i < ux_countof(threads); i++) {
		struct ux_extract_options how = {.threads = threads[i], .gsym1_max = size};
		assert_int_equal(extract_as(&m, file, how, NULL), UX_OK);
		assert_int_equal(m.reader.version, 1);
		assert_int_equal(m.gsym.size, size);
		how.gsym1_max--;
		assert_int_equal(extract_as(&m, file, how, NULL), UX_OK);
		assert_int_equal(m.reader.version, 2);
		assert_same_content(&m, &want);
		if (i == 0)
			ux_out_put(&first, m.gsym.data, m.gsym.size);
		assert_int_equal(m.gsym.size, first.size);
		assert_memory_equal(m.gsym.data, first.data, first.size);
	}
	made_deinit(&m);
}

/* As with over 4 GiB of names; here 100 bytes stand for them. */
static void strings_that_32_bits_do_not_reach_are_numbered_in_steps(void **state)
{
	(void)state;
	struct made m;
	ux_cleanup(ux_out_deinit) struct ux_out want = {0};
	struct ux_bytes file = made_module(&m, UX_BYTES_NONE);
	assert_int_equal(extract_as(&m, file, (struct ux_extract_options){.threads = 2}, NULL),
			 UX_OK);
	dump(&m, &want);
	size_t strings = m.reader.strings.size;
	struct ux_extract_options how = {.threads = 2, .gsym1_max = 100};
	assert_int_equal(extract_as(&m, file, how, NULL), UX_OK);
	assert_int_equal(m.reader.version, 2);
	assert_true(m.reader.strings.size > 2 * strings);
	assert_int_equal(ux_gsym_record(&m.reader, 0), 0);
	assert_same_content(&m, &want);
	made_deinit(&m);
}

static void version_1_that_cannot_hold_it_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"GSYM 1 is limited to 4 GiB; ",
					    "names and paths exceed 100 bytes"};
	static const uint64_t max[] = {10000, 100};
	struct made m;
	struct ux_bytes file = made_module(&m, UX_BYTES_NONE);
	for (size_t i = 0; i < ux_countof(max); i++) {
		struct ux_error err = UX_ERROR_INIT;
		struct ux_extract_options how = {
			.threads = 1, .gsym_version = 1, .gsym1_max = max[i]};
		assert_int_equal(extract_as(&m, file, how, &err), UX_ELIMIT);
		assert_memory_equal(err.text, texts[i], strlen(texts[i]));
		assert_int_equal(m.gsym.size, 0);
	}
	made_deinit(&m);
}

static void build_id_of_over_20_bytes_takes_version_2(void **state)
{
	(void)state;
	const struct ux_bytes ids[] = {UX_STR("twenty bytes of hash"),
				       UX_STR("twenty-one bytes, see"),
				       UX_STR("thirty-two bytes as SHA-256 has.")};
	for (size_t i = 0; i < ux_countof(ids); i++) {
		struct made m;
		struct ux_error err = UX_ERROR_INIT;
		struct ux_extract_options how = {.threads = 1};
		struct ux_bytes file = made_module(&m, ids[i]);
		assert_int_equal(extract_as(&m, file, how, NULL), UX_OK);
		assert_int_equal(m.reader.version, i == 0 ? 1 : 2);
		assert_true(ux_bytes_eq(m.reader.uuid, ids[i]));
		how.gsym_version = 1;
		assert_int_equal(extract_as(&m, file, how, &err), i == 0 ? UX_OK : UX_ELIMIT);
		if (i == 2)
			assert_string_equal(err.text, "build ID has 32 bytes, GSYM 1 holds 20");
		made_deinit(&m);
	}
}

/* The context of extract_2(). */
struct file_of {
	struct made *m;
	struct ux_bytes file;
};

static enum ux_code extract_2(void *ctx)
{
	struct file_of *f = ctx;
	struct ux_extract_options how = {.threads = 1, .gsym1_max = 100, .alternatives = true};
	ux_out_deinit(&f->m->gsym);
	return ux_extract(f->file, UX_BYTES_NONE, &how, collect_gsym, &f->m->gsym, &f->m->stats,
			  NULL);
}

static void each_failed_allocation_of_version_2_is_reported(void **state)
{
	(void)state;
	struct made m;
	struct file_of f = {.m = &m, .file = made_functions(&m, FEW, UX_BYTES_NONE)};
	assert_true(each_failed_alloc(extract_2, &f, /* may_recover= */ false) > 20);
	made_deinit(&m);
}

UX_SUITE(pack)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(records_put_where_they_belong_make_the_same_file),
		UX_TEST(place_that_takes_nothing_ends_it),
		UX_TEST(several_threads_release_each_part_once),
		UX_TEST(version_2_on_request_says_what_1_says),
		UX_TEST(one_byte_too_many_for_version_1_gives_2_at_any_thread_count),
		UX_TEST(strings_that_32_bits_do_not_reach_are_numbered_in_steps),
		UX_TEST(version_1_that_cannot_hold_it_is_refused),
		UX_TEST(build_id_of_over_20_bytes_takes_version_2),
		UX_TEST(each_failed_allocation_of_version_2_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
