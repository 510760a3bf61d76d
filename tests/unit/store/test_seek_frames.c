/* SPDX-License-Identifier: Apache-2.0 */
/* Zstandard's seekable format, and blobs whose frames are fetched. */
#include "sweep.h"

#include "blob_view.h"
#include "file.h"
#include "seek_frames.h"

#include <unistd.h>
#include <zstd.h>

enum {
	FRAMES = 64,
	CONTENT = (FRAMES - 1) * UX_SEEK_FRAME + 1000,
};

/* A content that compresses somewhat, of FRAMES frames, and its file. */
struct packed {
	uint8_t content[CONTENT];
	struct ux_mapping file;
};

static struct ux_bytes packed_content(const struct packed *p)
{
	return ux_bytes(p->content, sizeof(p->content));
}

static void packed_make(struct packed *p)
{
	uint32_t seed = 7;
	int fd = -1;
	uint64_t size = 0;
	for (size_t i = 0; i < sizeof(p->content); i++)
		p->content[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 28);
	memcpy(p->content, "MYSG", 4);
	assert_int_equal(ux_blob_pack(packed_content(p), "/tmp", &fd, &size, NULL), UX_OK);
	assert_int_equal(ux_file_map_fd(fd, &p->file, NULL), UX_OK);
	assert_int_equal(p->file.bytes.size, size);
	close(fd);
}

static struct packed packed;
static struct ux_blob_views views;

static int group_setup(void **state)
{
	(void)state;
	packed_make(&packed);
	ux_blob_views_init(&views);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	ux_file_unmap(&packed.file);
	ux_blob_views_deinit(&views);
	return 0;
}

static void the_file_is_what_any_reader_of_zstandard_reads(void **state)
{
	(void)state;
	static uint8_t out[CONTENT];
	size_t n =
		ZSTD_decompress(out, sizeof(out), packed.file.bytes.data, packed.file.bytes.size);
	assert_int_equal(n, sizeof(out));
	assert_memory_equal(out, packed.content, sizeof(out));
	assert_true(packed.file.bytes.size < CONTENT * 2 / 3);
}

static void the_table_says_where_each_frame_is(void **state)
{
	(void)state;
	struct ux_seek_table t;
	static uint8_t out[UX_SEEK_FRAME];
	const struct ux_bytes file = packed.file.bytes;
	assert_int_equal(ux_seek_table_read(file, file.size, &t, NULL), UX_OK);
	assert_int_equal(t.n, FRAMES);
	assert_int_equal(t.content[FRAMES], CONTENT);
	assert_int_equal(ux_seek_table_find(&t, 0), 0);
	assert_int_equal(ux_seek_table_find(&t, UX_SEEK_FRAME - 1), 0);
	assert_int_equal(ux_seek_table_find(&t, UX_SEEK_FRAME), 1);
	assert_int_equal(ux_seek_table_find(&t, CONTENT - 1), FRAMES - 1);
	assert_int_equal(ux_seek_table_find(&t, CONTENT), FRAMES);
	for (uint32_t i = 0; i < t.n; i++) {
		size_t n = (size_t)(t.content[i + 1] - t.content[i]);
		struct ux_bytes frame =
			ux_bytes(file.data + t.packed[i], (size_t)(t.packed[i + 1] - t.packed[i]));
		assert_int_equal(ux_seek_frame_unpack(frame, out, n, NULL), UX_OK);
		assert_memory_equal(out, packed.content + t.content[i], n);
		assert_int_equal(ux_seek_frame_unpack(frame, out, n - 1, NULL), UX_ECORRUPT);
	}
	ux_seek_table_deinit(&t);
}

static void the_tail_says_how_long_the_table_is(void **state)
{
	(void)state;
	const struct ux_bytes file = packed.file.bytes;
	struct ux_bytes tail = ux_bytes(file.data + file.size - UX_SEEK_TAIL, (size_t)UX_SEEK_TAIL);
	struct ux_seek_table t;
	assert_int_equal(ux_seek_table_bytes(tail), 8 + FRAMES * 8 + 9);
	assert_int_equal(ux_seek_table_read(tail, file.size, &t, NULL), UX_ECORRUPT);
	assert_int_equal(ux_seek_table_bytes(packed_content(&packed)), 0);
	assert_int_equal(ux_seek_table_bytes(UX_BYTES_NONE), 0);
}

/* A table with checksums, as other writers make it: XXH64 of the content. */
static void a_table_with_checksums_is_read(void **state)
{
	(void)state;
	static const uint8_t file[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x01, 0x09, 0x00, 0x00, 'x', /* a frame of "x" */
		0x5e, 0x2a, 0x4d, 0x18, 21,   0,    0,    0,               /* skippable */
		10,   0,    0,    0,    1,    0,    0,    0,    9,    9,   9, 9, /* an entry */
		1,    0,    0,    0,    0x80, 0xb1, 0xea, 0x92, 0x8f,
	};
	struct ux_seek_table t;
	uint8_t x = 0;
	const struct ux_bytes all = ux_bytes(file, sizeof(file));
	assert_int_equal(ux_seek_table_read(all, all.size, &t, NULL), UX_OK);
	assert_int_equal(t.n, 1);
	assert_int_equal(ux_seek_frame_unpack(ux_bytes(file, 10), &x, 1, NULL), UX_OK);
	assert_int_equal(x, 'x');
	ux_seek_table_deinit(&t);
}

static void a_table_that_does_not_fit_the_file_is_refused(void **state)
{
	(void)state;
	const struct ux_bytes file = packed.file.bytes;
	struct ux_seek_table t;
	assert_int_equal(ux_seek_table_read(file, file.size + 1, &t, NULL), UX_ECORRUPT);
	assert_int_equal(ux_seek_table_read(file, file.size - 1, &t, NULL), UX_ECORRUPT);
	assert_int_equal(ux_seek_table_read(file, 10, &t, NULL), UX_ECORRUPT);
}

static void a_flipped_bit_of_a_frame_is_found(void **state)
{
	(void)state;
	struct ux_seek_table t;
	static uint8_t out[UX_SEEK_FRAME], frame[2 * UX_SEEK_FRAME];
	const struct ux_bytes file = packed.file.bytes;
	assert_int_equal(ux_seek_table_read(file, file.size, &t, NULL), UX_OK);
	size_t n = (size_t)t.packed[1];
	for (size_t i = 0; i < n; i += 37) {
		memcpy(frame, file.data, n);
		frame[i] ^= (uint8_t)(1 << i % 8);
		if (ux_seek_frame_unpack(ux_bytes(frame, n), out, UX_SEEK_FRAME, NULL) == UX_OK)
			assert_memory_equal(out, packed.content, UX_SEEK_FRAME);
	}
	ux_seek_table_deinit(&t);
}

/* --- views ------------------------------------------------------------------------------------ */

static _Atomic unsigned reads; /* several at a time */
static _Atomic size_t read_bytes;
static enum ux_code read_code;

static enum ux_code read_packed(void *ctx, const struct ux_blob_hash *hash, uint64_t off,
				uint8_t *to, size_t n, struct ux_error *err)
{
	(void)ctx;
	(void)hash;
	if (read_code != UX_OK)
		return ux_error_set(err, read_code, "refused");
	assert_true(off + n <= packed.file.bytes.size);
	memcpy(to, packed.file.bytes.data + off, n);
	reads++;
	read_bytes += n;
	return UX_OK;
}

static struct ux_blob_view *view_open(uint64_t packed_max)
{
	struct ux_seek_table t;
	struct ux_blob_view *v = NULL;
	const struct ux_blob_view_options o = {
		.dir = "/tmp", .size = CONTENT, .packed_max = packed_max, .read = read_packed};
	const struct ux_bytes file = packed.file.bytes;
	reads = 0;
	read_bytes = 0;
	read_code = UX_OK;
	assert_int_equal(ux_seek_table_read(file, file.size, &t, NULL), UX_OK);
	assert_int_equal(ux_blob_view_open(&views, &v, &o, &t, NULL), UX_OK);
	return v;
}

static void assert_brought(struct ux_blob_view *v, uint64_t off, uint64_t n)
{
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	ux_blob_need(&need, off, n);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_OK);
	uint64_t left = off < CONTENT ? CONTENT - off : 0;
	assert_memory_equal(ux_blob_view_bytes(v).data + off, packed.content + off,
			    ux_min(n, left));
}

static void frames_are_fetched_when_they_are_needed_and_once(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	assert_brought(v, 10, 5);
	assert_int_equal(reads, 1);
	assert_int_equal(views.bytes, UX_SEEK_FRAME);
	assert_brought(v, 0, UX_SEEK_FRAME);
	assert_int_equal(reads, 1);
	assert_brought(v, UX_SEEK_FRAME - 1, 2); /* the second frame too */
	assert_int_equal(reads, 2);
	assert_brought(v, 2 * UX_SEEK_FRAME, 20 * UX_SEEK_FRAME); /* in one request */
	assert_int_equal(reads, 3);
	assert_memory_equal(ux_blob_view_bytes(v).data, packed.content, 22 * UX_SEEK_FRAME);
	assert_int_equal(views.bytes, 22 * UX_SEEK_FRAME);
	assert_brought(v, (FRAMES - 2) * UX_SEEK_FRAME, UINT64_MAX);
	assert_int_equal(views.bytes, 23 * UX_SEEK_FRAME + 1000);
	assert_brought(v, CONTENT, 1);
	ux_blob_view_close(v);
	assert_int_equal(views.bytes, 0);
}

static void what_several_need_is_fetched_by_few_requests(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	static const unsigned frames[] = {12, 1, 0, 1, 11, 1};
	for (size_t i = 0; i < ux_countof(frames); i++)
		ux_blob_need(&need, frames[i] * (uint64_t)UX_SEEK_FRAME, 1);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_OK);
	assert_int_equal(reads, 2); /* 0 and 1, 11 and 12 */
	assert_memory_equal(ux_blob_view_bytes(v).data, packed.content, 2 * UX_SEEK_FRAME);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_OK);
	assert_int_equal(reads, 2);
	ux_blob_view_close(v);
}

static void a_frame_between_others_costs_less_than_a_request(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	ux_blob_need(&need, 0, 1);
	ux_blob_need(&need, 2 * UX_SEEK_FRAME, 1);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_OK);
	assert_int_equal(reads, 1);
	assert_brought(v, UX_SEEK_FRAME, 1);
	assert_int_equal(reads, 1);
	/* A frame that is there is not fetched again to save a request. */
	assert_brought(v, 11 * UX_SEEK_FRAME, 1);
	ux_blob_need(&need, 10 * UX_SEEK_FRAME, 1);
	ux_blob_need(&need, 12 * UX_SEEK_FRAME, 1);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_OK);
	assert_int_equal(reads, 4);
	assert_int_equal(views.bytes, 6 * UX_SEEK_FRAME);
	ux_blob_view_close(v);
}

static void the_whole_is_fetched_if_that_is_sooner(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	ux_blob_need(&need, 0, 28 * UX_SEEK_FRAME);
	ux_blob_need(&need, 32 * UX_SEEK_FRAME, UINT64_MAX);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_ELIMIT);
	assert_int_equal(reads, 0);
	assert_int_equal(views.bytes, 0);
	ux_blob_view_close(v);
}

static void a_hot_blob_says_so_before_it_fetches_more(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(packed.file.bytes.size / 3);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	assert_brought(v, 0, 1);
	ux_blob_need(&need, 0, UINT64_MAX);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_ELIMIT);
	assert_true(read_bytes <= packed.file.bytes.size / 3);
	ux_blob_view_close(v);
}

static void count_growth(void *ctx)
{
	++*(unsigned *)ctx;
}

static void views_have_no_more_than_their_limit_together(void **state)
{
	(void)state;
	unsigned grown = 0;
	views.bytes_max = 3 * UX_SEEK_FRAME;
	views.grown = count_growth;
	views.ctx = &grown;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	assert_brought(v, 0, UX_SEEK_FRAME + 1);
	assert_int_equal(grown, 1);
	ux_blob_need(&need, 2 * UX_SEEK_FRAME, UX_SEEK_FRAME + 1);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_ELIMIT);
	assert_int_equal(views.bytes, 2 * UX_SEEK_FRAME);
	/* Parts that could not be fetched do not count. */
	read_code = UX_EUNAVAILABLE;
	ux_blob_need(&need, 2 * UX_SEEK_FRAME, 1);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_EUNAVAILABLE);
	assert_int_equal(views.bytes, 2 * UX_SEEK_FRAME);
	assert_int_equal(ux_blob_view_brought(v), 2 * UX_SEEK_FRAME);
	read_code = UX_OK;
	assert_brought(v, 2 * UX_SEEK_FRAME, 1);
	ux_blob_view_close(v);
	assert_int_equal(views.bytes, 0);
	views.bytes_max = 0;
	views.grown = NULL;
}

static void a_request_that_fails_leaves_the_frames_to_the_next(void **state)
{
	(void)state;
	struct ux_blob_view *v = view_open(UINT64_MAX);
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = v};
	read_code = UX_EUNAVAILABLE;
	ux_blob_need(&need, 0, 20 * UX_SEEK_FRAME);
	assert_int_equal(ux_blob_need_bring(&need, NULL), UX_EUNAVAILABLE);
	assert_int_equal(views.bytes, 0);
	read_code = UX_OK;
	assert_brought(v, 0, 20 * UX_SEEK_FRAME);
	ux_blob_view_close(v);
}

static void all_that_read_a_blob_share_its_view(void **state)
{
	(void)state;
	const struct ux_blob_hash other = {{1}};
	struct ux_blob_view *v = view_open(UINT64_MAX);
	assert_brought(v, 0, 1);
	struct ux_blob_view *same = view_open(UINT64_MAX); /* of a thread that came later */
	assert_ptr_equal(same, v);
	assert_ptr_equal(ux_blob_views_find(&views, &(struct ux_blob_hash){0}), v);
	assert_null(ux_blob_views_find(&views, &other));
	ux_blob_view_close(v);
	ux_blob_view_close(v);
	assert_brought(same, 0, UX_SEEK_FRAME);
	assert_int_equal(reads, 0);
	ux_blob_view_close(same);
	assert_null(ux_blob_views_find(&views, &(struct ux_blob_hash){0}));
}

static void a_blob_of_another_size_is_no_view(void **state)
{
	(void)state;
	struct ux_seek_table t;
	struct ux_blob_view *v = NULL;
	const struct ux_blob_view_options o = {.dir = "/tmp", .size = CONTENT + 1};
	const struct ux_bytes file = packed.file.bytes;
	assert_int_equal(ux_seek_table_read(file, file.size, &t, NULL), UX_OK);
	assert_int_equal(ux_blob_view_open(&views, &v, &o, &t, NULL), UX_ECORRUPT);
	assert_null(v);
}

UX_SUITE(seek_frames)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_what_any_reader_of_zstandard_reads),
		cmocka_unit_test(the_table_says_where_each_frame_is),
		cmocka_unit_test(the_tail_says_how_long_the_table_is),
		cmocka_unit_test(a_table_with_checksums_is_read),
		cmocka_unit_test(a_table_that_does_not_fit_the_file_is_refused),
		cmocka_unit_test(a_flipped_bit_of_a_frame_is_found),
		cmocka_unit_test(frames_are_fetched_when_they_are_needed_and_once),
		cmocka_unit_test(what_several_need_is_fetched_by_few_requests),
		cmocka_unit_test(a_frame_between_others_costs_less_than_a_request),
		cmocka_unit_test(the_whole_is_fetched_if_that_is_sooner),
		cmocka_unit_test(a_hot_blob_says_so_before_it_fetches_more),
		cmocka_unit_test(views_have_no_more_than_their_limit_together),
		cmocka_unit_test(a_request_that_fails_leaves_the_frames_to_the_next),
		cmocka_unit_test(all_that_read_a_blob_share_its_view),
		cmocka_unit_test(a_blob_of_another_size_is_no_view),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
