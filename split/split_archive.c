/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the libraries in a ZIP archive: wheels, JARs. */
#include "split.h"

#include "debug_file.h"
#include "file_kind.h"
#include "macho_fat.h"
#include "path_base.h"
#include "split_input.h"
#include "zip_file.h"

#include <limits.h>

enum {
	NAME_BYTES_MAX = 4096, /* bytes of the path of a member that is split */
};

UX_VEC(wheel_changes, struct ux_wheel_change);

/* The state of one archive. */
struct archive_work {
	const struct ux_split_options *options;
	ux_split_member_fn *report;
	void *ctx;
	const struct ux_split_input *in;
	struct ux_zip_file zip;
	struct ux_zip_change *changes; /* malloc'ed, for each member; contents are malloc'ed */
	struct wheel_changes libraries;
	size_t record; /* member that is RECORD; SIZE_MAX: it is not a wheel */
	struct ux_file_new debug;
	struct ux_file_new archive;
	struct ux_zip_writer writer;
	uint64_t debug_bytes;
	size_t bundles; /* dSYM bundles among the debug files */
};

static void archive_work_deinit(struct archive_work *w)
{
	for (size_t i = 0; w->changes && i < w->zip.members.size; i++)
		free((void *)(uintptr_t)w->changes[i].content.data);
	free(w->changes);
	wheel_changes_deinit(&w->libraries);
	ux_zip_writer_deinit(&w->writer);
	ux_file_new_deinit(&w->debug);
	ux_file_new_deinit(&w->archive);
	ux_zip_close(&w->zip);
}

/* --- archives that are refused -----------------------------------------------------------------
 */

/* Returns whether a member is the signature of a JAR (META-INF/NAME.SF and so on). */
static bool archive_is_jar_signature(struct ux_bytes name)
{
	static const char *const suffixes[] = {".SF", ".RSA", ".DSA", ".EC"};
	if (!ux_bytes_starts(name, UX_STR("META-INF/")))
		return false;
	for (size_t i = 0; i < ux_countof(suffixes); i++) {
		struct ux_bytes suffix = ux_bytes_cstr(suffixes[i]);
		if (name.size > suffix.size &&
		    memcmp(name.data + name.size - suffix.size, suffix.data, suffix.size) == 0)
			return true;
	}
	return false;
}

static enum ux_code archive_check(struct archive_work *w, struct ux_error *err)
{
	w->record = SIZE_MAX;
	for (size_t i = 0; i < w->zip.members.size; i++) {
		struct ux_bytes name = w->zip.members.data[i].name;
		if (ux_wheel_is_signature(name) || archive_is_jar_signature(name))
			return ux_error_set(err, UX_EUNSUPPORTED,
					    "is signed (%.*s); splitting invalidates the signature",
					    (int)ux_min(name.size, (size_t)64),
					    (const char *)name.data);
		if (ux_bytes_eq(name, UX_STR("AndroidManifest.xml")))
			return ux_error_set(
				err, UX_EUNSUPPORTED,
				"is an Android package with aligned, signed libraries; split "
				"them before packaging");
		if (ux_wheel_is_record(name))
			w->record = i;
	}
	return UX_OK;
}

/* --- members -----------------------------------------------------------------------------------
 */

static enum ux_code archive_collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

static enum ux_code archive_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_file_new *file = ctx;
	return file->fd >= 0 ? ux_split_write(file, bytes, err) : UX_OK;
}

static enum ux_code archive_count(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct archive_work *w = ctx;
	w->debug_bytes += bytes.size;
	return archive_write(&w->debug, bytes, err);
}

/* Sets the time of a debug file: its library's, or the one in the options. */
static void archive_debug_time(const struct archive_work *w, const struct ux_zip_member *m,
			       uint16_t *ret_time, uint16_t *ret_date)
{
	*ret_time = m->time;
	*ret_date = m->date;
	if (w->options->epoch > 0)
		ux_zip_time(w->options->epoch, ret_time, ret_date);
}

/* Adds the debug file of a library to the archive of debug files. */
static enum ux_code archive_put_debug(struct archive_work *w, const struct ux_elf_pair *pair,
				      const struct ux_zip_member *m, struct ux_split_result *result,
				      uint32_t *ret_crc, struct ux_error *err)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image image = {0};
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	uint16_t time, date;
	archive_debug_time(w, m, &time, &date);
	UX_TRY(ux_elf_pair_debug(pair, &image, err));
	UX_TRY(ux_elf_image_write(&image, archive_collect, &content, err));
	*ret_crc = ux_debuglink_crc(ux_out_bytes(&content));
	result->debug_bytes = content.size;
	return ux_zip_writer_add(&w->writer, ux_bytes_cstr(result->debug), ux_out_bytes(&content),
				 time, date, err);
}

/* Makes the stripped library, which replaces the member. */
static enum ux_code archive_put_stripped(struct archive_work *w, const struct ux_elf_pair *pair,
					 size_t i, struct ux_split_result *result, uint32_t crc,
					 struct ux_error *err)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image image = {0};
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	UX_TRY(ux_elf_pair_stripped(pair, ux_path_base(result->debug), crc, &image, err));
	UX_TRY(ux_elf_image_write(&image, archive_collect, &content, err));
	UX_TRY(ux_elf_pair_check(pair, ux_out_bytes(&content), err));
	size_t size = 0;
	result->after = content.size;
	uint8_t *data = ux_out_steal(&content, &size);
	w->changes[i] = (struct ux_zip_change){.content = ux_bytes(data, size), .is = true};
	struct ux_wheel_change change = {w->zip.members.data[i].name, ux_bytes(data, size)};
	return wheel_changes_append(&w->libraries, change) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code archive_split_pair(struct archive_work *w, const struct ux_elf_pair *pair,
				       size_t i, struct ux_error *err)
{
	ux_cleanup(ux_split_result_deinit) struct ux_split_result result = {.id = pair->id};
	const struct ux_zip_member *m = &w->zip.members.data[i];
	char name[NAME_BYTES_MAX];
	uint32_t crc = 0;
	snprintf(name, sizeof(name), "%.*s", (int)m->name.size, (const char *)m->name.data);
	result.before = pair->elf.file.size;
	result.has_dwarf = pair->has_dwarf;
	if (asprintf(&result.debug, "%s.debug", name) < 0)
		return ux_error_nomem(err);
	UX_TRY(archive_put_debug(w, pair, m, &result, &crc, err));
	UX_TRY(archive_put_stripped(w, pair, i, &result, crc, err));
	w->report(w->ctx, name, &result, NULL);
	return UX_OK;
}

/* Returns whether an error is not a failure of the archive: the member has nothing to split, or is
 * of another kind. */
static bool archive_leaves(enum ux_code code)
{
	return code == UX_ENOTFOUND || code == UX_EUNSUPPORTED;
}

static enum ux_code archive_leave(struct archive_work *w, size_t i, const struct ux_error *why)
{
	char name[NAME_BYTES_MAX];
	struct ux_bytes n = w->zip.members.data[i].name;
	snprintf(name, sizeof(name), "%.*s", (int)n.size, (const char *)n.data);
	w->report(w->ctx, name, NULL, why);
	return UX_OK;
}

/* Adds a file of the bundle, whose name is the library's followed by `inside`. */
static enum ux_code archive_put_bundle_file(struct archive_work *w, const struct ux_zip_member *m,
					    const char *bundle, const char *inside,
					    const struct ux_out *content, struct ux_error *err)
{
	char path[2 * NAME_BYTES_MAX + 64];
	uint16_t time, date;
	archive_debug_time(w, m, &time, &date);
	snprintf(path, sizeof(path), "%s/Contents/%s", bundle, inside);
	UX_TRY(ux_out_status(content, err));
	return ux_zip_writer_add(&w->writer, ux_bytes_cstr(path), ux_out_bytes(content), time, date,
				 err);
}

/* Adds the dSYM bundle of a Mach-O library, which stays unchanged. */
static enum ux_code archive_put_bundle(struct archive_work *w, size_t i, struct ux_bytes library,
				       struct ux_error *err)
{
	ux_cleanup(ux_split_result_deinit) struct ux_split_result result = {
		.before = library.size, .after = library.size, .has_dwarf = true};
	ux_cleanup(ux_out_deinit) struct ux_out info = {0}, dwarf = {0};
	const struct ux_zip_member *m = &w->zip.members.data[i];
	char name[NAME_BYTES_MAX], inside[NAME_BYTES_MAX + 32];
	snprintf(name, sizeof(name), "%.*s", (int)m->name.size, (const char *)m->name.data);
	const char *base = ux_path_base(name);
	UX_TRY(ux_dsym_make(library, base, &dwarf, err));
	ux_dsym_info(base, &info);
	result.debug_bytes = dwarf.size;
	if (asprintf(&result.debug, "%s.dSYM", name) < 0) {
		result.debug = NULL;
		return ux_error_nomem(err);
	}
	snprintf(inside, sizeof(inside), "Resources/DWARF/%s", base);
	UX_TRY(archive_put_bundle_file(w, m, result.debug, "Info.plist", &info, err));
	UX_TRY(archive_put_bundle_file(w, m, result.debug, inside, &dwarf, err));
	w->bundles++;
	w->report(w->ctx, name, &result, NULL);
	return UX_OK;
}

static enum ux_code archive_member(struct archive_work *w, size_t i, struct ux_out *content,
				   struct ux_error *err)
{
	const struct ux_zip_member *m = &w->zip.members.data[i];
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_elf_pair_close) struct ux_elf_pair pair = {0};
	if (m->size < EI_NIDENT || m->name.size >= NAME_BYTES_MAX - sizeof(".debug") ||
	    (m->method != UX_ZIP_STORED && m->method != UX_ZIP_DEFLATED))
		return UX_OK;
	ux_out_reset(content);
	if (ux_zip_read(m, content, &why) != UX_OK)
		return ux_error_set(err, why.code, "%.*s: %.64s",
				    (int)ux_min(m->name.size, (size_t)80),
				    (const char *)m->name.data, why.text);
	struct ux_bytes file = ux_out_bytes(content);
	bool macho = ux_macho_any(file);
	if (!macho && !ux_elf_is(file))
		return UX_OK;
	enum ux_code code = macho ? archive_put_bundle(w, i, file, &why)
				  : ux_elf_pair_open(&pair, file, &w->options->pair, &why);
	if (code == UX_OK && !macho)
		code = archive_split_pair(w, &pair, i, &why);
	if (code == UX_OK)
		return UX_OK;
	if (archive_leaves(code) && !w->changes[i].is)
		return archive_leave(w, i, &why);
	return ux_error_set(err, code, "%.*s: %.64s", (int)ux_min(m->name.size, (size_t)80),
			    (const char *)m->name.data, why.text);
}

/* --- the archive -------------------------------------------------------------------------------
 */

static enum ux_code archive_update_record(struct archive_work *w, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out old = {0};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t size = 0;
	if (w->record == SIZE_MAX || w->libraries.size == 0)
		return UX_OK;
	UX_TRY(ux_zip_read(&w->zip.members.data[w->record], &old, err));
	UX_TRY(ux_wheel_record_update(ux_out_bytes(&old), w->libraries.data, w->libraries.size,
				      &out, err));
	uint8_t *data = ux_out_steal(&out, &size);
	w->changes[w->record] = (struct ux_zip_change){.content = ux_bytes(data, size), .is = true};
	return UX_OK;
}

/* Sets the path of the archive of debug files, malloc'ed; makes its folder. */
static enum ux_code archive_debug_path(const struct archive_work *w, char **ret,
				       struct ux_error *err)
{
	const char *dir = w->options->output_dir;
	const char *base = ux_path_base(w->in->real);
	const char *dot = strrchr(base, '.');
	int stem = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
	int n = dir ? asprintf(ret, "%s/%.*s-debug-symbols.zip", dir, stem, base)
		    : asprintf(ret, "%.*s%.*s-debug-symbols.zip", (int)(base - w->in->real),
			       w->in->real, stem, base);
	if (n < 0)
		return ux_error_nomem(err);
	return dir && !w->options->dry_run ? ux_file_make_folders(*ret, 0777, err) : UX_OK;
}

/* Checks the new archive: it must have the same members, and the changed ones their new content. */
static enum ux_code archive_verify(const struct archive_work *w, struct ux_bytes file,
				   struct ux_error *err)
{
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	UX_TRY(ux_zip_open(&zip, file, err));
	if (zip.members.size != w->zip.members.size)
		return ux_error_set(err, UX_ECONFLICT, "the new archive lacks members");
	for (size_t i = 0; i < zip.members.size; i++) {
		const struct ux_zip_member *a = &w->zip.members.data[i];
		const struct ux_zip_member *b = &zip.members.data[i];
		bool same = ux_bytes_eq(a->name, b->name);
		ux_out_reset(&content);
		if (w->changes[i].is) {
			UX_TRY(ux_zip_read(b, &content, err));
			same = same && ux_bytes_eq(ux_out_bytes(&content), w->changes[i].content);
		} else {
			same = same && ux_bytes_eq(a->data, b->data) && a->crc == b->crc;
		}
		if (!same)
			return ux_error_set(
				err, UX_ECONFLICT, "member %.*s of the new archive differs",
				(int)ux_min(a->name.size, (size_t)80), (const char *)a->name.data);
	}
	return UX_OK;
}

static enum ux_code archive_replace(struct archive_work *w, struct ux_split_result *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping written = {0};
	UX_TRY(ux_zip_writer_end(&w->writer, err));
	ret->debug_bytes = w->debug_bytes;
	if (w->options->dry_run)
		return UX_OK;
	UX_TRY(ux_file_attributes_copy_plain(&w->in->st, w->debug.fd, err));
	if (w->libraries.size == 0) {
		ret->after = ret->before;
		return ux_file_new_commit(&w->debug, /* sync= */ true, err);
	}
	UX_TRY(ux_file_new_open(&w->archive, w->in->real, err));
	UX_TRY(ux_zip_rewrite(&w->zip, w->changes, archive_write, &w->archive, err));
	UX_TRY(ux_file_map_fd(w->archive.fd, &written, err));
	UX_TRY(archive_verify(w, written.bytes, err));
	ret->after = written.bytes.size;
	UX_TRY(ux_file_attributes_copy(w->in->fd, &w->in->st, w->archive.fd, err));
	UX_TRY(ux_split_input_check_unchanged(w->in, err));
	UX_TRY(ux_file_new_commit(&w->debug, /* sync= */ true, err));
	return ux_file_new_commit(&w->archive, /* sync= */ true, err);
}

static enum ux_code archive_work_run(struct archive_work *w, struct ux_split_result *ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	ret->archive = true;
	UX_TRY(ux_split_input_check_links(w->in, err));
	UX_TRY(ux_zip_open(&w->zip, w->in->file.bytes, err));
	UX_TRY(archive_check(w, err));
	w->changes = calloc(w->zip.members.size + 1, sizeof(*w->changes));
	if (!w->changes)
		return ux_error_nomem(err);
	UX_TRY(archive_debug_path(w, &ret->debug, err));
	if (!w->options->dry_run)
		UX_TRY(ux_file_new_open(&w->debug, ret->debug, err));
	w->writer = (struct ux_zip_writer){.sink = archive_count, .ctx = w};
	ret->before = w->in->file.bytes.size;
	for (size_t i = 0; i < w->zip.members.size; i++)
		UX_TRY(archive_member(w, i, &content, err));
	if (w->libraries.size + w->bundles == 0)
		return ux_error_set(err, UX_ENOTFOUND, "has no library with debug information");
	UX_TRY(archive_update_record(w, err));
	return archive_replace(w, ret, err);
}

enum ux_code ux_split_archive(const struct ux_split_input *in,
			      const struct ux_split_options *options, ux_split_member_fn *member,
			      void *ctx, struct ux_split_result *ret, struct ux_error *err)
{
	ux_cleanup(archive_work_deinit) struct archive_work w = {.options = options,
								 .report = member,
								 .ctx = ctx,
								 .in = in,
								 .debug = UX_FILE_NEW_INIT,
								 .archive = UX_FILE_NEW_INIT};
	return archive_work_run(&w, ret, err);
}
