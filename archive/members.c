/* SPDX-License-Identifier: Apache-2.0 */
/* The members of an archive that can have symbols, read by libarchive. */
#include "members.h"

#include "adb_value.h"
#include "member_stream.h"
#include "path_canonical.h"

enum {
	PIECE = 256 << 10,
	ALIGN = 64, /* readers of object files like aligned tables */
	TAR_MAGIC = 257,
	JAVA_FIRST = 45, /* first version of Java's classes */
};

static const char *const kind_folders[UX_MEMBER_KIND_COUNT] = {
	[UX_MEMBER_OTHER] = "/other",   [UX_MEMBER_OBJECT] = "/object",
	[UX_MEMBER_PACKED] = "/packed", [UX_MEMBER_GSYM] = "/gsym",
	[UX_MEMBER_FOLDER] = "/folder", [UX_MEMBER_ARCHIVE] = "/archive",
	[UX_MEMBER_LINK] = "/link",
};

static bool member_name_ends(const char *name, const char *ending)
{
	size_t n = strlen(name), e = strlen(ending);
	return n > e && strcasecmp(name + n - e, ending) == 0;
}

/* Returns whether a compressed file of this name is an archive. */
static bool member_name_is_archive(const char *name)
{
	static const char *const endings[] = {".tgz",     ".txz",     ".tzst",    ".tbz",
					      ".tbz2",    ".apk",     ".crate",   ".tlz",
					      ".cpio.gz", ".cpio.xz", ".cpio.zst"};
	static const char *const packers[] = {".gz", ".xz", ".zst", ".bz2", ".lzma", ".lz4"};
	char ending[16];
	for (size_t i = 0; i < ux_countof(endings); i++)
		if (member_name_ends(name, endings[i]))
			return true;
	for (size_t i = 0; i < ux_countof(packers); i++) {
		snprintf(ending, sizeof(ending), ".tar%s", packers[i]);
		if (member_name_ends(name, ending))
			return true;
	}
	return false;
}

bool ux_member_name_is_packed(const char *path)
{
	static const char *const inner[] = {".ko", ".debug"};
	static const char *const outer[] = {".xz", ".zst", ".gz"};
	size_t size = strlen(path);
	for (size_t i = 0; i < ux_countof(inner) * ux_countof(outer); i++) {
		char ending[16];
		int n = snprintf(ending, sizeof(ending), "%s%s", inner[i % ux_countof(inner)],
				 outer[i / ux_countof(inner)]);
		if (size > (size_t)n && strcmp(path + size - (size_t)n, ending) == 0)
			return true;
	}
	return false;
}

/* Returns whether it is a universal Mach-O file. A Java class begins with the same bytes, followed
 * by a version above 44. */
static bool member_is_universal(struct ux_bytes head)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xba};
	return head.size >= 8 && ux_bytes_starts(head, ux_bytes(magic, sizeof(magic))) &&
	       (head.data[3] == 0xbe || head.data[3] == 0xbf) && head.data[4] == 0 &&
	       head.data[5] == 0 && head.data[6] == 0 && head.data[7] < JAVA_FIRST;
}

enum ux_member_kind ux_member_kind(struct ux_bytes head, const char *name)
{
	static const struct {
		size_t off, size;
		uint8_t bytes[16];
		enum ux_member_kind kind;
	} known[] = {
		{0, 4, {0x7f, 'E', 'L', 'F'}, UX_MEMBER_OBJECT},
		{0, 4, {0xcf, 0xfa, 0xed, 0xfe}, UX_MEMBER_OBJECT}, /* Mach-O, 64 bits */
		{0, 4, {0xce, 0xfa, 0xed, 0xfe}, UX_MEMBER_OBJECT}, /* 32 bits */
		{0, 4, {0xfe, 0xed, 0xfa, 0xcf}, UX_MEMBER_OBJECT},
		{0, 4, {0xfe, 0xed, 0xfa, 0xce}, UX_MEMBER_OBJECT},
		{0, 4, {0x50, 0xed, 0x55, 0xba}, UX_MEMBER_OBJECT}, /* fat binary of CUDA */
		{0, 4, {0x4d, 0x59, 0x53, 0x47}, UX_MEMBER_GSYM},
		{0, 4, {0x47, 0x53, 0x59, 0x4d}, UX_MEMBER_GSYM},
		{0, 4, {'P', 'K', 3, 4}, UX_MEMBER_ARCHIVE},
		{0, 4, {0xed, 0xab, 0xee, 0xdb}, UX_MEMBER_ARCHIVE},       /* rpm */
		{0, 6, {'0', '7', '0', '7', '0', '1'}, UX_MEMBER_ARCHIVE}, /* cpio */
		{8,
		 13,
		 {'d', 'e', 'b', 'i', 'a', 'n', '-', 'b', 'i', 'n', 'a', 'r', 'y'},
		 UX_MEMBER_ARCHIVE},
		{TAR_MAGIC, 5, {'u', 's', 't', 'a', 'r'}, UX_MEMBER_ARCHIVE},
		{0, 3, {0x1f, 0x8b, 8}, UX_MEMBER_PACKED},               /* gzip */
		{0, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, UX_MEMBER_PACKED}, /* xz */
		{0, 4, {0x28, 0xb5, 0x2f, 0xfd}, UX_MEMBER_PACKED},      /* zstd */
		{0, 3, {'B', 'Z', 'h'}, UX_MEMBER_PACKED},
		{0, 4, {0x04, 0x22, 0x4d, 0x18}, UX_MEMBER_PACKED}, /* lz4 */
		{0, 3, {0x5d, 0, 0}, UX_MEMBER_PACKED},             /* lzma */
	};
	for (size_t i = 0; i < ux_countof(known); i++) {
		struct ux_bytes at = UX_BYTES_NONE;
		if (!ux_bytes_sub(head, known[i].off, known[i].size, &at) ||
		    memcmp(at.data, known[i].bytes, at.size) != 0)
			continue;
		bool packed = known[i].kind == UX_MEMBER_PACKED;
		return packed && member_name_is_archive(name) ? UX_MEMBER_ARCHIVE : known[i].kind;
	}
	if (ux_adb_is(head) && member_name_ends(name, ".apk"))
		return UX_MEMBER_ARCHIVE;
	return member_is_universal(head) ? UX_MEMBER_OBJECT : UX_MEMBER_OTHER;
}

bool ux_member_of_path(const char *path, enum ux_member_kind *ret, const char **ret_name)
{
	for (unsigned kind = 0; kind < UX_MEMBER_KIND_COUNT; kind++) {
		size_t n = strlen(kind_folders[kind]);
		if (strncmp(path, kind_folders[kind], n) != 0 || path[n] != '/')
			continue;
		*ret = (enum ux_member_kind)kind;
		*ret_name = path + n;
		return true;
	}
	return false;
}

struct members {
	const struct ux_archive_calls *calls;
	struct archive *archive;
	struct ux_source_packer *packer;
	uint64_t max;
	enum ux_members_mode mode;
	uint8_t *piece;
	struct ux_error *err;
};

static void members_deinit(struct members *m)
{
	if (m->archive)
		(void)m->calls->archive_read_free(m->archive);
	free(m->piece);
}

static enum ux_code members_put(const struct members *m, const void *data, size_t n)
{
	if (m->packer->size + n > m->max)
		return ux_error_set(m->err, UX_ELIMIT,
				    "the content of the archive exceeds %" PRIu64 " bytes", m->max);
	return ux_source_packer_put(m->packer, ux_bytes(data, n), m->err);
}

/* Writes zeros up to the next position where a content may begin. */
static enum ux_code members_align(const struct members *m)
{
	static const uint8_t zeros[ALIGN];
	size_t n = -m->packer->size & (ALIGN - 1);
	return n > 0 ? members_put(m, zeros, n) : UX_OK;
}

/* Ends a member whose content began at off. name is canonical. */
static enum ux_code members_name(const struct members *m, enum ux_member_kind kind,
				 const char *name, uint64_t off, struct ux_arena *arena)
{
	size_t folder = strlen(kind_folders[kind]), n = strlen(name);
	char *path = ux_arena_array(arena, char, folder + n + 1);
	if (!path)
		return ux_arena_fail(arena, m->err);
	memcpy(path, kind_folders[kind], folder);
	memcpy(path + folder, name, n + 1);
	if (folder + n >= UX_PATH_BYTES)
		return ux_error_set(m->err, UX_ELIMIT,
				    "a name in the archive is too long: %zu bytes", n);
	return ux_source_packer_name(m->packer, path, off, m->err);
}

static enum ux_code members_content(const struct members *m, const char *name,
				    struct ux_arena *arena)
{
	/* a whole piece: some kinds show only after some hundred bytes */
	ssize_t n = ux_archive_read_piece(m->calls, m->archive, m->piece, PIECE);
	if (n < 0)
		return ux_archive_failure(m->calls, m->archive, m->err);
	enum ux_member_kind kind = ux_member_kind(
		ux_bytes(m->piece, ux_min((size_t)n, (size_t)UX_MEMBERS_HEAD)), name);
	if (kind == UX_MEMBER_OTHER && m->mode == UX_MEMBERS_SYMBOLS)
		return UX_OK;
	if (kind == UX_MEMBER_OTHER && m->mode == UX_MEMBERS_FILE_SYSTEM)
		return members_name(m, kind, name, m->packer->size, arena);
	UX_TRY(members_align(m));
	uint64_t off = m->packer->size;
	while (n > 0) {
		UX_TRY(members_put(m, m->piece, (size_t)n));
		n = ux_archive_read_piece(m->calls, m->archive, m->piece, PIECE);
	}
	if (n < 0)
		return ux_archive_failure(m->calls, m->archive, m->err);
	return members_name(m, kind, name, off, arena);
}

/* Adds another name of the same file. base: the folder that a relative target counts from. */
static enum ux_code members_link(const struct members *m, const char *name, struct ux_bytes base,
				 const char *target, struct ux_arena *arena)
{
	const char *path = NULL;
	size_t n = strlen(target);
	char *whole = ux_arena_array(arena, char, base.size + n + 2);
	if (!whole)
		return ux_arena_fail(arena, m->err);
	memcpy(whole, base.data, base.size);
	whole[base.size] = '/';
	memcpy(whole + base.size + 1, target, n + 1);
	UX_TRY(ux_path_of_source(ux_bytes(whole, base.size + 1 + n), arena, &path, m->err));
	uint64_t off = m->packer->size;
	UX_TRY(members_put(m, path, strlen(path)));
	return members_name(m, UX_MEMBER_LINK, name, off, arena);
}

/* Adds a member without content: a folder, a link, a device. */
static enum ux_code members_add_name(const struct members *m, struct archive_entry *entry,
				     const char *name, struct ux_arena *arena)
{
	const char *hard = m->calls->archive_entry_hardlink(entry);
	const char *soft = m->calls->archive_entry_symlink(entry);
	bool folder = m->calls->archive_entry_filetype(entry) == AE_IFDIR;
	bool all = m->mode == UX_MEMBERS_CONTENTS;
	if (hard)
		return members_link(m, name, ux_bytes("", 0), hard, arena);
	if (soft && all)
		return members_link(m, name,
				    soft[0] == '/'
					    ? ux_bytes("", 0)
					    : ux_bytes(name, (size_t)(strrchr(name, '/') - name)),
				    soft, arena);
	if (all)
		return UX_OK;
	return members_name(m, folder ? UX_MEMBER_FOLDER : UX_MEMBER_OTHER, name, m->packer->size,
			    arena);
}

/* Returns whether the member is the packed folder itself, as in `tar -c .` and layers of images. */
static bool members_is_root(const struct members *m, struct archive_entry *entry, const char *name)
{
	return m->calls->archive_entry_filetype(entry) == AE_IFDIR &&
	       name[strspn(name, "./")] == '\0' && !strstr(name, "..");
}

static enum ux_code members_add(const struct members *m, struct archive_entry *entry)
{
	UX_ARENA(arena, 8 * UX_PATH_BYTES);
	const char *path = NULL;
	bool content = m->calls->archive_entry_filetype(entry) == AE_IFREG &&
		       !m->calls->archive_entry_hardlink(entry);
	if (!content && m->mode == UX_MEMBERS_SYMBOLS)
		return UX_OK;
	const char *name = m->calls->archive_entry_pathname(entry);
	name = name ? name : m->calls->archive_entry_pathname_utf8(entry);
	if (!name)
		return ux_error_set(m->err, UX_ECORRUPT, "a member of the archive has no name");
	if (members_is_root(m, entry, name))
		return UX_OK;
	UX_TRY(ux_path_of_source(ux_bytes_cstr(name), &arena, &path, m->err));
	return content ? members_content(m, path, &arena)
		       : members_add_name(m, entry, path, &arena);
}

static enum ux_code members_all(const struct members *m)
{
	struct archive_entry *entry = NULL;
	for (unsigned n = 0;; n++) {
		int r = m->calls->archive_read_next_header(m->archive, &entry);
		if (r == ARCHIVE_EOF)
			return ux_source_packer_end(m->packer, m->err);
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return ux_archive_failure(m->calls, m->archive, m->err);
		if (n == UX_MEMBERS_MAX)
			return ux_error_set(m->err, UX_ELIMIT,
					    "the archive has more than %u members", n);
		UX_TRY(members_add(m, entry));
	}
}

/* --- packages of apk-tools 3, which libarchive cannot read ------------------------------------ */

/* A member that is being written. */
struct members_stream {
	const struct members *m;
	enum ux_member_kind kind;
	char name[UX_PATH_BYTES];
	uint64_t off;
};

static enum ux_code members_on_begin(void *ctx, enum ux_member_kind kind, const char *name,
				     uint64_t size, struct ux_error *err)
{
	struct members_stream *s = ctx;
	(void)size;
	if (strlen(name) >= sizeof(s->name))
		return ux_error_set(err, UX_ELIMIT, "a name in the archive is too long: %zu bytes",
				    strlen(name));
	UX_TRY(members_align(s->m));
	s->kind = kind;
	s->off = s->m->packer->size;
	memcpy(s->name, name, strlen(name) + 1);
	return UX_OK;
}

static enum ux_code members_on_put(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct members_stream *s = ctx;
	(void)err; /* the reading has its own error */
	return members_put(s->m, bytes.data, bytes.size);
}

static enum ux_code members_on_end(void *ctx, struct ux_error *err)
{
	UX_ARENA(arena, 4 * UX_PATH_BYTES);
	const struct members_stream *s = ctx;
	(void)err;
	return members_name(s->m, s->kind, s->name, s->off, &arena);
}

static enum ux_code members_of_stream(struct members *m, struct ux_bytes file)
{
	struct members_stream to = {.m = m};
	struct ux_error why = UX_ERROR_INIT, *err = m->err;
	const struct ux_stream_source source = {.read = ux_unpack_from_bytes, .ctx = &file};
	const struct ux_stream_sink sink = {.begin = members_on_begin,
					    .put = members_on_put,
					    .end = members_on_end,
					    .ctx = &to};
	m->err = &why;
	enum ux_code code = ux_member_stream_read(m->calls, &source, &sink, &why);
	if (code == UX_OK)
		code = ux_source_packer_end(m->packer, &why);
	m->err = err;
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

static bool members_set_up(const struct members *m, struct ux_bytes file)
{
	const struct ux_archive_calls *c = m->calls;
	int (*const supports[])(struct archive *) = {
		c->archive_read_support_filter_bzip2, c->archive_read_support_filter_gzip,
		c->archive_read_support_filter_lz4,   c->archive_read_support_filter_lzma,
		c->archive_read_support_filter_rpm,   c->archive_read_support_filter_xz,
		c->archive_read_support_filter_zstd,  c->archive_read_support_format_ar,
		c->archive_read_support_format_cpio,  c->archive_read_support_format_tar,
		c->archive_read_support_format_zip,
	};
	for (size_t i = 0; i < ux_countof(supports); i++)
		if (supports[i](m->archive) != ARCHIVE_OK)
			return false;
	return c->archive_read_open_memory(m->archive, file.data, file.size) == ARCHIVE_OK;
}

enum ux_code ux_members_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			       uint64_t max, enum ux_members_mode mode,
			       struct ux_source_packer *packer, struct ux_error *err)
{
	ux_cleanup(members_deinit) struct members m = {
		.calls = calls, .packer = packer, .max = max, .mode = mode, .err = err};
	if (mode == UX_MEMBERS_SYMBOLS && ux_adb_is(file))
		return members_of_stream(&m, file);
	m.archive = calls->archive_read_new();
	m.piece = malloc(PIECE);
	if (!m.archive || !m.piece)
		return ux_error_nomem(err);
	return members_set_up(&m, file) ? members_all(&m)
					: ux_archive_failure(calls, m.archive, err);
}
