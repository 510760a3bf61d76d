/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's checks of a child that a hostile file may have taken over. */
#include "sweep.h"

#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct ux_sandbox_limits limits = {.memory = 12345678, .output = 87654, .seconds = 30};

/* A lying child's change of an otherwise good reply. */
typedef void lie_fn(struct ux_sandbox_reply *r);

static void lie_none(struct ux_sandbox_reply *r)
{
	(void)r;
}

static void lie_size(struct ux_sandbox_reply *r)
{
	r->size++;
}

static void lie_code(struct ux_sandbox_reply *r)
{
	r->err.code = (enum ux_code)UX_CODE_COUNT;
}

static void lie_lost_code(struct ux_sandbox_reply *r)
{
	r->found.lost.code = (enum ux_code)UX_CODE_COUNT;
}

static void lie_quality(struct ux_sandbox_reply *r)
{
	r->found.quality = (enum ux_quality)UX_QUALITY_COUNT;
}

static void lie_lacks(struct ux_sandbox_reply *r)
{
	r->found.lacks = 8;
}

static void lie_number_of_ids(struct ux_sandbox_reply *r)
{
	r->found.ids.size = UX_ID_SET_MAX + 1;
}

static void lie_size_of_id(struct ux_sandbox_reply *r)
{
	r->found.ids.ids[1].size = sizeof(r->found.ids.ids[1].bytes) + 1;
}

static void lie_type_of_id(struct ux_sandbox_reply *r)
{
	r->found.ids.ids[1].type = 200;
}

static void lie_empty_id(struct ux_sandbox_reply *r)
{
	r->found.ids.ids[0].size = 0;
}

static void lie_same_ids(struct ux_sandbox_reply *r)
{
	r->found.ids.ids[1] = r->found.ids.ids[0];
	r->found.ids.ids[1].bytes[r->found.ids.ids[1].size] = 7; /* after its end */
}

static void lie_text(struct ux_sandbox_reply *r)
{
	r->err.code = UX_ECORRUPT;
	memset(r->err.text, 'x', sizeof(r->err.text));
	memset(r->err.section, 0x1b, sizeof(r->err.section));
	r->err.text[3] = '\n';
	r->err.text[4] = 127;
}

static void lie_lost_text(struct ux_sandbox_reply *r)
{
	r->found.lost.code = UX_ECORRUPT;
	memset(r->found.lost.text, 1, sizeof(r->found.lost.text));
	memset(r->found.lost.section, '~', sizeof(r->found.lost.section));
}

static void lie_memory(struct ux_sandbox_reply *r)
{
	r->err.code = UX_ENOMEM;
}

static void lie_output(struct ux_sandbox_reply *r)
{
	r->err.code = UX_EIO;
	r->err.os_errno = EFBIG;
}

static lie_fn *const lies[] = {
	lie_none,          lie_size,       lie_code,       lie_lost_code, lie_quality,
	lie_number_of_ids, lie_size_of_id, lie_type_of_id, lie_empty_id,  lie_same_ids,
	lie_text,          lie_lost_text,  lie_memory,     lie_output,    lie_lacks,
};

static const char prefix[] = "/tmp/unhex-liar-"; /* of a folder */

/* Runs a child that finds the number of its lie in its program's name. */
static int tell_lie(unsigned number)
{
	struct ux_sandbox_request request;
	struct ux_sandbox_reply r = {.size = sizeof(r)};
	r.err = r.found.lost = (struct ux_error)UX_ERROR_INIT;
	r.found.quality = UX_QUALITY_LINES;
	r.found.gsym_bytes = 99;
	r.found.ids.size = 2;
	if (number >= ux_countof(lies) ||
	    read(UX_SANDBOX_SOCKET, &request, sizeof(request)) != (ssize_t)sizeof(request) ||
	    ux_id_parse(UX_STR("gnu:0123456789"), &r.found.ids.ids[0], NULL) != UX_OK ||
	    ux_id_parse(UX_STR("go:abc"), &r.found.ids.ids[1], NULL) != UX_OK)
		return 1;
	lies[number](&r);
	return write(UX_SANDBOX_SOCKET, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : 1;
}

/* Returns the parent's reaction to a lie. */
static enum ux_code believe(lie_fn *lie, struct ux_sandbox_found *found, struct ux_error *err)
{
	char own[4096], program[64], folder[64];
	unsigned number = 0;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int exe = memfd_create("exe", MFD_CLOEXEC), out = memfd_create("gsym", MFD_CLOEXEC);
	const int files[UX_SANDBOX_FILE_COUNT] = {exe, -1, -1, -1, out, -1};
	assert_in_range(n, 1, sizeof(own) - 1);
	own[n] = '\0';
	while (lies[number] != lie)
		number++;
	snprintf(folder, sizeof(folder), "%sXXXXXX", prefix);
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%.40s/%u", folder, number);
	assert_int_equal(symlink(own, program), 0);
	*err = (struct ux_error)UX_ERROR_INIT;
	enum ux_code code = ux_sandbox_extract(files, &limits, program, found, err);
	unlink(program);
	rmdir(folder);
	close(exe);
	close(out);
	return code;
}

static void a_good_reply_is_believed(void **state)
{
	(void)state;
	struct ux_sandbox_found found;
	struct ux_error err;
	assert_int_equal(believe(lie_none, &found, &err), UX_OK);
	assert_int_equal(found.quality, UX_QUALITY_LINES);
	assert_int_equal(found.gsym_bytes, 99);
	assert_int_equal(found.ids.size, 2);
	assert_non_null(ux_id_set_find(&found.ids, UX_ID_GNU));
	assert_non_null(ux_id_set_find(&found.ids, UX_ID_GO));
}

static void a_reply_out_of_bounds_is_refused(void **state)
{
	(void)state;
	static lie_fn *const bad[] = {lie_size,       lie_code,       lie_lost_code,
				      lie_quality,    lie_lacks,      lie_number_of_ids,
				      lie_size_of_id, lie_type_of_id, lie_empty_id};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_sandbox_found found;
		struct ux_error err;
		if (believe(bad[i], &found, &err) != UX_ECORRUPT ||
		    !strstr(err.text, "an invalid answer"))
			fail_msg("lie %zu is believed: %s", i, err.text);
	}
}

static void an_id_is_there_once_and_has_nothing_behind_its_end(void **state)
{
	(void)state;
	static const uint8_t zeros[UX_ID_BYTES_MAX];
	struct ux_sandbox_found found;
	struct ux_error err;
	assert_int_equal(believe(lie_same_ids, &found, &err), UX_OK);
	assert_int_equal(found.ids.size, 1);
	const struct ux_id *id = &found.ids.ids[0];
	assert_memory_equal(id->bytes + id->size, zeros, sizeof(zeros) - id->size);
}

static void text_of_a_child_ends_and_has_no_control_characters(void **state)
{
	(void)state;
	struct ux_sandbox_found found;
	struct ux_error err;
	assert_int_equal(believe(lie_text, &found, &err), UX_ECORRUPT);
	assert_int_equal(strnlen(err.text, sizeof(err.text)), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "xxx??xx", 7);
	assert_int_equal(strnlen(err.section, sizeof(err.section)), sizeof(err.section) - 1);
	assert_int_equal(strspn(err.section, "?"), sizeof(err.section) - 1);
	assert_int_equal(believe(lie_lost_text, &found, &err), UX_OK);
	assert_int_equal(strspn(found.lost.text, "?"), sizeof(found.lost.text) - 1);
	assert_int_equal(strspn(found.lost.section, "~"), sizeof(found.lost.section) - 1);
}

static void limits_that_the_child_hit_are_reported_with_their_size(void **state)
{
	(void)state;
	struct ux_sandbox_found found;
	struct ux_error err;
	assert_int_equal(believe(lie_memory, &found, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "needs more than 12345678 bytes"));
	assert_int_equal(believe(lie_output, &found, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "exceeds 87654 bytes"));
}

int main(int argc, char **argv)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	if (argc > 1 && strcmp(argv[1], UX_SANDBOX_WORD) == 0 && name &&
	    strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		return tell_lie((unsigned)strtoul(strrchr(name, '/') + 1, NULL, 10));
	const struct CMUnitTest tests[] = {
		UX_TEST(a_good_reply_is_believed),
		UX_TEST(a_reply_out_of_bounds_is_refused),
		UX_TEST(an_id_is_there_once_and_has_nothing_behind_its_end),
		UX_TEST(text_of_a_child_ends_and_has_no_control_characters),
		UX_TEST(limits_that_the_child_hit_are_reported_with_their_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
