/* SPDX-License-Identifier: Apache-2.0 */
/* The table of object file formats, and code that is common to all of them. */
#include "object.h"

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

enum ux_code ux_object_open(struct ux_bytes file, struct ux_object **ret, struct ux_error *err)
{
	const struct ux_object_format *format = ux_object_format(file);
	const struct ux_object_choice any = {0};
	if (!format)
		return ux_error_set(err, UX_EUNSUPPORTED, "not an object file");
	return format->open(file, &any, ret, err);
}

struct ux_object *ux_object_close(struct ux_object *object)
{
	if (object)
		object->format->close(object);
	return NULL;
}

bool ux_object_section_find(const struct ux_object *object, const char *name,
			    struct ux_section *ret)
{
	return object->format->section_find(object, name, 0, ret);
}

enum ux_code ux_section_bytes(const struct ux_object *object, const struct ux_section *section,
			      struct ux_section_bytes *ret, struct ux_error *err)
{
	return object->format->section_bytes(object, section, ret, err);
}

enum ux_code ux_section_load(const struct ux_object *object, const struct ux_section *section,
			     uint64_t max_size, const char *spill, struct ux_content *ret,
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
