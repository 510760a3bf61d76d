/* SPDX-License-Identifier: Apache-2.0 */
/* Files of split units that are at hand. */
#include "split_given.h"

#include "ar_member.h"

static struct ux_split_file *split_given_destroy(struct ux_split_file *file)
{
	if (file)
		ux_split_file_close(file);
	free(file);
	return NULL;
}

void ux_split_given_close(struct ux_split_given *given)
{
	for (size_t i = 0; i < given->files.size; i++)
		split_given_destroy(given->files.data[i]);
	ux_split_file_vec_deinit(&given->files);
	ux_split_place_vec_deinit(&given->places);
	given->package = UX_BYTES_NONE;
}

static enum ux_code split_given_is_package(struct ux_bytes file, bool *ret_is_package,
					   struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	const struct ux_object_choice any = {0};
	struct ux_section index;
	enum ux_code code = ux_object_elf.open(file, &any, &object, NULL);
	*ret_is_package =
		code == UX_OK && ux_object_section_find(object, ".debug_cu_index", &index);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

static enum ux_code split_given_add(struct ux_split_given *given, struct ux_bytes bytes,
				    const struct ux_dwarf_sections *linked, const char *spill,
				    struct ux_error *reason, struct ux_error *err)
{
	bool is_package = false;
	UX_TRY(split_given_is_package(bytes, &is_package, err));
	if (is_package) {
		if (given->package.size == 0)
			given->package = bytes;
		return UX_OK;
	}
	struct ux_split_file *file = calloc(1, sizeof(*file));
	if (!file)
		return ux_error_nomem(err);
	enum ux_code code = ux_split_file_read(file, bytes, linked, spill, reason);
	if (code == UX_OK && ux_split_file_vec_append(&given->files, file))
		return UX_OK;
	code = code == UX_OK ? UX_ENOMEM : code;
	split_given_destroy(file);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

static int split_location_compare(const void *a, const void *b)
{
	const struct ux_split_place *x = a, *y = b;
	if (x->dwo_id != y->dwo_id)
		return x->dwo_id < y->dwo_id ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static enum ux_code split_given_index(struct ux_split_given *given, struct ux_error *err)
{
	for (size_t i = 0; i < given->files.size; i++) {
		const struct ux_dwarf_split_ids *ids = &given->files.data[i]->ids;
		for (size_t k = 0; k < ids->count; k++) {
			struct ux_split_place place = {ids->list[k].id, (uint32_t)i};
			if (!ux_split_place_vec_append(&given->places, place))
				return ux_error_nomem(err);
		}
	}
	if (given->places.size > 0)
		qsort(given->places.data, given->places.size, sizeof(*given->places.data),
		      split_location_compare);
	return UX_OK;
}

enum ux_code ux_split_given_open(struct ux_split_given *given, struct ux_bytes bytes,
				 const struct ux_dwarf_sections *linked, const char *spill,
				 struct ux_error *reason, struct ux_error *err)
{
	uint64_t at = 0;
	if (!ux_ar_is(bytes)) {
		UX_TRY(split_given_add(given, bytes, linked, spill, reason, err));
		return split_given_index(given, err);
	}
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		struct ux_bytes member = UX_BYTES_NONE;
		enum ux_code code = ux_ar_next(bytes, &at, &member, &why);
		if (code != UX_OK) {
			if (code != UX_ENOTFOUND && reason->code == UX_OK)
				*reason = why;
			return split_given_index(given, err);
		}
		UX_TRY(split_given_add(given, member, linked, spill, reason, err));
	}
}

const struct ux_split_file *ux_split_given_find(const struct ux_split_given *given, uint64_t dwo_id)
{
	size_t lo = 0, hi = given->places.size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (given->places.data[mid].dwo_id < dwo_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == given->places.size || given->places.data[lo].dwo_id != dwo_id)
		return NULL;
	return given->files.data[given->places.data[lo].file];
}
