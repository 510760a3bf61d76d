/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "blobs.h"
#include "blobs_mem.h"

#include <fcntl.h>
#include <unistd.h>

/* A lower place: one object, in a file or a folder. */
struct lower {
	struct ux_blob_hash hash;
	char path[64];
	unsigned opened;
};

static int lower_open(void *ctx, const struct ux_blob_hash *hash)
{
	struct lower *l = ctx;
	if (memcmp(hash->bytes, l->hash.bytes, sizeof(hash->bytes)) != 0)
		return -1;
	l->opened++;
	return open(l->path, O_RDONLY | O_CLOEXEC);
}

static struct lower lower_make(const char *content)
{
	struct lower l = {.hash = ux_blob_hash_of(ux_bytes_cstr(content)),
			  .path = "/tmp/test_overlay.XXXXXX"};
	int fd = mkstemp(l.path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	return l;
}

static struct ux_blobs *overlay_make(struct ux_blobs *upper, struct lower *l)
{
	struct ux_blobs *b = NULL;
	assert_int_equal(ux_blobs_overlay_open(&b, upper, lower_open, l, NULL), UX_OK);
	return b;
}

static void keep(struct ux_blobs *b, const char *uid, const char *content)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 1;
	const struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(content));
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(size, 0);
	assert_int_equal(b->part_write(part, ux_bytes_cstr(content), NULL), UX_OK);
	assert_int_equal(b->part_size(b, uid, &size, NULL), UX_OK);
	assert_int_equal(size, strlen(content));
	assert_int_equal(b->part_commit(part, &hash, NULL), UX_OK);
	b->part_close(part);
	assert_int_equal(b->part_remove(b, uid, NULL), UX_OK);
}

/* Returns the content of a hash; "": absent. */
static const char *content_of(struct ux_blobs *b, const char *content)
{
	static char text[64];
	const struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(content));
	int fd = -1;
	uint64_t size = 0;
	text[0] = '\0';
	if (b->open(b, &hash, &fd, &size, NULL) != UX_OK)
		return text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	assert_int_equal(n, (ssize_t)size);
	text[n] = '\0';
	close(fd);
	return text;
}

static void what_is_new_goes_to_the_upper_place_and_both_are_read(void **state)
{
	(void)state;
	struct lower l = lower_make("below");
	struct ux_blobs *upper = blobs_mem_create(), *b = overlay_make(upper, &l);
	assert_string_equal(content_of(b, "below"), "below");
	assert_string_equal(content_of(b, "above"), "");
	keep(b, "0123456789abcdef0123456789abcdef", "above");
	assert_string_equal(content_of(b, "above"), "above");
	assert_int_equal(blobs_mem_count(upper), 1);
	assert_int_equal(l.opened, 1);
	b->close(b);
	unlink(l.path);
}

static void what_is_below_is_never_removed(void **state)
{
	(void)state;
	struct lower l = lower_make("below");
	struct ux_blobs *b = overlay_make(blobs_mem_create(), &l);
	keep(b, "0123456789abcdef0123456789abcdef", "above");
	const struct ux_blob_hash above = ux_blob_hash_of(UX_STR("above"));
	(void)!b->remove(b, &l.hash, NULL);
	assert_string_equal(content_of(b, "below"), "below");
	assert_int_equal(b->remove(b, &above, NULL), UX_OK);
	assert_string_equal(content_of(b, "above"), "");
	b->close(b);
	unlink(l.path);
}

static void a_folder_in_the_place_of_an_object_is_an_error(void **state)
{
	(void)state;
	struct lower l = lower_make("below");
	struct ux_blobs *b = overlay_make(blobs_mem_create(), &l);
	struct ux_error err = UX_ERROR_INIT;
	uint64_t size = 0;
	int fd = -1;
	unlink(l.path);
	snprintf(l.path, sizeof(l.path), "/tmp");
	assert_int_equal(b->open(b, &l.hash, &fd, &size, &err), UX_EIO);
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_int_equal(fd, -1);
	b->close(b);
}

static void failures_of_the_upper_place_are_passed_on(void **state)
{
	(void)state;
	struct lower l = lower_make("below");
	struct ux_blobs *upper = blobs_mem_create(), *b = overlay_make(upper, &l);
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	blobs_mem_fail(upper, 1);
	assert_int_equal(b->part_open(b, "0123456789abcdef0123456789abcdef", &part, &size, NULL),
			 UX_EIO);
	assert_string_equal(content_of(b, "below"), "below");
	b->close(b);
	unlink(l.path);
}

UX_SUITE(blobs_overlay)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_goes_to_the_upper_place_and_both_are_read),
		cmocka_unit_test(what_is_below_is_never_removed),
		cmocka_unit_test(a_folder_in_the_place_of_an_object_is_an_error),
		cmocka_unit_test(failures_of_the_upper_place_are_passed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
