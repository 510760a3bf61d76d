/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the replacements for other symbolizers (addr2line, llvm-symbolizer): program
 * names, @FILE arguments and lookups. */
#include "drop_in.h"

#include "elf_file.h"
#include "file.h"
#include "out.h"
#include "output.h"
#include "path_base.h"
#include "text.h"
#include "unhex/source.h"

#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

/* Removes a version suffix such as "-14" or "-19.1". */
static struct ux_bytes drop_in_strip_version(struct ux_bytes name)
{
	size_t n = name.size;
	while (n > 0 &&
	       ((name.data[n - 1] >= '0' && name.data[n - 1] <= '9') || name.data[n - 1] == '.'))
		n--;
	return n > 1 && n < name.size && name.data[n - 1] == '-' ? ux_bytes(name.data, n - 1)
								 : name;
}

static bool drop_in_ends_with_word(struct ux_bytes name, struct ux_bytes word)
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
		{"eu-addr2line", UX_DROP_IN_NONE}, /* elfutils' addr2line has other options */
		{"addr2line", UX_DROP_IN_ADDR2LINE},
	};
	struct ux_bytes name = drop_in_strip_version(ux_bytes_cstr(ux_path_base(argv0)));
	for (size_t i = 0; i < ux_countof(words); i++)
		if (drop_in_ends_with_word(name, ux_bytes_cstr(words[i].word)))
			return words[i].kind;
	return UX_DROP_IN_NONE;
}

static bool drop_in_is_elf32(struct ux_bytes file)
{
	enum {
		CLASS = 4,
		CLASS_32 = 1
	};
	return ux_elf_is(file) && file.size > CLASS && file.data[CLASS] == CLASS_32;
}

enum ux_code ux_drop_in_open(struct ux_drop_in_file *f, const char *path, const char *debug_dirs,
			     const char *arch, bool columns, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	/* The original programs do not read these sources, so they are left out. */
	struct ux_symbol_options choice = {.finder.search.dirs = debug_dirs,
					   .arch = arch,
					   .lazy = true,
					   .columns = columns,
					   .without = 1u << UX_SOURCE_PLT | 1u << UX_SOURCE_BOUNDS};
	enum ux_code code = ux_symbol_source_open(&f->source, path, &choice, &why);
	bool mapped = f->source.file.bytes.data != NULL;
	f->is_elf32 = drop_in_is_elf32(f->source.file.bytes);
	if (code == UX_OK || (code == UX_ENOTFOUND && mapped))
		return UX_OK;
	*err = why;
	return code;
}

void ux_drop_in_close(struct ux_drop_in_file *f)
{
	ux_symbol_source_close(&f->source);
}

enum ux_code ux_drop_in_load(struct ux_drop_in_file *f, const uint64_t *pcs, size_t n,
			     struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_symbol_source_load(&f->source, pcs, n, &why);
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	*err = why;
	return code;
}

/* Looks up a pc; if the cached GSYM is damaged, it is extracted again. */
static enum ux_code drop_in_lookup(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
				   size_t max, size_t *ret_n)
{
	struct ux_symbol_source *s = &f->source;
	enum ux_code code = ux_gsym_lookup(&s->gsym, pc, frames, max, ret_n, NULL);
	if (code == UX_ECORRUPT && ux_symbol_source_drop_cached(s) &&
	    ux_symbol_source_load(s, &pc, 1, NULL) == UX_OK && s->gsym.n_functions > 0)
		return ux_gsym_lookup(&s->gsym, pc, frames, max, ret_n, NULL);
	return code;
}

size_t ux_drop_in_frames(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max)
{
	size_t n = 0;
	if (f->source.gsym.n_functions == 0 || drop_in_lookup(f, pc, frames, max, &n) != UX_OK)
		return 0;
	bool unnamed = n == 1 && strcmp(frames[0].function, UX_NO_NAME) ==
					 0; /* a range that has no name in the GSYM */
	return unnamed && *frames[0].base == '\0' ? 0 : n;
}

void ux_drop_in_write_path(struct ux_out *out, const struct ux_frame *frame, bool base)
{
	if (!base && *frame->dir) {
		size_t n = strlen(frame->dir);
		ux_out_put(out, frame->dir, n);
		if (frame->dir[n - 1] != '/')
			ux_out_u8(out, '/');
	}
	ux_out_cstr(out, frame->base);
}

static bool drop_in_is_plain(struct ux_bytes text)
{
	bool plain = true;
	for (size_t i = 0; i < text.size; i++)
		plain &= text.data[i] >= 0x20 && text.data[i] < 0x7f;
	return plain;
}

void ux_drop_in_clean(struct ux_out *out, size_t before)
{
	ux_cleanup(ux_out_deinit) struct ux_out copy = {0};
	if (out->failed || drop_in_is_plain(ux_bytes(out->data + before, out->size - before)))
		return;
	ux_out_put(&copy, out->data + before, out->size - before);
	struct ux_bytes text = ux_out_bytes(&copy);
	bool terminal = isatty(STDOUT_FILENO);
	out->size = before;
	out->failed |= copy.failed;
	if (terminal)
		ux_text(out, text);
	for (size_t i = 0; !terminal && i < text.size; i++)
		if (text.data[i] == '\n' || text.data[i] == '\r')
			ux_out_fmt(out, "\\x%02x", text.data[i]);
		else
			ux_out_u8(out, text.data[i]);
}

void ux_drop_in_complain(const char *fmt, ...)
{
	char text[2 * PATH_MAX];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ux_print_line(ux_bytes_cstr(text));
}

/* State while a command line is expanded. */
struct expansion {
	struct ux_words *words;
	unsigned files;
	uint64_t bytes;
	struct ux_error *err;
};

static enum ux_code response_file_add(struct expansion *x, const char *word, size_t n)
{
	char *copy = strndup(word, n);
	if (copy && ux_words_append(x->words, copy))
		return UX_OK;
	free(copy);
	return ux_error_nomem(x->err);
}

/* Appends the first word of s without its quotes. Returns the number of bytes of s that it took. */
static size_t response_file_read_word(struct ux_bytes s, struct ux_out *word)
{
	uint8_t quote = 0;
	size_t i = 0;
	for (; i < s.size && s.data[i] != 0; i++) {
		uint8_t c = s.data[i];
		if (c == '\\' && i + 1 < s.size)
			ux_out_u8(word, s.data[++i]);
		else if (quote != 0 && c == quote)
			quote = 0;
		else if (quote == 0 && (c == '\'' || c == '"'))
			quote = c;
		else if (quote == 0 && ux_is_space(c))
			break;
		else
			ux_out_u8(word, c);
	}
	return i;
}

static enum ux_code response_file_expand_word(struct expansion *x, const char *word, size_t n);

static enum ux_code response_file_expand_text(struct expansion *x, struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out word = {0};
	while (text.size > 0 && *text.data != 0) {
		size_t n = 1;
		if (!ux_is_space(*text.data)) {
			ux_out_reset(&word);
			n = response_file_read_word(text, &word);
			ux_out_u8(&word, 0);
			UX_TRY(ux_out_status(&word, x->err));
			UX_TRY(response_file_expand_word(x, (const char *)word.data,
							 word.size - 1));
		}
		text = ux_bytes(text.data + n, text.size - n);
	}
	return UX_OK;
}

/* The recursion is bounded by the limit on the number of files. */
static enum ux_code response_file_expand_word(struct expansion *x, const char *word, size_t n)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (n < 2 || word[0] != '@' || ux_file_map(word + 1, &file, NULL) != UX_OK)
		return response_file_add(x, word, n);
	x->bytes += file.bytes.size;
	if (++x->files > UX_RESPONSE_FILES_MAX || x->bytes > UX_RESPONSE_MAX)
		return ux_error_set(x->err, UX_ELIMIT, "@-files are too many or too large");
	return response_file_expand_text(x, file.bytes);
}

enum ux_code ux_command_line_expand(struct ux_command_line *ret, int argc, char **argv,
				    struct ux_error *err)
{
	struct expansion x = {.words = &ret->argv, .err = err};
	for (int i = 0; i < argc; i++)
		UX_TRY(i == 0 ? response_file_add(&x, argv[i], strlen(argv[i]))
			      : response_file_expand_word(&x, argv[i], strlen(argv[i])));
	if (!ux_words_append(&ret->argv, NULL))
		return ux_error_nomem(err);
	ret->argc = (int)ret->argv.size - 1;
	return UX_OK;
}

void ux_command_line_deinit(struct ux_command_line *c)
{
	for (size_t i = 0; i < c->argv.size; i++)
		free(c->argv.data[i]);
	ux_words_deinit(&c->argv);
}
