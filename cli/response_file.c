/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a file in place of its name. */
#include "response_file.h"

#include "file.h"
#include "out.h"
#include "text.h"

/* One expansion. */
struct expansion {
	struct ux_words *words;
	unsigned files;
	uint64_t bytes;
	struct ux_error *err;
};

static enum ux_code add(struct expansion *x, const char *word, size_t n)
{
	char *copy = strndup(word, n);
	if (copy && ux_words_append(x->words, copy))
		return UX_OK;
	free(copy);
	return ux_error_nomem(x->err);
}

/* The word at s, which is not white space, without its quotes; returns the bytes that it takes. */
static size_t read_word(struct ux_bytes s, struct ux_out *word)
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

static enum ux_code expand_word(struct expansion *x, const char *word, size_t n);

static enum ux_code expand_text(struct expansion *x, struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out word = {0};
	while (text.size > 0 && *text.data != 0) {
		size_t n = 1;
		if (!ux_is_space(*text.data)) {
			ux_out_reset(&word);
			n = read_word(text, &word);
			ux_out_u8(&word, 0);
			UX_TRY(ux_out_status(&word, x->err));
			UX_TRY(expand_word(x, (const char *)word.data, word.size - 1));
		}
		text = ux_bytes(text.data + n, text.size - n);
	}
	return UX_OK;
}

/* Files nest no deeper than there may be files: the recursion is bounded. */
static enum ux_code expand_word(struct expansion *x, const char *word, size_t n)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (n < 2 || word[0] != '@' || ux_file_map(word + 1, &file, NULL) != UX_OK)
		return add(x, word, n);
	x->bytes += file.bytes.size;
	if (++x->files > UX_RESPONSE_FILES_MOST || x->bytes > UX_RESPONSE_MOST)
		return ux_error_set(x->err, UX_ELIMIT, "too many @-files, or too large ones");
	return expand_text(x, file.bytes);
}

enum ux_code ux_command_line_expand(struct ux_command_line *ret, int argc, char **argv,
				    struct ux_error *err)
{
	struct expansion x = {.words = &ret->argv, .err = err};
	for (int i = 0; i < argc; i++)
		UX_TRY(i == 0 ? add(&x, argv[i], strlen(argv[i]))
			      : expand_word(&x, argv[i], strlen(argv[i])));
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
