/* SPDX-License-Identifier: Apache-2.0 */
/* The stripped files of a debug package. */
#include "crawl_work.h"

#include "clock.h"

void ux_stripped_files_deinit(struct ux_stripped_files *s)
{
	ux_push_modules_free(&s->list);
	for (size_t i = 0; i < s->n_streams; i++)
		ux_package_stream_close(s->streams[i]);
	*s = (struct ux_stripped_files){0};
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Keeps the module of a member, if it names a debug file. */
static enum ux_code stripped_keep(struct ux_stripped_files *s, struct ux_push_work *w,
				  const struct ux_stream_member *m, struct ux_error *err)
{
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	struct ux_error why = UX_ERROR_INIT;
	bool kept = false;
	w->client.deadline_ms = ux_clock_ms() + w->o->timeout_ms;
	enum ux_code code =
		m->kind == UX_MEMBER_OBJECT && m->part.size > 0
			? ux_push_part_read(w, m->name, &m->part, /* packed= */ false, &found, &why)
			: UX_OK;
	if (code == UX_ENOMEM || code == UX_EUNAVAILABLE) {
		*err = why;
		return code;
	}
	for (size_t i = 0; i < found.size && !kept; i++) {
		struct ux_push_module *one = &found.data[i];
		if (!one->linked || one->debug_only)
			continue;
		if (!ux_push_modules_append(&s->list, *one))
			return ux_error_nomem(err);
		*one = (struct ux_push_module){0};
		kept = true;
	}
	if (!kept)
		ux_sandbox_stream_release(&m->part);
	return UX_OK;
}

static enum ux_code stripped_read_one(struct ux_stripped_files *s, struct ux_push_work *w,
				      const struct ux_package_file *file,
				      const struct ux_package_reading *reading,
				      struct ux_error *err)
{
	const struct ux_package_hash hash = ux_package_hash_of_key(file->key);
	const struct ux_package_stream_options options = {
		.url = file->url,
		.size = file->size,
		.sha256 = hash.has_sha256 ? hash.sha256 : NULL,
		.apk = hash.apk,
		.mirrors = reading->mirrors,
		.stopped = reading->stopped,
		.stopped_ctx = reading->ctx,
		.forks = w->forks,
	};
	struct ux_package_stream *stream = NULL;
	struct ux_stream_member member;
	bool more = true;
	enum ux_code code = UX_OK;
	UX_TRY(ux_package_stream_open(&stream, &options, err));
	s->streams[s->n_streams++] = stream;
	while (code == UX_OK && more) {
		code = ux_package_stream_next(stream, &member, &more, err);
		if (code != UX_OK || !more)
			break;
		code = stripped_keep(s, w, &member, err);
		ux_package_stream_taken(stream, &member);
	}
	if (code != UX_OK)
		s->cause = ux_package_stream_cause(stream);
	else
		s->bytes += ux_package_stream_bytes(stream);
	return code;
}

enum ux_code ux_stripped_files_read(struct ux_stripped_files *s, struct ux_push_work *work,
				    const struct ux_package *package,
				    const struct ux_package_reading *reading, struct ux_error *err)
{
	for (size_t i = 0; i < package->n_files; i++)
		UX_TRY(stripped_read_one(s, work, &package->files[i], reading, err));
	return UX_OK;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Returns whether `debug` is the path of the stripped file's debug file. */
static bool stripped_has_path(const char *debug, const char *stripped)
{
	static const char folder[] = "/usr/lib/debug", ending[] = ".debug";
	size_t n = strlen(stripped), prefix = sizeof(folder) - 1;
	return strncmp(debug, folder, prefix) == 0 && strncmp(debug + prefix, stripped, n) == 0 &&
	       strcmp(debug + prefix + n, ending) == 0;
}

static enum ux_code stripped_check_crc(const struct ux_push_module *stripped, const char *path,
				       const struct ux_push_module *debug, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes bytes;
	UX_TRY(ux_push_map_part(path, &debug->part, &file, &bytes, err));
	return ux_debuglink_crc(bytes) == stripped->link_crc
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT,
				      "CRC does not match the .gnu_debuglink of %.100s",
				      stripped->path);
}

enum ux_code ux_stripped_files_join(struct ux_stripped_files *s, const char *path,
				    struct ux_push_module *debug, struct ux_error *err)
{
	size_t i = 0;
	while (i < s->list.size &&
	       !(s->list.data[i].path && stripped_has_path(path, s->list.data[i].path)))
		i++;
	if (i == s->list.size)
		return ux_error_set(err, UX_ENOTFOUND, "no matching stripped file");
	struct ux_push_module *m = &s->list.data[i];
	UX_TRY(stripped_check_crc(m, path, debug, err));
	m->debug = ux_take(&debug->path);
	m->debug_part = debug->part;
	m->claim = ux_max(m->claim, debug->claim);
	m->needs = debug->needs;
	ux_push_module_deinit(debug);
	*debug = *m;
	*m = (struct ux_push_module){0};
	return UX_OK;
}
