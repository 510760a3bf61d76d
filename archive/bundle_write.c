/* SPDX-License-Identifier: Apache-2.0 */
/* Source files to one archive. Source of the format: pax(1), "pax Interchange Format". */
#include "bundle_write.h"

enum {
	MODE = 0444
};

static la_ssize_t take(struct archive *a, void *ctx, const void *data, size_t n)
{
	struct ux_bundle_writer *w = ctx;
	(void)a;
	w->over = w->out->size + n > w->most;
	if (w->over)
		return -1;
	ux_out_put(w->out, data, n);
	return w->out->failed ? -1 : (la_ssize_t)n;
}

static enum ux_code failed(const struct ux_bundle_writer *w, struct ux_error *err)
{
	const char *why = w->calls.archive_error_string(w->archive);
	if (w->out->failed)
		return ux_error_nomem(err);
	if (w->over)
		return ux_error_set(err, UX_ELIMIT, "the archive is over %" PRIu64 " bytes",
				    w->most);
	return ux_error_set(err, UX_EUNSUPPORTED, "cannot write an archive: %.100s",
			    why ? why : "no reason is told");
}

/* Names are bytes: no locale has a say in them. One thread, so that nothing depends on the machine.
 */
static int set_up(struct ux_bundle_writer *w)
{
	const struct ux_archive_calls *c = &w->calls;
	int r = c->archive_write_set_format_pax_restricted(w->archive);
	if (r == ARCHIVE_OK)
		r = c->archive_write_add_filter_zstd(w->archive);
	if (r == ARCHIVE_OK)
		r = c->archive_write_set_options(w->archive, "hdrcharset=BINARY");
	if (r == ARCHIVE_OK)
		r = c->archive_write_set_bytes_per_block(w->archive, 0);
	if (r == ARCHIVE_OK)
		r = c->archive_write_open(w->archive, w, NULL, take, NULL);
	return r;
}

enum ux_code ux_bundle_writer_open(struct ux_bundle_writer *w, struct ux_out *out, uint64_t most,
				   struct ux_error *err)
{
	*w = (struct ux_bundle_writer){.out = out, .most = most};
	UX_TRY(ux_archive_load(&w->calls, err));
	w->archive = w->calls.archive_write_new();
	w->entry = w->calls.archive_entry_new();
	if (!w->archive || !w->entry) {
		ux_bundle_writer_close(w);
		return ux_error_nomem(err);
	}
	if (set_up(w) == ARCHIVE_OK)
		return UX_OK;
	enum ux_code code = failed(w, err);
	ux_bundle_writer_close(w);
	return code;
}

enum ux_code ux_bundle_writer_add(struct ux_bundle_writer *w, const char *path,
				  struct ux_bytes content, struct ux_error *err)
{
	const struct ux_archive_calls *c = &w->calls;
	c->archive_entry_clear(w->entry);
	c->archive_entry_set_pathname(w->entry, path + 1);
	c->archive_entry_set_filetype(w->entry, AE_IFREG);
	c->archive_entry_set_perm(w->entry, MODE);
	c->archive_entry_set_mtime(w->entry, 0, 0);
	c->archive_entry_set_size(w->entry, (la_int64_t)content.size);
	if (c->archive_write_header(w->archive, w->entry) != ARCHIVE_OK ||
	    c->archive_write_data(w->archive, content.data, content.size) !=
		    (la_ssize_t)content.size)
		return failed(w, err);
	return UX_OK;
}

enum ux_code ux_bundle_writer_end(struct ux_bundle_writer *w, struct ux_error *err)
{
	return w->calls.archive_write_close(w->archive) == ARCHIVE_OK ? UX_OK : failed(w, err);
}

void ux_bundle_writer_close(struct ux_bundle_writer *w)
{
	if (w->archive)
		(void)w->calls.archive_write_free(w->archive);
	if (w->entry)
		w->calls.archive_entry_free(w->entry);
	*w = (struct ux_bundle_writer){0};
}
