/* SPDX-License-Identifier: Apache-2.0 */
/* Universal files. */
#include "macho_fat.h"

#include "cursor.h"

/* --- names of machines ------------------------------------------------------------------------ */

/* Names of machines; the first name of each is used in messages. */
static const struct {
	const char *name;
	uint32_t cpu;
	uint32_t subtype;
} archs[] = {
	{"x86_64", CPU_TYPE_X86_64, 3},     {"x86_64h", CPU_TYPE_X86_64, 8},
	{"i386", CPU_TYPE_I386, 3},         {"arm64", CPU_TYPE_ARM64, 0},
	{"arm64v8", CPU_TYPE_ARM64, 1},     {"arm64e", CPU_TYPE_ARM64, 2},
	{"arm64_32", CPU_TYPE_ARM64_32, 1}, {"arm64_32", CPU_TYPE_ARM64_32, 0},
	{"armv4t", CPU_TYPE_ARM, 5},        {"armv6", CPU_TYPE_ARM, 6},
	{"armv5e", CPU_TYPE_ARM, 7},        {"armv7", CPU_TYPE_ARM, 9},
	{"armv7s", CPU_TYPE_ARM, 11},       {"armv7k", CPU_TYPE_ARM, 12},
	{"armv6m", CPU_TYPE_ARM, 14},       {"armv7m", CPU_TYPE_ARM, 15},
	{"armv7em", CPU_TYPE_ARM, 16},      {"ppc", CPU_TYPE_POWERPC, 0},
	{"ppc7400", CPU_TYPE_POWERPC, 10},  {"ppc970", CPU_TYPE_POWERPC, 100},
	{"ppc64", CPU_TYPE_POWERPC64, 0},   {"ppc970-64", CPU_TYPE_POWERPC64, 100},
	{"amd64", CPU_TYPE_X86_64, 3},      {"x86-64", CPU_TYPE_X86_64, 3},
	{"aarch64", CPU_TYPE_ARM64, 0},     {"i686", CPU_TYPE_I386, 3},
};

const char *ux_macho_arch_name(uint32_t cpu, uint32_t subtype, char *text)
{
	uint32_t kind = subtype & CPU_SUBTYPE_KIND;
	for (size_t i = 0; i < ux_countof(archs); i++)
		if (archs[i].cpu == cpu && archs[i].subtype == kind) {
			snprintf(text, UX_MACHO_ARCH_TEXT, "%s", archs[i].name);
			return text;
		}
	snprintf(text, UX_MACHO_ARCH_TEXT, "cpu %" PRIu32 " subtype %" PRIu32, cpu, kind);
	return text;
}

static const struct ux_macho_slice *fat_slice_of(const struct ux_macho_slices *slices, uint32_t cpu,
						 uint32_t subtype)
{
	for (size_t i = 0; i < slices->size; i++) {
		const struct ux_macho_slice *s = &slices->list[i];
		if (s->cpu == cpu && (s->subtype & CPU_SUBTYPE_KIND) == subtype)
			return s;
	}
	return NULL;
}

const struct ux_macho_slice *ux_macho_slice_named(const struct ux_macho_slices *slices,
						  const char *name)
{
	char text[UX_MACHO_ARCH_TEXT];
	for (size_t i = 0; i < slices->size; i++) {
		const struct ux_macho_slice *s = &slices->list[i];
		if (strcmp(ux_macho_arch_name(s->cpu, s->subtype, text), name) == 0)
			return s;
	}
	for (size_t i = 0; i < ux_countof(archs); i++) {
		const struct ux_macho_slice *s =
			strcmp(archs[i].name, name) == 0
				? fat_slice_of(slices, archs[i].cpu, archs[i].subtype)
				: NULL;
		if (s)
			return s;
	}
	return NULL;
}

const struct ux_macho_slice *ux_macho_slice_host(const struct ux_macho_slices *slices)
{
#if defined(__x86_64__)
	return ux_macho_slice_named(slices, "x86_64");
#elif defined(__aarch64__)
	return ux_macho_slice_named(slices, "arm64");
#elif defined(__i386__)
	return ux_macho_slice_named(slices, "i386");
#else
	(void)slices;
	return NULL;
#endif
}

const char *ux_macho_slices_list(const struct ux_macho_slices *slices,
				 char text[UX_MACHO_LIST_TEXT])
{
	char name[UX_MACHO_ARCH_TEXT];
	size_t at = 0;
	text[0] = '\0';
	for (size_t i = 0; i < slices->size && at < UX_MACHO_LIST_TEXT; i++)
		at += (size_t)snprintf(
			text + at, UX_MACHO_LIST_TEXT - at, "%s%s", i ? ", " : "",
			ux_macho_arch_name(slices->list[i].cpu, slices->list[i].subtype, name));
	return text;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns the number of slices of a universal file; 0 for any other file. */
static uint32_t fat_count(struct ux_bytes file, bool *ret_is64)
{
	struct ux_cur c = ux_cur_make(file, NULL, __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__);
	uint32_t magic = ux_cur_u32(&c), count = ux_cur_u32(&c);
	*ret_is64 = magic == FAT_MAGIC_64;
	bool is = (magic == FAT_MAGIC || magic == FAT_MAGIC_64) && !c.failed;
	return is && count <= UX_MACHO_SLICES_MAX ? count : 0;
}

bool ux_macho_is_fat(struct ux_bytes file)
{
	bool is64 = false;
	return fat_count(file, &is64) > 0;
}

bool ux_macho_any(struct ux_bytes file)
{
	return ux_macho_is(file) || ux_macho_is_fat(file);
}

static enum ux_code fat_read_entry(struct ux_bytes file, struct ux_cur *c, bool is64,
				   struct ux_macho_slice *ret, struct ux_error *err)
{
	ret->cpu = ux_cur_u32(c);
	ret->subtype = ux_cur_u32(c);
	uint64_t off = is64 ? ux_cur_u64(c) : ux_cur_u32(c);
	uint64_t size = is64 ? ux_cur_u64(c) : ux_cur_u32(c);
	ux_cur_skip(c, is64 ? 8 : 4); /* align */
	UX_TRY(ux_cur_status(c, err));
	char name[UX_MACHO_ARCH_TEXT];
	if (!ux_bytes_sub(file, off, size, &ret->bytes))
		return ux_error_set(
			err, UX_ECORRUPT,
			"slice %s: %" PRIu64 " bytes at 0x%" PRIx64 " exceed the file of %zu bytes",
			ux_macho_arch_name(ret->cpu, ret->subtype, name), size, off, file.size);
	return UX_OK;
}

/* Reads the machine of a file that is not universal. */
static enum ux_code fat_read_thin(struct ux_bytes file, struct ux_macho_slices *ret,
				  struct ux_error *err)
{
	bool big = ux_bytes_starts(file, UX_STR("\376\355\372"));
	struct ux_cur c = ux_cur_make(file, NULL, big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
	ux_cur_skip(&c, 4);
	uint32_t cpu = ux_cur_u32(&c), subtype = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	ret->list[0] = (struct ux_macho_slice){cpu, subtype, file};
	ret->size = 1;
	return UX_OK;
}

/*
 * Checks that slices do not overlap, as linkers and lipo write them. 31 slices with the same
 * content would be 31 times the work.
 */
static enum ux_code fat_check_apart(const struct ux_macho_slices *slices, struct ux_error *err)
{
	char one[UX_MACHO_ARCH_TEXT], other[UX_MACHO_ARCH_TEXT];
	for (size_t i = 0; i < slices->size; i++)
		for (size_t k = 0; k < i; k++) {
			const struct ux_macho_slice *a = &slices->list[i], *b = &slices->list[k];
			if (a->bytes.data >= b->bytes.data + b->bytes.size ||
			    b->bytes.data >= a->bytes.data + a->bytes.size)
				continue;
			return ux_error_set(err, UX_ECORRUPT, "slices %s and %s overlap",
					    ux_macho_arch_name(b->cpu, b->subtype, other),
					    ux_macho_arch_name(a->cpu, a->subtype, one));
		}
	return UX_OK;
}

enum ux_code ux_macho_slices(struct ux_bytes file, struct ux_macho_slices *ret,
			     struct ux_error *err)
{
	bool is64 = false;
	uint32_t count = fat_count(file, &is64);
	ret->size = 0;
	if (ux_macho_is(file))
		return fat_read_thin(file, ret, err);
	if (count == 0)
		return ux_error_set(err, UX_EUNSUPPORTED, "not a Mach-O file");
	struct ux_cur c = ux_cur_make(file, NULL, __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__);
	ux_cur_skip(&c, 8);
	for (uint32_t i = 0; i < count; i++) {
		struct ux_macho_slice slice = {0};
		UX_TRY(fat_read_entry(file, &c, is64, &slice, err));
		if (ux_macho_is(slice.bytes))
			ret->list[ret->size++] = slice;
	}
	if (ret->size == 0)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "universal file of %" PRIu32 " slices, none a Mach-O file",
				    count);
	return fat_check_apart(ret, err);
}

/* --- choosing --------------------------------------------------------------------------------- */

static const struct ux_macho_slice *fat_slice_with_id(const struct ux_macho_slices *slices,
						      const struct ux_id *id)
{
	for (size_t i = 0; id && id->size > 0 && i < slices->size; i++) {
		ux_cleanup(ux_macho_close) struct ux_macho m = {0};
		if (ux_macho_open(&m, slices->list[i].bytes, NULL) == UX_OK && ux_id_eq(&m.id, id))
			return &slices->list[i];
	}
	return NULL;
}

enum ux_code ux_macho_slice_choose(struct ux_bytes file, const char *arch, const struct ux_id *id,
				   struct ux_macho_slice *ret, struct ux_error *err)
{
	struct ux_macho_slices slices;
	char list[UX_MACHO_LIST_TEXT];
	UX_TRY(ux_macho_slices(file, &slices, err));
	const struct ux_macho_slice *found = NULL;
	if (arch)
		found = ux_macho_slice_named(&slices, arch);
	else if (slices.size == 1)
		found = &slices.list[0];
	else
		found = fat_slice_with_id(&slices, id);
	if (!found && !arch)
		found = ux_macho_slice_host(&slices);
	if (!found && arch)
		return ux_error_set(err, UX_ENOTFOUND, "no slice for %.24s; the file has: %s", arch,
				    ux_macho_slices_list(&slices, list));
	if (!found)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the file has several slices, choose one with --arch: %s",
				    ux_macho_slices_list(&slices, list));
	*ret = *found;
	return UX_OK;
}
