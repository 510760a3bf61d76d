/* SPDX-License-Identifier: Apache-2.0 */
/* The files in the header of an rpm package. */
#include "rpm_header.h"

#include "cursor.h"

#include <sys/stat.h>

enum {
	ENTRY = 16, /* bytes: tag, type, offset in the data, count; all numbers are big-endian */
	GHOST = 1 << 6, /* flag of a file that is not in the payload */
};

/* Tags and types of entries. */
enum {
	TAG_FILESIZES = 1028,
	TAG_FILEMODES = 1030,
	TAG_FILEFLAGS = 1037,
	TAG_FILEDEVICES = 1095,
	TAG_FILEINODES = 1096,
	TAG_DIRINDEXES = 1116,
	TAG_BASENAMES = 1117,
	TAG_DIRNAMES = 1118,
	TAG_LONGFILESIZES = 5008,
	TYPE_INT16 = 3,
	TYPE_INT32 = 4,
	TYPE_INT64 = 5,
	TYPE_STRING_ARRAY = 8,
};

static const uint8_t lead_magic[] = {0xed, 0xab, 0xee, 0xdb};
static const uint8_t header_magic[] = {0x8e, 0xad, 0xe8, 1};
static const bool swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

bool ux_rpm_is(struct ux_bytes head)
{
	return ux_bytes_starts(head, ux_bytes(lead_magic, sizeof(lead_magic)));
}

/* Numbers of the introduction. */
struct rpm_intro {
	uint32_t entries;
	uint32_t data; /* bytes */
};

static enum ux_code rpm_intro_read(struct ux_bytes intro, struct rpm_intro *ret,
				   struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(intro, "header", swapped);
	if (!ux_bytes_eq(ux_cur_take(&c, sizeof(header_magic)),
			 ux_bytes(header_magic, sizeof(header_magic))))
		ux_cur_bad(&c, "not an rpm package header");
	ux_cur_skip(&c, 4); /* reserved */
	ret->entries = ux_cur_u32(&c);
	ret->data = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (ret->entries > UX_RPM_ENTRIES_MAX || ret->data > UX_RPM_DATA_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "the package's header is too large: %u entries and %u bytes",
				    ret->entries, ret->data);
	return UX_OK;
}

enum ux_code ux_rpm_intro(struct ux_bytes intro, uint64_t *ret, struct ux_error *err)
{
	struct rpm_intro i = {0};
	UX_TRY(rpm_intro_read(intro, &i, err));
	*ret = (uint64_t)i.entries * ENTRY + i.data;
	return UX_OK;
}

/* A header: its table of entries, and their data. */
struct rpm_header {
	struct ux_bytes entries;
	struct ux_bytes data;
};

/* The values of a tag. count 0: no values. */
struct rpm_values {
	struct ux_cur at;
	uint32_t type;
	uint32_t count;
};

static enum ux_code rpm_find(const struct rpm_header *h, uint32_t tag, const char *name,
			     struct rpm_values *ret, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(h->entries, "header", swapped);
	*ret = (struct rpm_values){0};
	while (ux_cur_more(&c)) {
		uint32_t its = ux_cur_u32(&c), type = ux_cur_u32(&c), off = ux_cur_u32(&c);
		uint32_t count = ux_cur_u32(&c);
		struct ux_bytes values = UX_BYTES_NONE;
		if (its != tag || c.failed)
			continue;
		if (off > h->data.size || !ux_bytes_sub(h->data, off, h->data.size - off, &values))
			return ux_error_set(err, UX_ECORRUPT,
					    "%s begin at %u of %zu bytes of the header", name, off,
					    h->data.size);
		if (count > UX_RPM_FILES_MAX)
			return ux_error_set(err, UX_ELIMIT, "too many values: %u %s", count, name);
		*ret = (struct rpm_values){ux_cur_make(values, name, swapped), type, count};
		return UX_OK;
	}
	return ux_cur_status(&c, err);
}

/* The next number of a tag, whatever its width. */
static uint64_t rpm_number(struct rpm_values *v)
{
	switch (v->type) {
	case TYPE_INT16:
		return ux_cur_u16(&v->at);
	case TYPE_INT32:
		return ux_cur_u32(&v->at);
	case TYPE_INT64:
		return ux_cur_u64(&v->at);
	default:
		ux_cur_bad(&v->at, "expected numbers");
		return 0;
	}
}

static const char *rpm_text(struct rpm_values *v)
{
	if (v->type != TYPE_STRING_ARRAY)
		ux_cur_bad(&v->at, "expected strings");
	struct ux_bytes text = ux_cur_str(&v->at);
	return text.data ? (const char *)text.data : "";
}

/* Further facts about each file while the list is made. */
struct rpm_inode {
	uint64_t device, inode;
	uint32_t number;
};

static int rpm_by_inode(const void *x, const void *y)
{
	const struct rpm_inode *a = x, *b = y;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Drops the content of all but the last name of a file: only the last has it. */
static void rpm_clear_links(struct ux_rpm_files *files, struct rpm_inode *inodes, size_t n)
{
	if (n > 1)
		qsort(inodes, n, sizeof(*inodes), rpm_by_inode);
	for (size_t i = 0; i + 1 < n; i++)
		if (inodes[i].device == inodes[i + 1].device &&
		    inodes[i].inode == inodes[i + 1].inode)
			files->list[inodes[i].number].size = 0;
}

/* All tags that the list is made from. */
struct rpm_tags {
	struct rpm_values names, folders, folder_of, sizes, modes, flags, devices, inodes;
};

static enum ux_code rpm_find_tags(const struct rpm_header *h, struct rpm_tags *t,
				  struct ux_error *err)
{
	struct rpm_values wide = {0};
	UX_TRY(rpm_find(h, TAG_BASENAMES, "names", &t->names, err));
	UX_TRY(rpm_find(h, TAG_DIRNAMES, "folders", &t->folders, err));
	UX_TRY(rpm_find(h, TAG_DIRINDEXES, "folder indexes", &t->folder_of, err));
	UX_TRY(rpm_find(h, TAG_FILESIZES, "sizes", &t->sizes, err));
	UX_TRY(rpm_find(h, TAG_LONGFILESIZES, "sizes", &wide, err));
	UX_TRY(rpm_find(h, TAG_FILEMODES, "modes", &t->modes, err));
	UX_TRY(rpm_find(h, TAG_FILEFLAGS, "flags", &t->flags, err));
	UX_TRY(rpm_find(h, TAG_FILEDEVICES, "devices", &t->devices, err));
	UX_TRY(rpm_find(h, TAG_FILEINODES, "inodes", &t->inodes, err));
	t->sizes = wide.count > 0 ? wide : t->sizes;
	uint32_t n = t->names.count;
	if (t->folder_of.count != n || t->sizes.count != n || t->modes.count != n ||
	    t->flags.count != n || t->devices.count != n || t->inodes.count != n)
		return ux_error_set(
			err, UX_ECORRUPT,
			"the header has %u names, but not as many folders, sizes, modes, flags, "
			"devices or inodes",
			n);
	return UX_OK;
}

/* Reads the names of all folders. */
static enum ux_code rpm_read_folders(struct rpm_values *v, struct ux_arena *arena,
				     const char ***ret, struct ux_error *err)
{
	const char **list = ux_arena_array(arena, const char *, (size_t)v->count + 1);
	if (!list)
		return ux_arena_fail(arena, err);
	for (uint32_t i = 0; i < v->count; i++)
		list[i] = rpm_text(v);
	*ret = list;
	return v->count > 0 ? ux_cur_status(&v->at, err) : UX_OK;
}

static enum ux_code rpm_read_file(struct rpm_tags *t, const char *const *folders,
				  struct ux_rpm_file *ret, struct rpm_inode *inode, bool *ret_links,
				  struct ux_error *err)
{
	uint64_t folder = rpm_number(&t->folder_of), size = rpm_number(&t->sizes);
	uint64_t mode = rpm_number(&t->modes), flags = rpm_number(&t->flags);
	inode->device = rpm_number(&t->devices);
	inode->inode = rpm_number(&t->inodes);
	ret->name = rpm_text(&t->names);
	struct rpm_values *const all[] = {&t->folder_of, &t->sizes,  &t->modes, &t->flags,
					  &t->devices,   &t->inodes, &t->names};
	for (size_t i = 0; i < ux_countof(all); i++)
		UX_TRY(ux_cur_status(&all[i]->at, err));
	if (folder >= t->folders.count)
		return ux_error_set(err, UX_ECORRUPT,
				    "a file is in folder %" PRIu64 "; expected less than %u",
				    folder, t->folders.count);
	ret->folder = folders[folder];
	ret->regular = S_ISREG(mode);
	ret->size = ret->regular || S_ISLNK(mode) ? size : 0;
	*ret_links = ret->regular && (flags & GHOST) == 0;
	return UX_OK;
}

enum ux_code ux_rpm_files_read(struct ux_bytes header, struct ux_arena *arena,
			       struct ux_rpm_files *ret, struct ux_error *err)
{
	struct rpm_intro intro = {0};
	struct rpm_header h;
	struct rpm_tags t = {0};
	const char **folders = NULL;
	size_t links = 0;
	UX_TRY(rpm_intro_read(header, &intro, err));
	if (!ux_bytes_sub(header, UX_RPM_INTRO_BYTES, (uint64_t)intro.entries * ENTRY,
			  &h.entries) ||
	    !ux_bytes_sub(header, UX_RPM_INTRO_BYTES + (uint64_t)intro.entries * ENTRY, intro.data,
			  &h.data))
		return ux_error_set(err, UX_ECORRUPT, "the package's header is truncated");
	UX_TRY(rpm_find_tags(&h, &t, err));
	UX_TRY(rpm_read_folders(&t.folders, arena, &folders, err));
	*ret = (struct ux_rpm_files){.n = t.names.count};
	ret->list = ux_arena_array(arena, struct ux_rpm_file, ret->n + 1);
	struct rpm_inode *inodes = ux_arena_array(arena, struct rpm_inode, ret->n + 1);
	if (!ret->list || !inodes)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < ret->n; i++) {
		bool linked = false;
		inodes[links].number = (uint32_t)i;
		UX_TRY(rpm_read_file(&t, folders, &ret->list[i], &inodes[links], &linked, err));
		links += linked;
	}
	rpm_clear_links(ret, inodes, links);
	return UX_OK;
}
