/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds modules in archives. Archives and their members are untrusted: a confined child unpacks the
 * archive into an unnamed file, and further children read the members in it.
 */
#include "push_archive.h"

#include "clock.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 8,             /* archives inside each other */
	NESTED_MAX = 10000,        /* archives inside of one */
	RATIO_MAX = 200,           /* bytes that come out for each byte of the archive... */
	FREE_SIZE = 256 << 20,     /* ...and in addition */
	UNPACK_MEMORY = 768 << 20, /* bytes; decoders have windows of up to 128 MiB */
	UNPACK_SECONDS = 600,      /* seconds of processor time for unpacking */
	FACTS_SECONDS = 60,
	FACTS_LARGE = 8 << 20,      /* bytes of a file whose GPU code may be large */
	RUNTIME_MEMORY = 192 << 20, /* bytes; names, ranges and lines of all code */
	RUNTIME_SECONDS = 60,
	SYMBOLS_SECONDS = 1800,
	NAMES_MAX = 256 << 20, /* bytes of memory for the names of one archive */
};

#define UNPACKED_MAX   (UINT64_C(64) << 30) /* limit of the bytes that one archive may unpack to */
#define SYMBOLS_MEMORY (UINT64_C(2) << 30)  /* bytes, beside the mapped files */
/* bytes of a sparse file for data over a limit: for sections that are compressed well, and in
 * addition */
#define DISK_RATIO 40
#define DISK_FREE  (UINT64_C(512) << 20)
#define DISK_MAX   (UINT64_C(64) << 30)
#define GSYM_MAX   (UINT64_C(4) << 30)

static void archive_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

bool ux_push_archive_is(const char *path)
{
	uint8_t head[UX_MEMBERS_HEAD];
	ux_cleanup(archive_close_fd) int fd = -1;
	if (ux_file_open_regular(AT_FDCWD, path, 0, &fd, NULL) != UX_OK)
		return false;
	ssize_t n = read(fd, head, sizeof(head));
	return n > 0 && ux_member_kind(ux_bytes(head, (size_t)n), path) == UX_MEMBER_ARCHIVE;
}

void ux_push_archives_close(struct ux_push_work *p)
{
	for (size_t i = 0; i < p->packs.size; i++)
		close(p->packs.data[i]);
	ux_push_packs_deinit(&p->packs);
	ux_image_layers_deinit(&p->layers);
	ux_scan_inodes_deinit(&p->members_seen);
	archive_close_fd(&p->scratch);
	p->scratch = -1;
	ux_fork_server_stop(p->forks);
	p->forks = NULL;
}

/* Returns the limits of a child, which must end before the deadline of the push. */
static struct ux_sandbox_limits archive_limits(const struct ux_push_work *p, uint64_t memory,
					       uint64_t output, unsigned seconds)
{
	int64_t left = (p->client.deadline_ms - ux_clock_ms()) / 1000 + 1;
	return (struct ux_sandbox_limits){
		.memory = memory,
		.output = output,
		.seconds = (unsigned)ux_max(ux_min(left, (int64_t)seconds), INT64_C(1)),
		.forks = p->forks,
		.pace = p->o->pace,
		.pace_ctx = p->o->pace_ctx,
	};
}

static uint64_t archive_disk(uint64_t input)
{
	return ux_min(DISK_FREE + ux_min(input, DISK_MAX) * DISK_RATIO, DISK_MAX);
}

enum ux_code ux_archive_leave_out(struct ux_archive_walk *w, const char *name, bool named,
				  const struct ux_error *why, struct ux_error *err)
{
	if (why->code == UX_ENOMEM)
		return ux_error_nomem(err);
	ux_push_report_left_out(w->p, name, named, why);
	return UX_OK;
}

enum ux_code ux_archive_begin(struct ux_push_work *p, struct ux_error *err)
{
	if (!p->forks)
		UX_TRY(ux_fork_server_start(&p->forks, NULL, err));
	return p->scratch < 0 ? ux_file_temporary(&p->scratch, err) : UX_OK;
}

enum ux_code ux_push_part_read(struct ux_push_work *p, const char *name,
			       const struct ux_sandbox_part *part, bool packed,
			       struct ux_push_modules *ret, struct ux_error *err)
{
	ux_cleanup(ux_module_facts_vec_deinit) struct ux_module_facts_vec facts = {0};
	UX_TRY(ux_archive_begin(p, err));
	struct ux_sandbox_limits limits =
		archive_limits(p, UNPACK_MEMORY, FREE_SIZE, FACTS_SECONDS);
	/* GPU code in a smaller file would not be worth a temporary file. */
	if (p->o->memory > 0 && part->size > FACTS_LARGE)
		limits.disk = archive_disk(part->size);
	if (lseek(p->scratch, 0, SEEK_SET) != 0 || ftruncate(p->scratch, 0) != 0)
		return ux_error_os(err, errno, "cannot use a temporary file");
	UX_TRY(ux_sandbox_facts(part, p->o->no_gpu, p->scratch, &limits, NULL, &facts, err));
	size_t before = ret->size;
	UX_TRY(ux_push_modules_add(ret, name, &facts, err));
	for (size_t i = before; i < ret->size; i++) {
		ret->data[i].part = *part;
		ret->data[i].packed = packed;
	}
	return UX_OK;
}

enum ux_code ux_push_runtime_read(struct ux_push_work *p, const struct ux_sandbox_part *file,
				  const struct ux_runtime_request *what, struct ux_mapping *ret,
				  struct ux_error *err)
{
	ux_cleanup(archive_close_fd) int out = -1;
	UX_TRY(ux_archive_begin(p, err));
	const struct ux_sandbox_limits limits =
		archive_limits(p, RUNTIME_MEMORY, FREE_SIZE, RUNTIME_SECONDS);
	UX_TRY(ux_spill_open(ux_spill_folder(), 0, &out, err));
	UX_TRY(ux_sandbox_runtime(file, what, out, &limits, NULL, err));
	return ux_file_map_fd(out, ret, err);
}

static enum ux_code archive_add_object(struct ux_archive_walk *w, const char *name,
				       const struct ux_sandbox_part *part, bool packed,
				       struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_push_part_read(w->p, name, part, packed, w->ret, &why);
	return code == UX_OK ? UX_OK : ux_archive_leave_out(w, name, /* named= */ false, &why, err);
}

static enum ux_code archive_unpack(struct ux_archive_walk *w, const char *name,
				   const struct ux_sandbox_part *archive, unsigned depth,
				   struct ux_error *err);

/* Reads an archive that is a member of another archive. */
static enum ux_code archive_read_nested(struct ux_archive_walk *w, const char *name,
					const struct ux_sandbox_part *part, unsigned depth,
					struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (depth == DEPTH_MAX)
		ux_error_set(&why, UX_ELIMIT, "archives are nested more than %d deep", DEPTH_MAX);
	else if (w->nested == NESTED_MAX)
		ux_error_set(&why, UX_ELIMIT, "one archive contains more than %d archives",
			     NESTED_MAX);
	if (why.code != UX_OK)
		return ux_archive_leave_out(w, name, /* named= */ true, &why, err);
	w->nested++;
	return archive_unpack(w, name, part, depth + 1, err);
}

enum ux_code ux_archive_add_member(struct ux_archive_walk *w, const char *archive, int pack,
				   const struct ux_packed_source *member, unsigned depth,
				   struct ux_error *err)
{
	enum ux_member_kind kind = UX_MEMBER_OTHER;
	const char *inside = NULL;
	ux_cleanup(ux_free_ptr) char *name = NULL;
	const struct ux_sandbox_part part = {pack, member->off, member->size};
	if (!ux_member_of_path(member->path, &kind, &inside) || member->size == 0)
		return UX_OK;
	if (asprintf(&name, "%s%s", archive, inside) < 0) {
		name = NULL;
		return ux_error_nomem(err);
	}
	switch (kind) {
	case UX_MEMBER_OBJECT:
		if (ux_archive_is_split(name))
			return ux_archive_keep_split(w, &part, err);
		return archive_add_object(w, name, &part, /* packed= */ false, err);
	case UX_MEMBER_GSYM:
		return archive_add_object(w, name, &part, /* packed= */ false, err);
	/* as in folders: other compressed members are not worth decompressing */
	case UX_MEMBER_PACKED:
		return ux_member_name_is_packed(name)
			       ? archive_add_object(w, name, &part, /* packed= */ true, err)
			       : UX_OK;
	case UX_MEMBER_ARCHIVE:
		return archive_read_nested(w, name, &part, depth, err);
	case UX_MEMBER_LINK:
	case UX_MEMBER_FOLDER:
	case UX_MEMBER_OTHER:
	case UX_MEMBER_KIND_COUNT:
		break;
	}
	return UX_OK;
}

static enum ux_code archive_add_members(struct ux_archive_walk *w, const char *name, int pack,
					unsigned depth, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_packed_source *list = NULL;
	struct ux_error why = UX_ERROR_INIT;
	size_t n = 0;
	UX_ARENA(arena, NAMES_MAX);
	enum ux_code code = ux_file_map_fd(pack, &file, &why);
	if (code == UX_OK)
		code = ux_source_pack_read(file.bytes, &arena, &list, &n, &why);
	if (code != UX_OK)
		return ux_archive_leave_out(w, name, /* named= */ true, &why, err);
	for (size_t i = 0; i < n; i++)
		UX_TRY(ux_archive_add_member(w, name, pack, &list[i], depth, err));
	return UX_OK;
}

enum ux_code ux_archive_unpack_to(struct ux_archive_walk *w, const struct ux_sandbox_part *archive,
				  enum ux_members_mode mode, int *ret, struct ux_error *err)
{
	uint64_t table = UX_SOURCE_PACK_TABLE_MAX + PATH_MAX;
	const struct ux_sandbox_limits limits =
		archive_limits(w->p, UNPACK_MEMORY, w->left + table, UNPACK_SECONDS);
	struct stat st;
	int pack = -1;
	UX_TRY(ux_file_temporary(&pack, err));
	if (!ux_push_packs_append(&w->p->packs, pack)) {
		close(pack);
		return ux_error_nomem(err);
	}
	UX_TRY(ux_sandbox_members(archive, mode, pack, &limits, NULL, err));
	if (fstat(pack, &st) != 0)
		return ux_error_os(err, errno, "cannot read the unpacked archive");
	w->left -= ux_min(w->left, (uint64_t)st.st_size);
	*ret = pack;
	return UX_OK;
}

/* Unpacks an archive and adds its members. */
static enum ux_code archive_unpack(struct ux_archive_walk *w, const char *name,
				   const struct ux_sandbox_part *archive, unsigned depth,
				   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	int pack = -1;
	return ux_archive_unpack_to(w, archive, UX_MEMBERS_SYMBOLS, &pack, &why) == UX_OK
		       ? archive_add_members(w, name, pack, depth, err)
		       : ux_archive_leave_out(w, name, w->named || depth > 0, &why, err);
}

uint64_t ux_archive_budget(uint64_t size)
{
	return ux_min((uint64_t)FREE_SIZE + ux_min(size, UNPACKED_MAX) * RATIO_MAX, UNPACKED_MAX);
}

static enum ux_code archive_read_fd(struct ux_archive_walk *w, const char *path, int fd,
				    struct ux_error *err)
{
	struct stat st;
	struct ux_error why = UX_ERROR_INIT;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		ux_error_set(&why, UX_EINVAL, "not a regular file");
		return ux_archive_leave_out(w, path, w->named, &why, err);
	}
	if (ux_archive_begin(w->p, &why) != UX_OK)
		return ux_archive_leave_out(w, path, w->named, &why, err);
	const struct ux_sandbox_part whole = {fd, 0, (uint64_t)st.st_size};
	w->left = ux_archive_budget(whole.size);
	size_t first = w->ret->size;
	UX_TRY(archive_unpack(w, path, &whole, 0, err));
	return ux_archive_give_split(w, first, err);
}

enum ux_code ux_push_archive_read(struct ux_push_work *p, const char *path, bool named,
				  struct ux_push_modules *ret, struct ux_error *err)
{
	struct ux_archive_walk w = {.p = p, .ret = ret, .named = named};
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(archive_close_fd) int fd = -1;
	if (ux_file_open_regular(AT_FDCWD, path, 0, &fd, &why) != UX_OK)
		return ux_archive_leave_out(&w, path, named, &why, err);
	enum ux_code code = archive_read_fd(&w, path, fd, err);
	ux_push_parts_deinit(&w.split);
	return code;
}

/* --- extraction ------------------------------------------------------------------------------- */

/* Gets the bytes of a file: its part, or the whole file at its path, which *fd keeps open. */
static enum ux_code archive_part_of(const char *path, const struct ux_sandbox_part *part, int *fd,
				    struct ux_sandbox_part *ret, struct ux_error *err)
{
	struct stat st;
	*ret = *part;
	if (part->size > 0)
		return UX_OK;
	UX_TRY(ux_file_open_regular(AT_FDCWD, path, 0, fd, err));
	if (fstat(*fd, &st) != 0)
		return ux_error_os(err, errno, "cannot stat");
	*ret = (struct ux_sandbox_part){*fd, 0, (uint64_t)st.st_size};
	return UX_OK;
}

/* Finds the supplementary file, first among the modules. Finding none is not an error. */
static enum ux_code archive_find_supplementary(const struct ux_push_work *p,
					       struct ux_push_module *m,
					       const struct ux_sandbox_found *found,
					       struct ux_sandbox_symbols *what,
					       struct ux_error *err)
{
	const size_t *number = ux_push_by_id_find(&p->known, found->supplementary);
	if (number)
		what->supplementary = p->modules.data[*number].part;
	else if (p->o->supplementary)
		UX_TRY(p->o->supplementary(p->o->supplementary_ctx, m, &found->supplementary,
					   found->supplementary_path, &what->supplementary, err));
	what->no_supplementary = what->supplementary.size == 0;
	return UX_OK;
}

enum ux_code ux_push_reused_open(struct ux_push_reused *ret, struct ux_error *err)
{
	*ret = (struct ux_push_reused){.gsym = -1, .spill = -1};
	UX_TRY(ux_spill_open(ux_spill_folder(), 0, &ret->gsym, err));
	return ux_spill_open(ux_spill_folder(), 0, &ret->spill, err);
}

void ux_push_reused_close(struct ux_push_reused *r)
{
	archive_close_fd(&r->gsym);
	archive_close_fd(&r->spill);
	*r = (struct ux_push_reused){.gsym = -1, .spill = -1};
}

/* Gets an empty file for a GSYM in *ret. *own: the same file if it was created for this GSYM and
 * must be closed. */
static enum ux_code archive_open_output(const struct ux_push_work *p, int *own, int *ret,
					struct ux_error *err)
{
	archive_close_fd(own);
	*own = -1;
	if (!p->reused) {
		UX_TRY(ux_spill_open(ux_spill_folder(), 0, own, err));
		*ret = *own;
		return UX_OK;
	}
	*ret = p->reused->gsym;
	if (lseek(*ret, 0, SEEK_SET) != 0 || ftruncate(*ret, 0) != 0)
		return ux_error_os(err, errno, "cannot use a temporary file");
	return UX_OK;
}

/* Extracts in a child. If the module needs its supplementary file, runs the child again with
 * that. */
static enum ux_code archive_run_extraction(const struct ux_push_work *p, struct ux_push_module *m,
					   struct ux_sandbox_symbols *what,
					   const struct ux_sandbox_limits *limits, int *own,
					   int *ret_out, struct ux_sandbox_found *ret,
					   struct ux_error *err)
{
	UX_TRY(archive_open_output(p, own, ret_out, err));
	UX_TRY(ux_sandbox_symbols(what, *ret_out, limits, NULL, ret, err));
	if (!ret->needs_supplementary)
		return UX_OK;
	UX_TRY(archive_find_supplementary(p, m, ret, what, err));
	return ux_sandbox_symbols(what, *ret_out, limits, NULL, ret, err);
}

enum ux_code ux_push_archive_extract(const struct ux_push_work *p, struct ux_push_module *m,
				     struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
				     struct ux_error *err)
{
	ux_cleanup(archive_close_fd) int exe = -1, debug = -1, own = -1;
	int out = -1;
	struct ux_sandbox_limits limits = archive_limits(
		p, p->o->memory > 0 ? p->o->memory : SYMBOLS_MEMORY, GSYM_MAX, SYMBOLS_SECONDS);
	struct ux_sandbox_symbols what = {
		.arch = m->arch[0] != '\0' ? m->arch : NULL,
		.gpu = m->gpu,
		.allow_mismatch = p->o->allow_mismatch,
		.no_dwarf = p->o->no_dwarf,
		.split = m->split,
	};
	struct ux_sandbox_found found = {0};
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(archive_part_of(m->path, &m->part, &exe, &what.exe, err));
	if (m->debug)
		UX_TRY(archive_part_of(m->debug, &m->debug_part, &debug, &what.debug, err));
	if (p->o->memory > 0)
		limits.disk = archive_disk(what.exe.size + what.debug.size);
	if (p->reused)
		limits.spill = &p->reused->spill;
	enum ux_code code = archive_run_extraction(p, m, &what, &limits, &own, &out, &found, &why);
	if (code == UX_ELIMIT && p->o->names_at_least && !what.no_dwarf) {
		snprintf(m->lost, sizeof(m->lost), "names only: %.100s", why.text);
		what.no_dwarf = true;
		why = (struct ux_error)UX_ERROR_INIT;
		code = archive_run_extraction(p, m, &what, &limits, &own, &out, &found, &why);
	}
	if (code != UX_OK) {
		*err = why;
		return code;
	}
	stats->quality = found.quality;
	stats->counts = found.counts;
	stats->split_units = found.split_units;
	stats->split_missing = found.split_missing;
	ux_push_gsym_deinit(gsym);
	return ux_file_map_fd(out, &gsym->file, err);
}
