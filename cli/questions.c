/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbolizer is asked. */
#include "questions.h"

#include "output.h"

enum {
	FLUSH_BYTES = 1 << 16
};

void ux_questions_init(struct ux_questions *q, char *const *words, size_t n_words, size_t first,
		       struct ux_line_reader *reader, int fd)
{
	*q = (struct ux_questions){.words = words, .n_words = n_words, .next = first};
	if (first < n_words)
		return;
	ux_line_reader_init(reader, fd);
	q->lines = reader;
}

static enum ux_code answer_lines(struct ux_questions *q, ux_answer_fn *answer, void *ctx,
				 struct ux_out *out, struct ux_error *err)
{
	struct ux_bytes line;
	for (;;) {
		bool waits = out->size > 0 && !ux_line_reader_ready(q->lines);
		if (waits || out->size >= FLUSH_BYTES)
			UX_TRY(ux_flush(out, err));
		if (!ux_line_reader_next(q->lines, &line, err))
			return err->code;
		UX_TRY(answer(ctx, line, err));
	}
}

enum ux_code ux_questions_answer(struct ux_questions *q, ux_answer_fn *answer, void *ctx,
				 struct ux_out *out, struct ux_error *err)
{
	while (q->next < q->n_words)
		UX_TRY(answer(ctx, ux_bytes_cstr(q->words[q->next++]), err));
	return q->lines ? answer_lines(q, answer, ctx, out, err) : UX_OK;
}

bool ux_questions_ahead(const struct ux_questions *q, size_t *at, struct ux_bytes *ret)
{
	if (q->lines)
		return ux_line_reader_ahead(q->lines, at, ret);
	if (*at >= q->n_words - q->next)
		return false;
	*ret = ux_bytes_cstr(q->words[q->next + (*at)++]);
	return true;
}
