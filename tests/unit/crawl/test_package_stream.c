/* SPDX-License-Identifier: Apache-2.0 */
/* package_stream: a package, its hash, its members, and each way in which it can be wrong. */
#include "sweep.h"

#include "file.h"
#include "make_tar.h"
#include "package_stream.h"
#include "polite_client.h"
#include "text.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ux_polite *mirrors;
static struct ux_archive_calls calls;

static int set_up(void **state)
{
	const struct ux_polite_options options = {0};
	(void)state;
	return ux_archive_load(&calls, NULL) == UX_OK &&
			       ux_polite_open(&mirrors, &options, NULL) == UX_OK
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	ux_polite_close(mirrors);
	return 0;
}

/* A file with these bytes, and its repository's metadata. */
struct package_file {
	char path[64];
	uint8_t sha256[SHA256_DIGEST_SIZE];
	struct ux_package_stream_options options;
};

static void write_package(struct package_file *f, struct ux_bytes bytes)
{
	struct sha256_ctx sha;
	snprintf(f->path, sizeof(f->path), "/tmp/ux-package-XXXXXX");
	int fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(ux_file_write(fd, bytes, NULL), UX_OK);
	close(fd);
	sha256_init(&sha);
	sha256_update(&sha, bytes.size, bytes.data);
	sha256_digest(&sha, sizeof(f->sha256), f->sha256);
	f->options = (struct ux_package_stream_options){
		.url = f->path, .size = bytes.size, .sha256 = f->sha256, .mirrors = mirrors};
}

static struct ux_out make_package(void)
{
	struct ux_out tar = {0};
	make_tar_add(&tar, "usr/a", '0', "",
		     UX_STR("\x7f"
			    "ELF a"));
	make_tar_add(&tar, "usr/text", '0', "", UX_STR("text"));
	make_tar_add(&tar, "usr/b", '0', "",
		     UX_STR("\x7f"
			    "ELF and b"));
	make_tar_end(&tar);
	return tar;
}

/* Reads all members. *ret: how many. */
static enum ux_code read_all(const struct package_file *f, unsigned *ret,
			     enum ux_package_cause *ret_cause, struct ux_error *err)
{
	struct ux_package_stream *s = NULL;
	struct ux_stream_member m;
	bool more = true;
	*ret = 0;
	assert_int_equal(ux_package_stream_open(&s, &f->options, err), UX_OK);
	enum ux_code code = UX_OK;
	while (code == UX_OK && more) {
		code = ux_package_stream_next(s, &m, &more, err);
		if (code != UX_OK || !more)
			break;
		++*ret;
		ux_package_stream_taken(s, &m);
		ux_sandbox_stream_release(&m.part);
	}
	*ret_cause = ux_package_stream_cause(s);
	ux_package_stream_close(s);
	unlink(f->path);
	return code;
}

static void expect_cause(const struct package_file *f, enum ux_package_cause cause,
			 const char *text)
{
	struct ux_error err = UX_ERROR_INIT;
	enum ux_package_cause got = UX_CAUSE_NONE;
	unsigned n = 0;
	assert_int_not_equal(read_all(f, &n, &got, &err), UX_OK);
	assert_string_equal(ux_package_cause_name(got), ux_package_cause_name(cause));
	if (!strstr(err.text, text))
		fail_msg("\"%s\" lacks \"%s\"", err.text, text);
}

static void members_have_their_names_and_bytes(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_package();
	struct package_file f;
	struct ux_package_stream *s = NULL;
	struct ux_stream_member m;
	struct ux_error err = UX_ERROR_INIT;
	bool more = false;
	char bytes[16] = "";
	write_package(&f, ux_out_bytes(&tar));
	assert_int_equal(ux_package_stream_open(&s, &f.options, &err), UX_OK);
	assert_int_equal(ux_package_stream_next(s, &m, &more, &err), UX_OK);
	assert_true(more);
	assert_string_equal(m.name, "/usr/a");
	assert_int_equal(m.part.size, 6);
	ux_package_stream_taken(s, &m);
	assert_int_equal(ux_package_stream_next(s, &m, &more, &err), UX_OK);
	assert_string_equal(m.name, "/usr/b");
	assert_int_equal(m.part.off % UX_STREAM_ALIGN, 0);
	assert_int_equal(pread(m.part.fd, bytes, sizeof(bytes), (off_t)m.part.off), 10);
	assert_memory_equal(bytes + 4, " and b", 6);
	ux_package_stream_taken(s, &m);
	assert_int_equal(ux_package_stream_next(s, &m, &more, &err), UX_OK);
	assert_false(more);
	assert_int_equal(ux_package_stream_bytes(s), tar.size);
	assert_memory_equal(ux_package_stream_sha256(s), f.sha256, sizeof(f.sha256));
	ux_package_stream_close(s);
	unlink(f.path);
}

static void the_space_of_a_member_is_given_back(void **state)
{
	(void)state;
	enum {
		BIG = 1 << 20
	};
	ux_cleanup(ux_out_deinit) struct ux_out tar = {0}, content = {0};
	ux_cleanup(ux_free_ptr) void *zeros = calloc(1, BIG);
	struct package_file f;
	struct ux_package_stream *s = NULL;
	struct ux_stream_member m;
	struct stat st;
	bool more = false;
	ux_out_put(&content, "\177ELF", 4);
	ux_out_put(&content, zeros, BIG);
	make_tar_add(&tar, "a", '0', "", ux_out_bytes(&content));
	make_tar_end(&tar);
	write_package(&f, ux_out_bytes(&tar));
	assert_int_equal(ux_package_stream_open(&s, &f.options, NULL), UX_OK);
	assert_int_equal(ux_package_stream_next(s, &m, &more, NULL), UX_OK);
	assert_int_equal(fstat(m.part.fd, &st), 0);
	assert_true(st.st_blocks * 512 >= BIG);
	ux_sandbox_stream_release(&m.part);
	assert_int_equal(fstat(m.part.fd, &st), 0);
	assert_true(st.st_blocks * 512 < BIG / 2);
	ux_package_stream_close(s);
	unlink(f.path);
}

static void a_package_with_another_hash_is_not_the_distribution_s(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_package();
	struct package_file f;
	write_package(&f, ux_out_bytes(&tar));
	f.sha256[0] ^= 1;
	expect_cause(&f, UX_CAUSE_HASH, "SHA-256");
}

static void a_truncated_package_has_another_size(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_package();
	struct package_file f;
	write_package(&f, ux_bytes(tar.data, 700));
	f.options.size = tar.size;
	expect_cause(&f, UX_CAUSE_SIZE, "700 bytes");
}

static void a_package_that_is_too_long_ends_the_reading(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_package();
	struct package_file f;
	write_package(&f, ux_out_bytes(&tar));
	f.options.size = tar.size - 1;
	expect_cause(&f, UX_CAUSE_SIZE, "exceeds");
}

static void bytes_of_the_distribution_that_are_no_archive_are_damage(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_package();
	struct package_file f;
	write_package(&f, ux_bytes(tar.data, 700));
	expect_cause(&f, UX_CAUSE_DAMAGED, "damaged");
	write_package(&f, UX_STR("no archive at all"));
	expect_cause(&f, UX_CAUSE_DAMAGED, "damaged");
}

static void a_file_that_does_not_exist_is_gone(void **state)
{
	(void)state;
	struct package_file f = {.path = "/nonexistent/a.deb"};
	f.options = (struct ux_package_stream_options){.url = f.path, .mirrors = mirrors};
	expect_cause(&f, UX_CAUSE_GONE, "cannot open");
}

/* 64 MiB of zeros in one member, six times: some hundred kilobytes of zstd. */
static void a_bomb_ends_at_its_limit(void **state)
{
	(void)state;
	enum {
		ZEROS = 60 << 20
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_free_ptr) void *zeros = calloc(1, ZEROS);
	ux_cleanup(ux_bundle_writer_close) struct ux_bundle_writer w = {0};
	struct package_file f;
	assert_int_equal(ux_bundle_writer_open(&w, &out, 1 << 30, NULL), UX_OK);
	for (int i = 0; i < 6; i++) {
		char name[8];
		snprintf(name, sizeof(name), "/%d", i);
		assert_int_equal(ux_bundle_writer_add(&w, name, ux_bytes(zeros, ZEROS), NULL),
				 UX_OK);
	}
	assert_int_equal(ux_bundle_writer_end(&w, NULL), UX_OK);
	write_package(&f, ux_out_bytes(&out));
	expect_cause(&f, UX_CAUSE_TOO_MUCH, "unpacked from");
}

static void a_stream_is_closed_in_its_middle(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = {0};
	ux_cleanup(ux_free_ptr) void *zeros = calloc(1, 1 << 20);
	struct package_file f;
	struct ux_package_stream *s = NULL;
	struct ux_stream_member m;
	bool more = false;
	/* more members than the child may be ahead */
	for (int i = 0; i < 3 * UX_STREAM_AHEAD_MAX; i++) {
		char name[16];
		snprintf(name, sizeof(name), "m%d", i);
		make_tar_add(&tar, name, '0', "", UX_STR("\177ELF"));
	}
	make_tar_add(&tar, "rest", '0', "", ux_bytes(zeros, 1 << 20));
	make_tar_end(&tar);
	write_package(&f, ux_out_bytes(&tar));
	assert_int_equal(ux_package_stream_open(&s, &f.options, NULL), UX_OK);
	assert_int_equal(ux_package_stream_next(s, &m, &more, NULL), UX_OK);
	ux_package_stream_close(s);
	unsigned n = 0;
	enum ux_package_cause cause;
	assert_int_equal(read_all(&f, &n, &cause, NULL), UX_OK);
	assert_int_equal(n, 3 * UX_STREAM_AHEAD_MAX);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], UX_SANDBOX_WORD) == 0)
		return ux_sandbox_main();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_have_their_names_and_bytes),
		cmocka_unit_test(the_space_of_a_member_is_given_back),
		cmocka_unit_test(a_package_with_another_hash_is_not_the_distribution_s),
		cmocka_unit_test(a_truncated_package_has_another_size),
		cmocka_unit_test(a_package_that_is_too_long_ends_the_reading),
		cmocka_unit_test(bytes_of_the_distribution_that_are_no_archive_are_damage),
		cmocka_unit_test(a_file_that_does_not_exist_is_gone),
		cmocka_unit_test(a_bomb_ends_at_its_limit),
		cmocka_unit_test(a_stream_is_closed_in_its_middle),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
