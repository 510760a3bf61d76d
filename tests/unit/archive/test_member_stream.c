/* SPDX-License-Identifier: Apache-2.0 */
/* member_stream, rpm_header, rpm_cpio: packages while they arrive. */
#include "sweep.h"

#include "archive_calls.h"
#include "make_tar.h"
#include "member_stream.h"
#include "rpm_header.h"

#define ELF    \
	"\x7f" \
	"ELF"
#define ELF_OF UX_STR(ELF " and the rest")

/* --- a source and a sink ---------------------------------------------------------------------- */

struct reader {
	struct ux_bytes bytes;
	size_t piece; /* bytes of one reading */
};

static enum ux_code read_piece(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct reader *r = ctx;
	(void)err;
	*ret = ux_min(ux_min(n, r->piece), r->bytes.size);
	if (*ret > 0)
		memcpy(to, r->bytes.data, *ret);
	r->bytes = ux_bytes(r->bytes.data + *ret, r->bytes.size - *ret);
	return UX_OK;
}

/* The members as text: "kind name size|content" and a newline for each. */
static enum ux_code sink_begin(void *ctx, enum ux_member_kind kind, const char *name, uint64_t size,
			       struct ux_error *err)
{
	char line[512];
	snprintf(line, sizeof(line), "%d %s %u|", (int)kind, name, (unsigned)size);
	return collect(ctx, ux_bytes_cstr(line), err);
}

static enum ux_code sink_end(void *ctx, struct ux_error *err)
{
	return collect(ctx, UX_STR("\n"), err);
}

static enum ux_code stream(struct ux_bytes package, size_t piece, struct ux_out *ret,
			   struct ux_error *err)
{
	struct reader reader = {package, piece};
	const struct ux_stream_source source = {read_piece, &reader};
	const struct ux_stream_sink sink = {
		.begin = sink_begin, .put = collect, .end = sink_end, .ctx = ret};
	enum ux_code code = ux_member_stream_read(&calls, &source, &sink, err);
	if (code == UX_OK)
		assert_int_equal(reader.bytes.size, 0);
	ux_out_u8(ret, 0);
	return code;
}

static void expect_members(struct ux_bytes package, const char *want)
{
	static const size_t pieces[] = {1 << 20, 100, 1};
	for (size_t i = 0; i < ux_countof(pieces); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out got = {0};
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(stream(package, pieces[i], &got, &err), UX_OK);
		assert_string_equal((const char *)got.data, want);
	}
}

/* --- tar and deb ------------------------------------------------------------------------------ */

static struct ux_out make_data_tar(void)
{
	struct ux_out out = {0};
	make_tar_add(&out, "./usr/", '5', "", UX_BYTES_NONE);
	make_tar_add(&out, "./usr/a.debug", '0', "", ELF_OF);
	make_tar_add(&out, "./usr/text", '0', "", UX_STR("text"));
	make_tar_add(&out, "./usr/b.debug", '1', "./usr/a.debug", UX_BYTES_NONE);
	make_tar_add(&out, "./usr/m.ko.xz", '0', "",
		     UX_STR("\xfd"
			    "7zXZ\0"));
	make_tar_add(&out, "./usr/other.xz", '0', "",
		     UX_STR("\xfd"
			    "7zXZ\0"));
	make_tar_add(&out, "./usr/empty", '0', "", UX_BYTES_NONE);
	make_tar_end(&out);
	return out;
}

static const char data_members[] = "1 /usr/a.debug 17|" ELF " and the rest\n"
				   "2 /usr/m.ko.xz 6|\xfd"
				   "7zXZ";

static void ar_add(struct ux_out *out, const char *name, struct ux_bytes content)
{
	char head[61];
	snprintf(head, sizeof(head), "%-16s%-12d%-6d%-6d%-8s%-10u`\n", name, 0, 0, 0, "100644",
		 (unsigned)content.size);
	ux_out_put(out, head, 60);
	ux_out_put(out, content.data, content.size);
	ux_out_align(out, 2);
}

static struct ux_out make_deb(struct ux_bytes data)
{
	struct ux_out out = {0};
	ux_out_put(&out, "!<arch>\n", 8);
	ar_add(&out, "debian-binary", UX_STR("2.0\n"));
	ar_add(&out, "data.tar", data);
	return out;
}

static void members_of_a_tar_and_of_a_deb_come_in_their_order(void **state)
{
	(void)state;
	char want[200];
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_data_tar();
	ux_cleanup(ux_out_deinit) struct ux_out deb = make_deb(ux_out_bytes(&tar));
	snprintf(want, sizeof(want), "%s", data_members);
	/* the text of a member ends at its NUL */
	expect_members(ux_out_bytes(&tar), want);
	expect_members(ux_out_bytes(&deb), want);
}

static void what_follows_the_archive_is_read_too(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_data_tar(), more = {0};
	ux_out_put(&more, tar.data, tar.size);
	for (int i = 0; i < 5000; i++)
		ux_out_put(&more, "rest", 4);
	expect_members(ux_out_bytes(&more), data_members);
}

static void a_truncated_package_is_an_error(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out tar = make_data_tar();
	ux_cleanup(ux_out_deinit) struct ux_out deb = make_deb(ux_out_bytes(&tar));
	ux_cleanup(ux_out_deinit) struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(stream(ux_bytes(deb.data, 1600), 100, &got, &err), UX_ECORRUPT);
}

static void nothing_is_no_package(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(stream(UX_STR("no package at all, but a text"), 100, &got, &err),
			 UX_ECORRUPT);
}

/* --- rpm -------------------------------------------------------------------------------------- */

struct entry {
	uint32_t tag, type, off, count;
};

struct rpm_maker {
	struct ux_out data;
	struct entry entries[16];
	unsigned n;
};

static void rpm_tag(struct rpm_maker *m, uint32_t tag, uint32_t type, uint32_t count)
{
	ux_out_align(&m->data, 8);
	m->entries[m->n++] = (struct entry){tag, type, (uint32_t)m->data.size, count};
}

static void rpm_numbers(struct rpm_maker *m, uint32_t tag, const uint32_t *numbers, uint32_t n)
{
	rpm_tag(m, tag, 4, n);
	for (uint32_t i = 0; i < n; i++)
		ux_out_u32(&m->data, numbers[i]);
}

static void rpm_texts(struct rpm_maker *m, uint32_t tag, const char *const *texts, uint32_t n)
{
	rpm_tag(m, tag, 8, n);
	for (uint32_t i = 0; i < n; i++)
		ux_out_put(&m->data, texts[i], strlen(texts[i]) + 1);
}

static void rpm_put_header(const struct rpm_maker *m, struct ux_out *to)
{
	ux_out_put(to, "\x8e\xad\xe8\1\0\0\0\0", 8);
	ux_out_u32(to, m->n);
	ux_out_u32(to, (uint32_t)m->data.size);
	for (unsigned i = 0; i < m->n; i++) {
		ux_out_u32(to, m->entries[i].tag);
		ux_out_u32(to, m->entries[i].type);
		ux_out_u32(to, m->entries[i].off);
		ux_out_u32(to, m->entries[i].count);
	}
	ux_out_put(to, m->data.data, m->data.size);
}

/* An entry of a payload that has a name. */
static void cpio_add(struct ux_out *out, size_t start, const char *name, unsigned mode,
		     struct ux_bytes content)
{
	char head[111];
	snprintf(head, sizeof(head), "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		 1, mode, 0, 0, 1, 0, (unsigned)content.size, 0, 0, 0, 0,
		 (unsigned)strlen(name) + 1, 0);
	ux_out_put(out, head, 110);
	ux_out_put(out, name, strlen(name) + 1);
	while ((out->size - start) % 4 != 0)
		ux_out_u8(out, 0);
	ux_out_put(out, content.data, content.size);
	while ((out->size - start) % 4 != 0)
		ux_out_u8(out, 0);
}

/* One that refers to the header. */
static void cpio_add_number(struct ux_out *out, size_t start, unsigned number,
			    struct ux_bytes content)
{
	char head[15];
	snprintf(head, sizeof(head), "07070X%08x", number);
	ux_out_put(out, head, 14);
	while ((out->size - start) % 4 != 0)
		ux_out_u8(out, 0);
	ux_out_put(out, content.data, content.size);
	while ((out->size - start) % 4 != 0)
		ux_out_u8(out, 0);
}

enum {
	MODE_FILE = 0100644,
	MODE_FOLDER = 040755,
	MODE_LINK = 0120777,
};

/* Five files: a folder, two names of one file, a link, a text. */
static struct ux_out make_rpm(bool numbered, bool zero_based_folders)
{
	static const char *const names[] = {"debug", "a", "b", "link", "text"};
	static const char *const folders[] = {"/usr/", "/usr/debug/"};
	const uint32_t of[] = {0, 1, 1, 1, zero_based_folders ? 0 : 7};
	const uint32_t sizes[] = {4096, 17, 17, 1, 4}, inodes[] = {1, 2, 2, 3, 4};
	const uint32_t zeros[5] = {0},
		       modes[] = {MODE_FOLDER, MODE_FILE, MODE_FILE, MODE_LINK, MODE_FILE};
	struct rpm_maker m = {.data = {.swap = true}}, none = {.data = {.swap = true}};
	struct ux_out out = {.swap = true};
	static const uint8_t lead[96] = {0xed, 0xab, 0xee, 0xdb, 3};
	rpm_numbers(&m, 1028, sizes, 5);
	rpm_numbers(&m, 1030, modes, 5);
	rpm_numbers(&m, 1037, zeros, 5);
	rpm_numbers(&m, 1095, zeros, 5);
	rpm_numbers(&m, 1096, inodes, 5);
	rpm_numbers(&m, 1116, of, 5);
	rpm_texts(&m, 1117, names, 5);
	rpm_texts(&m, 1118, folders, 2);
	ux_out_put(&out, lead, sizeof(lead));
	ux_out_put(&none.data, "x", 1); /* so that the next header has to be aligned */
	rpm_put_header(&none, &out);
	ux_out_align(&out, 8);
	rpm_put_header(&m, &out);
	size_t start = out.size;
	if (numbered) {
		cpio_add_number(&out, start, 0, UX_BYTES_NONE);
		cpio_add_number(&out, start, 1, UX_BYTES_NONE);
		cpio_add_number(&out, start, 2, ELF_OF);
		cpio_add_number(&out, start, 3, UX_STR("a"));
		cpio_add_number(&out, start, 4, UX_STR("text"));
	} else {
		cpio_add(&out, start, "./usr/debug", MODE_FOLDER, UX_BYTES_NONE);
		cpio_add(&out, start, "./usr/debug/a", MODE_FILE, UX_BYTES_NONE);
		cpio_add(&out, start, "./usr/debug/b", MODE_FILE, ELF_OF);
		cpio_add(&out, start, "./usr/debug/link", MODE_LINK, UX_STR("a"));
		cpio_add(&out, start, "./usr/text", MODE_FILE, UX_STR("text"));
	}
	cpio_add(&out, start, "TRAILER!!!", 0, UX_BYTES_NONE);
	ux_out_deinit(&m.data);
	ux_out_deinit(&none.data);
	return out;
}

static void an_rpm_has_its_files_by_name_or_by_number(void **state)
{
	(void)state;
	static const char want[] = "1 /usr/debug/b 17|" ELF " and the rest\n";
	ux_cleanup(ux_out_deinit) struct ux_out named = make_rpm(false, true);
	ux_cleanup(ux_out_deinit) struct ux_out numbered = make_rpm(true, true);
	expect_members(ux_out_bytes(&named), want);
	expect_members(ux_out_bytes(&numbered), want);
}

static void a_file_in_a_folder_that_the_header_lacks_is_an_error(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out rpm = make_rpm(true, false), got = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(stream(ux_out_bytes(&rpm), 100, &got, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "folder 7; expected less than 2"));
}

static void a_truncated_rpm_is_an_error(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out rpm = make_rpm(true, true);
	for (size_t n = 8; n < rpm.size; n++) {
		ux_cleanup(ux_out_deinit) struct ux_out got = {0};
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(stream(ux_bytes(rpm.data, n), 64, &got, &err), UX_ECORRUPT);
		assert_true(err.text[0] != '\0');
	}
}

static void stream_any(struct ux_bytes package, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = stream(package, 4096, &got, &err);
	assert_true(code == UX_OK || err.code == code);
}

static void a_damaged_rpm_is_an_error_or_members(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out rpm = make_rpm(true, true);
	each_bit_flip(ux_out_bytes(&rpm), stream_any, NULL);
}

UX_SUITE(member_stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_a_tar_and_of_a_deb_come_in_their_order),
		cmocka_unit_test(what_follows_the_archive_is_read_too),
		cmocka_unit_test(a_truncated_package_is_an_error),
		cmocka_unit_test(nothing_is_no_package),
		cmocka_unit_test(an_rpm_has_its_files_by_name_or_by_number),
		cmocka_unit_test(a_file_in_a_folder_that_the_header_lacks_is_an_error),
		cmocka_unit_test(a_truncated_rpm_is_an_error),
		cmocka_unit_test(a_damaged_rpm_is_an_error_or_members),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
