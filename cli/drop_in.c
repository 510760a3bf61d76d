/* SPDX-License-Identifier: Apache-2.0 */
/* Names of programs, and files that need not have symbols. */
#include "drop_in.h"

#include "elf_file.h"
#include "unhex/source.h"

#include <unistd.h>

static struct ux_bytes base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return ux_bytes_cstr(slash ? slash + 1 : path);
}

/* Without "-14", "-19.1". */
static struct ux_bytes without_version(struct ux_bytes name)
{
	size_t n = name.size;
	while (n > 0 &&
	       ((name.data[n - 1] >= '0' && name.data[n - 1] <= '9') || name.data[n - 1] == '.'))
		n--;
	return n > 1 && n < name.size && name.data[n - 1] == '-' ? ux_bytes(name.data, n - 1)
								 : name;
}

static bool ends_with_word(struct ux_bytes name, struct ux_bytes word)
{
	if (name.size < word.size ||
	    memcmp(name.data + name.size - word.size, word.data, word.size) != 0)
		return false;
	return name.size == word.size || name.data[name.size - word.size - 1] == '-';
}

enum ux_drop_in ux_drop_in_of(const char *argv0)
{
	static const struct {
		const char *word;
		enum ux_drop_in kind;
	} words[] = {
		{"llvm-symbolizer", UX_DROP_IN_LLVM_SYMBOLIZER},
		{"llvm-addr2line", UX_DROP_IN_LLVM_ADDR2LINE},
		{"eu-addr2line", UX_DROP_IN_NONE}, /* elfutils' has other options */
		{"addr2line", UX_DROP_IN_ADDR2LINE},
	};
	struct ux_bytes name = without_version(base_name(argv0));
	for (size_t i = 0; i < ux_countof(words); i++)
		if (ends_with_word(name, ux_bytes_cstr(words[i].word)))
			return words[i].kind;
	return UX_DROP_IN_NONE;
}

static bool is_elf32(struct ux_bytes file)
{
	enum {
		CLASS = 4,
		CLASS_32 = 1
	};
	return ux_elf_is(file) && file.size > CLASS && file.data[CLASS] == CLASS_32;
}

enum ux_code ux_drop_in_open(struct ux_drop_in_file *f, const char *path, const char *debug_dirs,
			     const char *arch, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	/* What the others do not know either. */
	struct ux_symbol_choice choice = {.finder.search.dirs = debug_dirs,
					  .arch = arch,
					  .by_need = true,
					  .usual_cache = true,
					  .without = 1u << UX_SOURCE_PLT | 1u << UX_SOURCE_BOUNDS};
	enum ux_code code = ux_symbol_source_open(&f->source, path, &choice, &why);
	bool mapped = f->source.file.bytes.data != NULL;
	f->is_elf32 = is_elf32(f->source.file.bytes);
	if (code == UX_OK || (code == UX_ENOTFOUND && mapped))
		return UX_OK;
	*err = why;
	return code;
}

void ux_drop_in_close(struct ux_drop_in_file *f)
{
	ux_symbol_source_close(&f->source);
}

enum ux_code ux_drop_in_need(struct ux_drop_in_file *f, const uint64_t *pcs, size_t n,
			     struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_symbol_source_need(&f->source, pcs, n, &why);
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	*err = why;
	return code;
}

/* A record of the cache that is damaged is made anew. */
static enum ux_code find(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max, size_t *ret_n)
{
	struct ux_symbol_source *s = &f->source;
	enum ux_code code = ux_gsym_lookup(&s->gsym, pc, frames, max, ret_n, NULL);
	if (code == UX_ECORRUPT && ux_symbol_source_distrust(s) &&
	    ux_symbol_source_need(s, &pc, 1, NULL) == UX_OK && s->gsym.n_functions > 0)
		return ux_gsym_lookup(&s->gsym, pc, frames, max, ret_n, NULL);
	return code;
}

size_t ux_drop_in_frames(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max)
{
	size_t n = 0;
	if (f->source.gsym.n_functions == 0 || find(f, pc, frames, max, &n) != UX_OK)
		return 0;
	bool unnamed = n == 1 && strcmp(frames[0].function, UX_NO_NAME) == 0; /* of a GSYM */
	return unnamed && *frames[0].base == '\0' ? 0 : n;
}

void ux_drop_in_path(struct ux_out *out, const struct ux_frame *frame, bool base)
{
	if (!base && *frame->dir) {
		size_t n = strlen(frame->dir);
		ux_out_put(out, frame->dir, n);
		if (frame->dir[n - 1] != '/')
			ux_out_u8(out, '/');
	}
	ux_out_cstr(out, frame->base);
}
