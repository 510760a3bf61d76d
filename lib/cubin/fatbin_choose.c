/* SPDX-License-Identifier: Apache-2.0 */
/* Selects one cubin of a program's GPU code. */
#include "fatbin_choose.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "fatbin_unpack.h"
#include "id.h"
#include "text.h"

enum {
	ARCHS_MAX = 64,   /* architectures of a file that are counted */
	ARCHS_TEXT = 112, /* bytes of the list in an error message */
	ARCHS_MORE = 16,  /* room for ", and 64 more" */
};

enum ux_code ux_cubin_ids(struct ux_bytes cubin, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id file = ux_file_id(cubin), crc = ux_id_of_cubin_crc(ux_cubin_crc(cubin));
	UX_TRY(ux_id_set_add(ret, &file, err));
	return ux_id_set_add(ret, &crc, err);
}

/* Returns true when the cubin contains code. The linker of the CUDA runtime adds a cubin without
 * any code to each program. */
static bool has_code(const struct ux_fatbin_entry *e)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (ux_fatbin_unpack(e, NULL, &content, NULL) != UX_OK ||
	    ux_elf_open(&elf, content.bytes, NULL) != UX_OK)
		return true; /* the error is reported when the entry is extracted */
	for (size_t i = 1; i < elf.n_sections; i++)
		if (ux_cubin_section_name(&elf.sections[i]) && elf.sections[i].size > 0)
			return true;
	return false;
}

static bool is_for(const struct ux_fatbin_entry *e, const char *arch)
{
	char text[UX_FATBIN_ARCH_TEXT];
	return e->kind == UX_FATBIN_CUBIN &&
	       (!arch || strcmp(ux_fatbin_arch(e, text), arch) == 0) && has_code(e);
}

const char *ux_fatbin_archs(const struct ux_fatbin_list *list, char *text, size_t size)
{
	char names[ARCHS_MAX][UX_FATBIN_ARCH_TEXT], one[UX_FATBIN_ARCH_TEXT + 32];
	size_t n = 0, listed = 0, used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < list->entries.size && n < ARCHS_MAX; i++) {
		const struct ux_fatbin_entry *e = &list->entries.data[i];
		bool known = false;
		ux_fatbin_arch(e, names[n]);
		for (size_t k = 0; k < n; k++)
			known |= strcmp(names[k], names[n]) == 0;
		if (known)
			continue;
		int length = snprintf(one, sizeof(one), "%s%s%s", n > 0 ? ", " : "", names[n],
				      e->kind == UX_FATBIN_CUBIN ? "" : " (not compiled)");
		/* Once one did not fit, all others are counted. */
		if (listed == n++ && used + (size_t)length + ARCHS_MORE < size) {
			memcpy(text + used, one, (size_t)length + 1);
			used += (size_t)length;
			listed++;
		}
	}
	if (listed < n)
		snprintf(text + used, size - used, ", and %zu more", n - listed);
	return text;
}

static enum ux_code choose_arch(const struct ux_fatbin_list *list, const char *arch, size_t *ret,
				struct ux_error *err)
{
	char archs[ARCHS_TEXT];
	size_t n = 0, first = 0;
	for (size_t i = 0; i < list->entries.size; i++) {
		if (!is_for(&list->entries.data[i], arch))
			continue;
		first = n++ == 0 ? i : first;
	}
	if (n == 1) {
		*ret = first;
		return UX_OK;
	}
	ux_fatbin_archs(list, archs, sizeof(archs));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no GPU code%s%.32s; the file has %s",
				    arch ? " for " : "", arch ? arch : "",
				    archs[0] ? archs : "none");
	return ux_error_set(err, UX_ECONFLICT,
			    "%zu pieces of GPU code%s%.32s, %s; choose one by its number", n,
			    arch ? " for " : "", arch ? arch : "", archs);
}

static enum ux_code choose_number(const struct ux_fatbin_list *list, uint64_t number, size_t *ret,
				  struct ux_error *err)
{
	if (number == 0 || number > list->entries.size)
		return ux_error_set(err, UX_ENOTFOUND,
				    "no GPU code has number %" PRIu64 "; there are %zu pieces",
				    number, list->entries.size);
	const struct ux_fatbin_entry *e = &list->entries.data[number - 1];
	if (e->kind != UX_FATBIN_CUBIN)
		return ux_error_set(err, UX_ENOTFOUND,
				    "GPU code %" PRIu64 " is %s: it is compiled at run time and "
				    "has no addresses yet",
				    number, ux_fatbin_kind_name(e->kind));
	*ret = number - 1;
	return UX_OK;
}

static enum ux_code choose_id(const struct ux_fatbin_list *list, const struct ux_id *id,
			      size_t *ret, struct ux_error *err)
{
	for (size_t i = 0; i < list->entries.size; i++) {
		ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
		struct ux_id_set ids = {0};
		if (list->entries.data[i].kind != UX_FATBIN_CUBIN ||
		    ux_fatbin_unpack(&list->entries.data[i], NULL, &content, NULL) != UX_OK)
			continue;
		UX_TRY(ux_cubin_ids(content.bytes, &ids, err));
		if (ux_id_set_has(&ids, id)) {
			*ret = i;
			return UX_OK;
		}
	}
	return ux_error_set(err, UX_ENOTFOUND, "no GPU code has that identity");
}

enum ux_code ux_fatbin_choose(const struct ux_fatbin_list *list, const char *text, size_t *ret,
			      struct ux_error *err)
{
	uint64_t number = 0;
	struct ux_id id;
	if (text && strchr(text, ':')) {
		UX_TRY(ux_id_parse(ux_bytes_cstr(text), &id, err));
		return choose_id(list, &id, ret, err);
	}
	if (text && ux_decimal_parse(ux_bytes_cstr(text), &number))
		return choose_number(list, number, ret, err);
	return choose_arch(list, text, ret, err);
}
