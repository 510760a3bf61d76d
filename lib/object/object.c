/* SPDX-License-Identifier: Apache-2.0 */
/* The table of object file formats, and code that is common to all of them. */
#include "object.h"

#include "elf_file.h"

static const struct ux_object_format *const formats[] = {
	&ux_object_elf,
	&ux_object_macho,
};

const struct ux_object_format *ux_object_format(struct ux_bytes file)
{
	for (size_t i = 0; i < ux_countof(formats); i++)
		if (formats[i]->is(file))
			return formats[i];
	return NULL;
}

enum ux_code ux_object_slices(struct ux_bytes file, struct ux_object_slices *out,
			      struct ux_error *err)
{
	const struct ux_object_format *format = ux_object_format(file);
	struct ux_object_slice whole = {.bytes = file};
	if (!format)
		return ux_elf_check(file, err);
	if (format->slices)
		return format->slices(file, out, err);
	return ux_object_slices_append(out, whole) ? UX_OK : ux_error_nomem(err);
}

/*
 * For a file of an unknown format, the message of ELF, by far the most frequent format, suffices.
 */
static enum ux_code object_open(struct ux_bytes file, const struct ux_object_choice *choice,
				struct ux_object **ret, struct ux_error *err)
{
	const struct ux_object_format *format = ux_object_format(file);
	return format ? format->open(file, choice, ret, err) : ux_elf_check(file, err);
}

enum ux_code ux_object_open(struct ux_bytes file, struct ux_object **ret, struct ux_error *err)
{
	return object_open(file, &(struct ux_object_choice){0}, ret, err);
}

enum ux_code ux_object_open_headers(struct ux_bytes file, struct ux_object **ret,
				    struct ux_error *err)
{
	return object_open(file, &(struct ux_object_choice){.headers_only = true}, ret, err);
}

struct ux_object *ux_object_close(struct ux_object *object)
{
	if (object)
		object->format->close(object);
	return NULL;
}

enum ux_code ux_object_ids(const struct ux_object *object, struct ux_id_set *ret,
			   struct ux_error *err)
{
	struct ux_id content = ux_file_id(object->file);
	UX_TRY(object->format->ids(object, ret, err));
	return ux_id_set_add(ret, &content, err);
}

bool ux_object_section_find(const struct ux_object *object, const char *name,
			    struct ux_section *ret)
{
	return object->format->section_find(object, name, 0, ret);
}

enum ux_code ux_section_bytes(const struct ux_object *object, const struct ux_section *section,
			      struct ux_section_bytes *ret, struct ux_error *err)
{
	UX_TRY(object->format->section_bytes(object, section, ret, err));
	ret->mapped = object->mapped;
	return UX_OK;
}

enum ux_code ux_section_load(const struct ux_object *object, const struct ux_section *section,
			     uint64_t max_size, struct ux_spill *spill, struct ux_content *ret,
			     struct ux_reloc_loss *loss, struct ux_error *err)
{
	struct ux_reloc_loss ignored;
	struct ux_section_bytes bytes;
	loss = loss ? loss : &ignored;
	*loss = (struct ux_reloc_loss){.first = UX_ERROR_INIT};
	if (section->relocated)
		return object->format->section_relocate(object, section, max_size, spill, ret, loss,
							err);
	UX_TRY(ux_section_bytes(object, section, &bytes, err));
	return ux_content_load(&bytes, max_size, spill, ret, err);
}

uint64_t ux_section_size(const struct ux_object *object, const struct ux_section *section)
{
	struct ux_section_bytes bytes;
	return ux_section_bytes(object, section, &bytes, NULL) == UX_OK ? ux_content_size(&bytes)
									: 0;
}
