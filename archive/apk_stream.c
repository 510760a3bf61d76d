/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An .apk of apk-tools 3 as a stream: the block of values has the names and the SHA-256 of all
 * files; then come signatures, then a block for each file that is not empty, in the order of the
 * values. The repository's index has the SHA-256 of the values. So everything is checked here as it
 * passes; the package as a whole has no hash.
 */
#include "adb_value.h"
#include "out.h"
#include "path_canonical.h"
#include "stream_reading.h"

#include <nettle/sha2.h>

enum {
	VALUES_MAX = 128 << 20, /* bytes of the block of values; a kernel's has under 1 MB */
	SIGNATURE_MAX = 16 << 10,
	SHA256 = SHA256_DIGEST_SIZE,
	SHA512 = SHA512_DIGEST_SIZE,
	PLACE_BYTES = 8, /* bytes before the data of a file: the numbers of its folder and of the
			    file */
	/* fields: of a package, a folder, a file */
	PACKAGE_PATHS = 2,
	FOLDER_NAME = 1,
	FOLDER_FILES = 3,
	FILE_NAME = 1,
	FILE_SIZE = 3,
	FILE_HASH = 5,
	FILE_TARGET = 6,
};

struct apk_stream {
	struct ux_stream_reading *s;
	struct ux_unpack *unpack;
	uint8_t *piece;
	struct ux_out values;
	struct ux_adb_list folders;
	/* the next file that has data; folder over folders.n: no more */
	uint32_t folder, file;
	struct ux_adb_list files; /* files of that folder */
	struct ux_bytes folder_name, file_name, hash;
	uint64_t size;
	/* while its data are read */
	uint64_t left;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512;
};

static void apk_stream_close(struct apk_stream *a)
{
	ux_unpack_close(a->unpack);
	ux_out_deinit(&a->values);
}

static enum ux_code apk_on_read(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct ux_stream_reading *s = ctx;
	(void)err; /* the reading has its own error */
	return ux_stream_source_read(s, to, n, ret);
}

/* Reads up to n unpacked bytes. */
static enum ux_code apk_read(struct apk_stream *a, void *to, size_t n, size_t *ret)
{
	UX_TRY(ux_unpack_read(a->unpack, to, n, ret, a->s->err));
	return ux_stream_count(a->s, *ret);
}

static enum ux_code apk_exactly(struct apk_stream *a, void *to, size_t n)
{
	size_t got = 0;
	UX_TRY(apk_read(a, to, n, &got));
	return got == n ? UX_OK
			: ux_error_set(a->s->err, UX_ECORRUPT,
				       "the package ends after %" PRIu64 " unpacked bytes",
				       a->s->out);
}

static enum ux_code apk_skip(struct apk_stream *a, uint64_t n)
{
	while (n > 0) {
		size_t some = (size_t)ux_min(n, (uint64_t)UX_STREAM_PIECE);
		UX_TRY(apk_exactly(a, a->piece, some));
		n -= some;
	}
	return UX_OK;
}

/* --- files in the list of the package --------------------------------------------------------- */

static enum ux_code apk_take_file(struct apk_stream *a, bool *ret_has_data)
{
	struct ux_adb_list file;
	struct ux_bytes target;
	struct ux_error *err = a->s->err;
	UX_TRY(ux_adb_list_get(&a->files, a->file, &file, err));
	UX_TRY(ux_adb_number_get(&file, FILE_SIZE, &a->size, err));
	UX_TRY(ux_adb_bytes_get(&file, FILE_TARGET, &target, err));
	UX_TRY(ux_adb_bytes_get(&file, FILE_NAME, &a->file_name, err));
	UX_TRY(ux_adb_bytes_get(&file, FILE_HASH, &a->hash, err));
	/* a link or a device has a target and no data */
	*ret_has_data = a->size > 0 && target.size == 0;
	return UX_OK;
}

/* Moves to the next file that has data. */
static enum ux_code apk_next_file(struct apk_stream *a)
{
	struct ux_adb_list folder;
	bool has_data = false;
	while (a->folder <= a->folders.n) {
		while (a->file < a->files.n) {
			a->file++;
			UX_TRY(ux_stream_count_member(a->s));
			UX_TRY(apk_take_file(a, &has_data));
			if (has_data)
				return UX_OK;
		}
		if (++a->folder > a->folders.n)
			break;
		a->file = 0;
		UX_TRY(ux_stream_count_member(a->s));
		UX_TRY(ux_adb_list_get(&a->folders, a->folder, &folder, a->s->err));
		UX_TRY(ux_adb_bytes_get(&folder, FOLDER_NAME, &a->folder_name, a->s->err));
		UX_TRY(ux_adb_list_get(&folder, FOLDER_FILES, &a->files, a->s->err));
	}
	return UX_OK;
}

/* --- data of the files ------------------------------------------------------------------------ */

static ssize_t apk_on_content(void *ctx, void *to, size_t n)
{
	struct apk_stream *a = ctx;
	size_t got = (size_t)ux_min((uint64_t)n, a->left);
	a->s->code = apk_exactly(a, to, got);
	if (a->s->code != UX_OK)
		return -1;
	a->left -= got;
	if (a->hash.size == SHA256)
		sha256_update(&a->sha256, got, to);
	else
		sha512_update(&a->sha512, got, to);
	return (ssize_t)got;
}

static enum ux_code apk_check_file(struct apk_stream *a, const char *path)
{
	uint8_t have[SHA512];
	if (a->hash.size == SHA256)
		sha256_digest(&a->sha256, SHA256, have);
	else
		sha512_digest(&a->sha512, SHA512, have);
	return memcmp(have, a->hash.data, a->hash.size) == 0
		       ? UX_OK
		       : ux_error_set(a->s->err, UX_ECONFLICT,
				      "the data of %.100s does not match the hash in the package",
				      path);
}

static enum ux_code apk_pass_file(struct apk_stream *a)
{
	UX_ARENA(arena, 8 * UX_PATH_BYTES);
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_stream_reading *s = a->s;
	enum ux_member_kind kind = UX_MEMBER_OTHER;
	struct ux_stream_content content = {
		.read = apk_on_content, .ctx = a, .piece = a->piece, .size = a->size};
	ux_out_put(&name, a->folder_name.data, a->folder_name.size);
	ux_out_u8(&name, '/');
	ux_out_put(&name, a->file_name.data, a->file_name.size);
	UX_TRY(ux_out_status(&name, s->err));
	UX_TRY(ux_path_of_source(ux_out_bytes(&name), &arena, &content.path, s->err));
	if (a->hash.size != SHA256 && a->hash.size != SHA512)
		return ux_error_set(s->err, UX_EUNSUPPORTED,
				    "the hash of %.100s is neither SHA-256 nor SHA-512",
				    content.path);
	a->left = a->size;
	sha256_init(&a->sha256);
	sha512_init(&a->sha512);
	UX_TRY(ux_stream_content_kind(s, &content, &kind));
	UX_TRY(ux_stream_content_pass(s, &content, kind));
	return apk_check_file(a, content.path);
}

static enum ux_code apk_read_data(struct apk_stream *a, const struct ux_adb_block *block)
{
	uint8_t place[PLACE_BYTES];
	uint64_t numbers = 0;
	if (a->folder > a->folders.n || block->size != a->size + PLACE_BYTES)
		return ux_error_set(a->s->err, UX_ECORRUPT,
				    "a data block of %" PRIu64 " bytes belongs to no file",
				    block->size);
	UX_TRY(apk_exactly(a, place, sizeof(place)));
	for (size_t i = 0; i < sizeof(place); i++)
		numbers |= (uint64_t)place[i] << 8 * i;
	if (numbers != ((uint64_t)a->file << 32 | a->folder))
		return ux_error_set(a->s->err, UX_ECORRUPT,
				    "file data is not in the order of the files");
	UX_TRY(apk_pass_file(a));
	UX_TRY(apk_skip(a, block->padding));
	return apk_next_file(a);
}

/* --- the package ------------------------------------------------------------------------------ */

/* Reads the head of the next block. *ret_more false: the package ends. */
static enum ux_code apk_next_block(struct apk_stream *a, struct ux_adb_block *ret, bool *ret_more)
{
	uint8_t head[UX_ADB_BLOCK_HEAD] = {0};
	size_t got = 0;
	UX_TRY(apk_read(a, head, 4, &got));
	*ret_more = got > 0;
	if (got == 0)
		return UX_OK;
	unsigned size = ux_adb_block_head_size(head);
	if (got < 4)
		return ux_error_set(a->s->err, UX_ECORRUPT, "the package ends in a block header");
	UX_TRY(apk_exactly(a, head + 4, size - 4));
	return ux_adb_block_read(head, ret, a->s->err);
}

/* Returns UX_OK if this is the package of the index, which has the hash of its values. */
static enum ux_code apk_check_values(const struct apk_stream *a)
{
	const struct ux_bytes want = a->s->source->identity;
	struct sha256_ctx sha256;
	uint8_t have[SHA256];
	sha256_init(&sha256);
	sha256_update(&sha256, a->values.size, a->values.data);
	sha256_digest(&sha256, sizeof(have), have);
	if (want.size == 0 || memcmp(have, want.data, ux_min(want.size, sizeof(have))) == 0)
		return UX_OK;
	return ux_error_set(
		a->s->err, UX_ECONFLICT,
		"the package's metadata does not match the SHA-256 in its repository index");
}

/* Reads the block of values. Memory grows with the bytes that arrive: the head's size is not
 * trusted. */
static enum ux_code apk_read_values(struct apk_stream *a)
{
	struct ux_adb_block block = {0};
	struct ux_adb_list root;
	bool more = false;
	UX_TRY(apk_next_block(a, &block, &more));
	if (!more || block.type != UX_ADB_BLOCK_VALUES)
		return ux_error_set(a->s->err, UX_ECORRUPT,
				    "the package does not begin with a block of values");
	if (block.size > VALUES_MAX)
		return ux_error_set(a->s->err, UX_ELIMIT,
				    "the package has %" PRIu64
				    " bytes of metadata; the limit is %d",
				    block.size, VALUES_MAX);
	for (uint64_t left = block.size; left > 0;) {
		size_t n = (size_t)ux_min(left, (uint64_t)UX_STREAM_PIECE);
		UX_TRY(apk_exactly(a, a->piece, n));
		ux_out_put(&a->values, a->piece, n);
		UX_TRY(ux_out_status(&a->values, a->s->err));
		left -= n;
	}
	UX_TRY(apk_skip(a, block.padding));
	UX_TRY(apk_check_values(a));
	UX_TRY(ux_adb_root(ux_out_bytes(&a->values), &root, a->s->err));
	UX_TRY(ux_adb_list_get(&root, PACKAGE_PATHS, &a->folders, a->s->err));
	return apk_next_file(a);
}

static enum ux_code apk_read_blocks(struct apk_stream *a)
{
	struct ux_adb_block block = {0};
	bool more = true, in_data = false;
	for (;;) {
		UX_TRY(apk_next_block(a, &block, &more));
		if (!more)
			break;
		if (block.type == UX_ADB_BLOCK_VALUES || (block.type == UX_ADB_BLOCK_SIGNATURE &&
							  (in_data || block.size > SIGNATURE_MAX)))
			return ux_error_set(a->s->err, UX_ECORRUPT,
					    "the blocks of the package are out of order");
		in_data = block.type == UX_ADB_BLOCK_DATA;
		if (in_data)
			UX_TRY(apk_read_data(a, &block));
		else
			UX_TRY(apk_skip(a, block.size + block.padding));
	}
	if (a->folder <= a->folders.n)
		return ux_error_set(a->s->err, UX_ECORRUPT,
				    "the package ends before the data of its last file");
	return UX_OK;
}

enum ux_code ux_apk_stream_read(struct ux_stream_reading *s)
{
	ux_cleanup(apk_stream_close) struct apk_stream a = {.s = s};
	ux_cleanup(ux_free_ptr) uint8_t *piece = malloc(UX_STREAM_PIECE);
	enum ux_unpack_form form = UX_UNPACK_NONE;
	size_t skip = 0;
	uint8_t head[UX_ADB_FILE_HEAD];
	if (!piece)
		return ux_error_nomem(s->err);
	a.piece = piece;
	UX_TRY(ux_adb_form(s->head, &form, &skip, s->err));
	s->head = ux_bytes(s->head.data + skip, s->head.size - skip);
	UX_TRY(ux_unpack_open(&a.unpack, form, apk_on_read, s, s->err));
	UX_TRY(apk_exactly(&a, head, sizeof(head)));
	if (memcmp(head, "ADB.pckg", sizeof(head)) != 0)
		return ux_error_set(s->err, UX_ECORRUPT, "not a package of apk-tools 3");
	UX_TRY(apk_read_values(&a));
	return apk_read_blocks(&a);
}
