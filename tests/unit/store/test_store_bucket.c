/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: blobs in a bucket, with the index in a file or in PostgreSQL. tests/e2e/test_s3.py starts
 * the servers and runs this: UNHEX_TEST_S3_ENDPOINT, UNHEX_TEST_S3_BUCKET, and UNHEX_TEST_POSTGRES,
 * which may be absent.
 */
#include "sweep.h"

#include "blob_cache.h"
#include "blobs_suite.h"
#include "index_suite.h"
#include "s3_client.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
	LARGE = UX_S3_PART_BYTES + (5 << 20) + 7,
	SEGMENT = 6 << 20,
};

/* A node: a bucket's prefix, and a folder. */
struct node {
	char folder[64];
	char place[256];
	struct ux_s3_options bucket;
};

static void node_make(struct node *n, const char *prefix)
{
	*n = (struct node){0};
	snprintf(n->folder, sizeof(n->folder), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(n->folder));
	snprintf(n->place, sizeof(n->place), "%s/%s", getenv("UNHEX_TEST_S3_BUCKET"), prefix);
	n->bucket = (struct ux_s3_options){.place = n->place,
					   .endpoint = getenv("UNHEX_TEST_S3_ENDPOINT")};
}

static void node_remove(struct node *n)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -rf %s", n->folder);
	assert_int_equal(system(command), 0);
}

static struct ux_blobs *node_open(const struct node *n, uint64_t cache_bytes)
{
	struct ux_blobs *b = NULL;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_blobs_s3_open(&b, &n->bucket, n->folder, cache_bytes, &err) != UX_OK)
		fail_msg("%s", err.text);
	return b;
}

static void blobs_in_a_bucket_conform(void **state)
{
	(void)state;
	struct node n;
	node_make(&n, "conform");
	struct ux_blobs *b = node_open(&n, 0);
	blobs_conform(b);
	b->close(b);
	node_remove(&n);
}

static void store_place_of(const struct node *n, struct ux_store_place *ret)
{
	*ret = (struct ux_store_place){.dir = n->folder,
				       .blobs = n->place,
				       .s3_endpoint = n->bucket.endpoint,
				       .node = "only"};
}

static void a_store_with_an_index_in_a_file_conforms(void **state)
{
	(void)state;
	struct node n;
	struct ux_store_place place;
	node_make(&n, "sqlite");
	store_place_of(&n, &place);
	store_conforms(&place);
	node_remove(&n);
}

static void a_store_with_an_index_in_postgresql_conforms(void **state)
{
	(void)state;
	struct node n;
	struct ux_store_place place;
	node_make(&n, "postgres");
	store_place_of(&n, &place);
	place.index = getenv("UNHEX_TEST_POSTGRES");
	assert_non_null(place.index);
	store_conforms(&place);
	node_remove(&n);
}

static void an_index_is_not_opened_with_blobs_of_another_place(void **state)
{
	(void)state;
	struct node n;
	struct ux_store s;
	struct ux_store_place place;
	struct ux_error err = UX_ERROR_INIT;
	char other[300];
	node_make(&n, "here");
	store_place_of(&n, &place);
	assert_int_equal(ux_store_open_at(&s, &place, NULL), UX_OK);
	ux_store_close(&s);
	snprintf(other, sizeof(other), "%s-there", n.place);
	place.blobs = other;
	assert_int_equal(ux_store_open_at(&s, &place, &err), UX_ECONFLICT);
	assert_non_null(strstr(err.text, "in a different bucket"));
	place.blobs = NULL;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_store_open_at(&s, &place, &err), UX_ECONFLICT);
	assert_non_null(strstr(err.text, "a bucket, which the setting blobs names"));
	snprintf(other, sizeof(other), "%s//", n.place);
	place.blobs = other;
	assert_int_equal(ux_store_open_at(&s, &place, NULL), UX_OK);
	ux_store_close(&s);
	node_remove(&n);
}

static void an_upload_goes_on_and_ends_at_other_nodes(void **state)
{
	(void)state;
	struct node one, two, three;
	uint64_t size = 0;
	node_make(&one, "moves");
	node_make(&two, "moves");
	node_make(&three, "moves");
	struct ux_blobs *a = node_open(&one, 0), *b = node_open(&two, 0), *c = node_open(&three, 0);
	blobs_put(a, blobs_uid_a, "one ");
	assert_int_equal(b->part_size(b, blobs_uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 4);
	blobs_put(b, blobs_uid_a, "two ");
	blobs_put(a, blobs_uid_a, "three"); /* a node that has the beginning fetches the rest */
	struct ux_blob_hash hash = blobs_commit(c, blobs_uid_a);
	assert_blob(a, &hash, "one two three");
	assert_blob(b, &hash, "one two three");
	assert_int_equal(blobs_count_parts(a), 0);
	a->close(a);
	b->close(b);
	c->close(c);
	node_remove(&one);
	node_remove(&two);
	node_remove(&three);
}

static void bytes_that_were_not_kept_are_no_part_of_the_upload_elsewhere(void **state)
{
	(void)state;
	struct node one, two;
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	node_make(&one, "kept");
	node_make(&two, "kept");
	struct ux_blobs *a = node_open(&one, 0), *b = node_open(&two, 0);
	blobs_put(a, blobs_uid_a, "kept");
	assert_int_equal(a->part_open(a, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(a->part_write(part, UX_STR(" lost"), NULL), UX_OK);
	a->part_close(part); /* the node ends before the request does */
	assert_int_equal(b->part_open(b, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(size, 4);
	b->part_close(part);
	/* The node that has them continues after them, and then all have them. */
	assert_int_equal(a->part_open(a, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(size, 9);
	assert_int_equal(a->part_keep(part, NULL), UX_OK);
	a->part_close(part);
	assert_int_equal(b->part_size(b, blobs_uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 9);
	assert_int_equal(a->part_remove(a, blobs_uid_a, NULL), UX_OK);
	assert_int_equal(b->part_size(b, blobs_uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 0);
	a->close(a);
	b->close(b);
	node_remove(&one);
	node_remove(&two);
}

static struct ux_blob_hash put_filled(struct ux_blobs *b, char c, size_t n)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	char *text = malloc(n);
	assert_non_null(text);
	memset(text, c, n);
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes(text, n));
	assert_int_equal(b->part_open(b, blobs_uid_b, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, ux_bytes(text, n), NULL), UX_OK);
	assert_int_equal(b->part_sync(part, &hash, NULL), UX_OK);
	assert_int_equal(b->part_commit(part, &hash, NULL), UX_OK);
	b->part_close(part);
	free(text);
	return hash;
}

static void a_large_blob_is_written_in_parts(void **state)
{
	(void)state;
	struct node one, two;
	int fd = -1;
	node_make(&one, "large");
	node_make(&two, "large");
	struct ux_blobs *a = node_open(&one, 0), *b = node_open(&two, 0);
	struct ux_blob_hash hash = put_filled(a, 'L', LARGE);
	assert_int_equal(ux_blobs_open(b, &hash, LARGE, &fd, NULL), UX_OK);
	close(fd);
	a->close(a);
	b->close(b);
	node_remove(&one);
	node_remove(&two);
}

/* Writes two segments that are large enough to be joined. Returns the hash of all. */
static struct ux_blob_hash put_segments(struct ux_blobs *b)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	char *text = malloc(2 * SEGMENT);
	assert_non_null(text);
	memset(text, 'a', SEGMENT);
	memset(text + SEGMENT, 'b', SEGMENT);
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes(text, 2 * SEGMENT));
	assert_int_equal(b->part_open(b, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(size, 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(b->part_write(part, ux_bytes(text + i * SEGMENT, SEGMENT), NULL),
				 UX_OK);
		assert_int_equal(b->part_keep(part, NULL), UX_OK);
	}
	b->part_close(part);
	free(text);
	return hash;
}

static enum ux_code count_object(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	unsigned *n = ctx;
	(void)err;
	(void)object;
	++*n;
	return UX_OK;
}

/* Returns the number of all objects of uploads. */
static unsigned upload_objects(const struct node *n)
{
	struct ux_s3 *s3 = NULL;
	unsigned count = 0;
	assert_int_equal(ux_s3_open(&s3, &n->bucket, NULL), UX_OK);
	assert_int_equal(ux_s3_list(s3, "uploads/", count_object, &count, NULL), UX_OK);
	ux_s3_close(s3);
	return count;
}

static uint64_t bytes_sent(struct ux_blobs *b)
{
	struct ux_blob_copies copies;
	b->copies(b, &copies);
	return ux_s3_get_counts(copies.s3)->sent;
}

static void an_upload_that_ends_at_another_node_is_joined_in_the_bucket(void **state)
{
	(void)state;
	struct node one, two, three;
	struct ux_blob_part *part = NULL;
	struct ux_mapping all = {0};
	uint64_t size = 0;
	int fd = -1;
	node_make(&one, "joined");
	node_make(&two, "joined");
	node_make(&three, "joined");
	struct ux_blobs *a = node_open(&one, 0), *b = node_open(&two, 0), *c = node_open(&three, 0);
	struct ux_blob_hash hash = put_segments(a);
	/* A node that ends before it is done leaves parts that are removed with the upload. */
	assert_int_equal(b->part_open(b, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(size, 2 * SEGMENT);
	assert_int_equal(b->part_map(part, &all, NULL), UX_OK);
	ux_file_unmap(&all);
	b->part_close(part);
	assert_int_equal(upload_objects(&one), 3);
	assert_int_equal(blobs_count_parts(c), 1);
	uint64_t sent = bytes_sent(c);
	assert_int_equal(c->part_open(c, blobs_uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(c->part_map(part, &all, NULL), UX_OK);
	struct ux_blob_hash found = ux_blob_hash_of(all.bytes);
	assert_memory_equal(&found, &hash, sizeof(hash));
	ux_file_unmap(&all);
	assert_int_equal(c->part_sync(part, &hash, NULL), UX_OK);
	assert_int_equal(c->part_commit(part, &hash, NULL), UX_OK);
	c->part_close(part);
	assert_in_range(bytes_sent(c) - sent, 0, 1 << 16);
	assert_int_equal(upload_objects(&one), 0);
	assert_int_equal(ux_blobs_open(a, &hash, 2 * SEGMENT, &fd, NULL), UX_OK);
	close(fd);
	a->close(a);
	b->close(b);
	c->close(c);
	node_remove(&one);
	node_remove(&two);
	node_remove(&three);
}

static uint64_t folder_bytes(const char *folder)
{
	char command[128];
	unsigned long long n = 0;
	snprintf(command, sizeof(command),
		 "find %s/blobs -type f -printf '%%s\\n' | paste -sd+ | bc", folder);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	pclose(f);
	return n;
}

static void copies_stay_within_their_limit_and_a_restart(void **state)
{
	(void)state;
	struct node n;
	struct ux_blob_hash hashes[6];
	int fd = -1;
	uint64_t size = 0;
	enum {
		EACH = 4096 /* a block */
	};
	node_make(&n, "capped");
	struct ux_blobs *b = node_open(&n, 3 * EACH);
	for (int i = 0; i < 6; i++) {
		hashes[i] = put_filled(b, (char)('a' + i), EACH);
		assert_true(folder_bytes(n.folder) <= 3 * EACH);
	}
	/* A blob that is no longer copied is fetched, and remains readable when its copy is
	 * removed. */
	assert_int_equal(ux_blobs_open(b, &hashes[0], EACH, &fd, NULL), UX_OK);
	for (int i = 1; i < 6; i++) {
		int other = -1;
		assert_int_equal(b->open(b, &hashes[i], &other, &size, NULL), UX_OK);
		close(other);
	}
	struct ux_blob_hash found;
	assert_int_equal(ux_blob_hash_fd(fd, &found, NULL), UX_OK);
	assert_memory_equal(&found, &hashes[0], sizeof(found));
	close(fd);
	assert_int_equal(folder_bytes(n.folder), 3 * EACH);
	b->close(b);
	b = node_open(&n, 2 * EACH);
	assert_int_equal(folder_bytes(n.folder), 2 * EACH);
	assert_int_equal(blobs_count(b), 6);
	b->close(b);
	node_remove(&n);
}

static void a_damaged_copy_is_fetched_again(void **state)
{
	(void)state;
	struct node n;
	char path[256], text[65];
	int fd = -1;
	node_make(&n, "damaged");
	struct ux_blobs *b = node_open(&n, 0);
	struct ux_blob_hash hash = put_filled(b, 'd', 100);
	ux_blob_hash_text(&hash, text);
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%.2s/%s", n.folder, text, text + 2, text);
	assert_int_equal(chmod(path, 0600), 0);
	FILE *f = fopen(path, "r+");
	assert_non_null(f);
	fputs("flipped", f);
	fclose(f);
	assert_int_equal(ux_blobs_open(b, &hash, 100, &fd, NULL), UX_OK);
	struct ux_blob_hash found;
	assert_int_equal(ux_blob_hash_fd(fd, &found, NULL), UX_OK);
	assert_memory_equal(&found, &hash, sizeof(found));
	close(fd);
	b->close(b);
	node_remove(&n);
}

static void a_blob_that_another_node_removed_is_stored_again(void **state)
{
	(void)state;
	struct node one, two;
	int fd = -1;
	node_make(&one, "again");
	node_make(&two, "again");
	struct ux_blobs *a = node_open(&one, 0), *b = node_open(&two, 0);
	struct ux_blob_hash hash = put_filled(a, 'r', 100), absent = {{1}};
	assert_int_equal(b->remove(b, &hash, NULL), UX_OK);
	assert_int_equal(ux_blobs_open(b, &hash, 100, &fd, NULL), UX_EIO);
	assert_int_equal(a->confirm(a, &hash, NULL), UX_OK);
	assert_int_equal(ux_blobs_open(b, &hash, 100, &fd, NULL), UX_OK);
	close(fd);
	assert_int_equal(a->confirm(a, &absent, NULL), UX_ENOTFOUND);
	a->close(a);
	b->close(b);
	node_remove(&one);
	node_remove(&two);
}

static void a_bucket_that_is_away_is_no_lost_blob(void **state)
{
	(void)state;
	struct node n;
	int fd = -1;
	node_make(&n, "away");
	struct ux_blobs *b = node_open(&n, 0);
	struct ux_blob_hash hash = put_filled(b, 'w', 100), other = {{2}};
	b->close(b);
	n.bucket.endpoint = "http://127.0.0.1:9";
	n.bucket.patience_ms = 500;
	b = node_open(&n, 0);
	assert_int_equal(ux_blobs_open(b, &hash, 100, &fd, NULL), UX_OK); /* by its copy */
	close(fd);
	assert_int_equal(ux_blobs_open(b, &other, 100, &fd, NULL), UX_EUNAVAILABLE);
	assert_int_equal(b->confirm(b, &hash, NULL), UX_EUNAVAILABLE);
	b->close(b);
	node_remove(&n);
}

UX_SUITE(store_bucket)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(blobs_in_a_bucket_conform),
		UX_TEST(a_store_with_an_index_in_a_file_conforms),
		UX_TEST(a_store_with_an_index_in_postgresql_conforms),
		UX_TEST(an_index_is_not_opened_with_blobs_of_another_place),
		UX_TEST(an_upload_goes_on_and_ends_at_other_nodes),
		UX_TEST(bytes_that_were_not_kept_are_no_part_of_the_upload_elsewhere),
		UX_TEST(an_upload_that_ends_at_another_node_is_joined_in_the_bucket),
		UX_TEST(a_large_blob_is_written_in_parts),
		UX_TEST(copies_stay_within_their_limit_and_a_restart),
		UX_TEST(a_damaged_copy_is_fetched_again),
		UX_TEST(a_blob_that_another_node_removed_is_stored_again),
		UX_TEST(a_bucket_that_is_away_is_no_lost_blob),
	};
	if (!getenv("UNHEX_TEST_S3_ENDPOINT") || !getenv("UNHEX_TEST_S3_BUCKET")) {
		fprintf(stderr, "UNHEX_TEST_S3_ENDPOINT or UNHEX_TEST_S3_BUCKET is not set\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
