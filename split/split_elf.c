/* SPDX-License-Identifier: Apache-2.0 */
/* Splits one file on disk. */
#include "split.h"

#include "debug_file.h"
#include "path_base.h"
#include "split_input.h"
#include "zip_file.h"

#include <limits.h>

/* The state of one file. */
struct split_work {
	const struct ux_split_options *options;
	const struct ux_split_input *in;
	struct ux_elf_pair pair;
	struct ux_file_new debug;
	struct ux_file_new stripped;
};

static void split_work_deinit(struct split_work *w)
{
	ux_file_new_deinit(&w->debug);
	ux_file_new_deinit(&w->stripped);
	ux_elf_pair_close(&w->pair);
}

static enum ux_code split_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	return ux_split_write(ctx, bytes, err);
}

/* --- the debug file --------------------------------------------------------------------------- */

/* Sets the path of the debug file, malloc'ed; makes its folder. */
static enum ux_code split_debug_path(const struct split_work *w, char **ret, struct ux_error *err)
{
	const char *dir = w->options->output_dir;
	if (!dir)
		return asprintf(ret, "%s.debug", w->in->real) >= 0 ? UX_OK : ux_error_nomem(err);
	char path[PATH_MAX];
	if (w->pair.id.size == 0)
		return ux_error_set(
			err, UX_EINVAL,
			"has no build ID to find the debug file by; use --add-build-id, or link "
			"with -Wl,--build-id");
	if (!ux_build_id_path(ux_bytes_cstr(dir), &w->pair.id, ".debug", path))
		return ux_error_set(err, UX_EINVAL, "the path of its debug file is too long");
	*ret = strdup(path);
	return *ret ? UX_OK : ux_error_nomem(err);
}

static enum ux_code split_write_debug(struct split_work *w, struct ux_split_result *ret,
				      uint32_t *ret_crc, struct ux_error *err)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image image = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping written = {0};
	UX_TRY(split_debug_path(w, &ret->debug, err));
	UX_TRY(ux_elf_pair_debug(&w->pair, &image, err));
	ret->debug_bytes = image.size;
	if (w->options->output_dir && !w->options->dry_run)
		UX_TRY(ux_file_make_folders(ret->debug, 0777, err));
	if (w->options->dry_run)
		return UX_OK;
	UX_TRY(ux_file_new_open(&w->debug, ret->debug, err));
	UX_TRY(ux_elf_image_write(&image, split_sink, &w->debug, err));
	UX_TRY(ux_file_attributes_copy_plain(&w->in->st, w->debug.fd, err));
	UX_TRY(ux_file_map_fd(w->debug.fd, &written, err));
	*ret_crc = ux_debuglink_crc(written.bytes);
	return UX_OK;
}

/* Returns whether dwz's link, which is in the debug file, would lead elsewhere from there. */
static bool split_moves_alt(const struct split_work *w)
{
	struct ux_supplementary_link link = {.path = ""};
	return w->options->output_dir &&
	       ux_supplementary_link(&w->pair.elf, &link, NULL) == UX_OK && link.path[0] != '\0' &&
	       link.path[0] != '/';
}

/* --- the stripped file ------------------------------------------------------------------------ */

static enum ux_code split_write_stripped(struct split_work *w, struct ux_split_result *ret,
					 uint32_t crc, struct ux_error *err)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image image = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping written = {0};
	UX_TRY(ux_elf_pair_stripped(&w->pair, ux_path_base(ret->debug), crc, &image, err));
	ret->after = image.size;
	if (w->options->dry_run)
		return UX_OK;
	UX_TRY(ux_file_new_open(&w->stripped, w->in->real, err));
	UX_TRY(ux_elf_image_write(&image, split_sink, &w->stripped, err));
	UX_TRY(ux_file_map_fd(w->stripped.fd, &written, err));
	UX_TRY(ux_elf_pair_check(&w->pair, written.bytes, err));
	return ux_file_attributes_copy(w->in->fd, &w->in->st, w->stripped.fd, err);
}

static enum ux_code split_work_run(struct split_work *w, struct ux_split_result *ret,
				   struct ux_error *err)
{
	uint32_t crc = 0;
	UX_TRY(ux_elf_pair_open(&w->pair, w->in->file.bytes, &w->options->pair, err));
	UX_TRY(ux_split_input_check_links(w->in, err));
	ret->before = w->in->file.bytes.size;
	ret->id = w->pair.id;
	ret->has_dwarf = w->pair.has_dwarf;
	ret->relative_alt = split_moves_alt(w);
	UX_TRY(split_write_debug(w, ret, &crc, err));
	UX_TRY(split_write_stripped(w, ret, crc, err));
	if (w->options->dry_run)
		return UX_OK;
	UX_TRY(ux_split_input_check_unchanged(w->in, err));
	UX_TRY(ux_file_new_commit(&w->debug, /* sync= */ true, err));
	return ux_file_new_commit(&w->stripped, /* sync= */ true, err);
}

enum ux_code ux_split_elf(const struct ux_split_input *in, const struct ux_split_options *options,
			  struct ux_split_result *ret, struct ux_error *err)
{
	ux_cleanup(split_work_deinit) struct split_work w = {.options = options,
							     .in = in,
							     .debug = UX_FILE_NEW_INIT,
							     .stripped = UX_FILE_NEW_INIT};
	return split_work_run(&w, ret, err);
}

/* --- any file ----------------------------------------------------------------------------------
 */

enum ux_code ux_dwo_file(const char *path, const struct ux_split_options *options,
			 ux_split_member_fn *member, void *ctx, struct ux_split_result *ret,
			 struct ux_error *err)
{
	ux_cleanup(ux_split_input_close) struct ux_split_input in = UX_SPLIT_INPUT_INIT;
	*ret = (struct ux_split_result){0};
	enum ux_code code = ux_split_input_open(&in, path, err);
	if (code == UX_OK)
		code = ux_zip_is(in.file.bytes)
			       ? ux_split_archive(&in, options, member, ctx, ret, err)
			       : ux_split_elf(&in, options, ret, err);
	if (code != UX_OK)
		ux_split_result_deinit(ret);
	return code;
}

void ux_split_result_deinit(struct ux_split_result *result)
{
	free(result->debug);
	*result = (struct ux_split_result){0};
}
