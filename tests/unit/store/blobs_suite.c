/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of blobs, and a store over it. */
#include "sweep.h"

#include "blobs_suite.h"
#include "index_suite.h"

void blobs_put(struct ux_blobs *b, const char *uid, const char *text)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 99;
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, ux_bytes_cstr(text), NULL), UX_OK);
	if (b->part_keep)
		assert_int_equal(b->part_keep(part, NULL), UX_OK);
	b->part_close(part);
}

struct ux_blob_hash blobs_commit(struct ux_blobs *b, const char *uid)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	struct ux_mapping m = {0};
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_map(part, &m, NULL), UX_OK);
	assert_int_equal(m.bytes.size, size);
	struct ux_blob_hash hash = ux_blob_hash_of(m.bytes);
	assert_int_equal(b->part_commit(part, &hash, NULL), UX_OK);
	b->part_close(part);
	struct ux_blob_hash after = ux_blob_hash_of(m.bytes); /* still readable */
	assert_memory_equal(&after, &hash, sizeof(hash));
	ux_file_unmap(&m);
	return hash;
}

void assert_blob(struct ux_blobs *b, const struct ux_blob_hash *hash, const char *text)
{
	struct ux_mapping m = {0};
	assert_int_equal(ux_blobs_map(b, hash, strlen(text), &m, NULL), UX_OK);
	assert_true(ux_bytes_eq(m.bytes, ux_bytes_cstr(text)));
	ux_file_unmap(&m);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_blobs_map(b, hash, strlen(text) + 1, &m, &err), UX_EIO);
	assert_non_null(strstr(err.text, "bytes; expected"));
}

static enum ux_code count_one(void *ctx, const char *name, int64_t age_s, struct ux_error *err)
{
	(void)err;
	assert_true(strlen(name) == 64 || strlen(name) == 32);
	assert_true(age_s >= 0 && age_s < 60);
	++*(unsigned *)ctx;
	return UX_OK;
}

unsigned blobs_count(struct ux_blobs *b)
{
	unsigned n = 0;
	assert_int_equal(b->each_blob(b, count_one, &n, NULL), UX_OK);
	return n;
}

unsigned blobs_count_parts(struct ux_blobs *b)
{
	unsigned n = 0;
	assert_int_equal(b->each_part(b, count_one, &n, NULL), UX_OK);
	return n;
}

void blobs_conform(struct ux_blobs *b)
{
	uint64_t size = 9;
	struct ux_blob_part *part = NULL, *other = NULL;
	assert_int_equal(b->part_size(b, blobs_uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 0);
	blobs_put(b, blobs_uid_a, "hello ");
	blobs_put(b, blobs_uid_a, "world"); /* a second writer goes on at the end */
	assert_int_equal(b->part_size(b, blobs_uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 11);
	assert_int_equal(blobs_count_parts(b), 1);
	assert_int_equal(blobs_count(b), 0);

	assert_int_equal(b->part_open(b, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_open(b, blobs_uid_a, &other, &size, NULL), UX_ECONFLICT);
	b->part_close(part);

	struct ux_blob_hash hash = blobs_commit(b, blobs_uid_a);
	assert_blob(b, &hash, "hello world");
	assert_int_equal(blobs_count_parts(b), 0);
	assert_int_equal(blobs_count(b), 1);
	blobs_put(b, blobs_uid_b, "hello world"); /* the same again is success */
	blobs_commit(b, blobs_uid_b);
	assert_int_equal(blobs_count_parts(b), 0);
	assert_int_equal(blobs_count(b), 1);
	assert_blob(b, &hash, "hello world");

	assert_int_equal(b->part_open(b, blobs_uid_b, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, UX_STR("wrong"), NULL), UX_OK);
	assert_int_equal(b->part_reset(part, NULL), UX_OK);
	assert_int_equal(b->part_write(part, UX_STR("right"), NULL), UX_OK);
	b->part_close(part);
	hash = blobs_commit(b, blobs_uid_b);
	assert_blob(b, &hash, "right");

	assert_int_equal(b->remove(b, &hash, NULL), UX_OK);
	assert_int_equal(b->remove(b, &hash, NULL), UX_OK);
	int fd = -1;
	assert_int_equal(b->open(b, &hash, &fd, &size, NULL), UX_ENOTFOUND);
	blobs_put(b, blobs_uid_a, "x");
	assert_int_equal(b->part_remove(b, blobs_uid_a, NULL), UX_OK);
	assert_int_equal(b->part_remove(b, blobs_uid_a, NULL), UX_OK);
	assert_int_equal(blobs_count_parts(b), 0);
	const char *const bad[] = {"", "x", "../../../../../../../../etc/pass",
				   "0123456789ABCDEF0123456789abcdef"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_int_equal(b->part_open(b, bad[i], &part, &size, NULL), UX_EINVAL);
}

void store_conforms(const struct ux_store_place *place)
{
	struct ux_store s;
	struct ux_add_result r;
	struct ux_sweep sw;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_store_open_at(&s, place, &err) != UX_OK)
		fail_msg("%s", err.text);
	blobs_put(s.blobs, blobs_uid_a, "used");
	struct ux_candidate c = index_candidate(0, UX_QUALITY_LINES, 1);
	c.blob = blobs_commit(s.blobs, blobs_uid_a);
	const char *ids[] = {"gnu:s"};
	assert_int_equal(index_add(s.index, ids, 1, c, false, &r), UX_OK);
	blobs_put(s.blobs, blobs_uid_b, "garbage");
	blobs_commit(s.blobs, blobs_uid_b);
	blobs_put(s.blobs, blobs_uid_b, "part");
	assert_int_equal(ux_store_sweep(&s, 3600, 2100, false, &sw, NULL), UX_OK);
	assert_true(sw.blobs == 0 && sw.parts == 0 && sw.uploads == 0);
	assert_int_equal(blobs_count(s.blobs), 2);
	assert_int_equal(ux_store_sweep(&s, 0, 2001, true, &sw, NULL), UX_OK);
	assert_true(sw.blobs == 1 && sw.parts == 1 && sw.uploads == 0);
	assert_int_equal(blobs_count(s.blobs), 2);
	assert_int_equal(ux_store_sweep(&s, 0, 2001, false, &sw, NULL), UX_OK);
	assert_int_equal(sw.blobs, 1);
	assert_int_equal(sw.parts, 1);
	assert_int_equal(sw.uploads, 1);
	assert_blob(s.blobs, &c.blob, "used");
	assert_int_equal(blobs_count(s.blobs), 1);
	ux_store_close(&s);
}
