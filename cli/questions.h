/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbolizer is asked: the words of its command line, else the lines of its input. */
#ifndef UX_QUESTIONS_H
#define UX_QUESTIONS_H

#include "line_reader.h"
#include "out.h"

/* Zeroed: nothing is asked. */
struct ux_questions {
	char *const *words; /* the caller's */
	size_t n_words;
	size_t next;                  /* of the words */
	struct ux_line_reader *lines; /* the caller's; NULL: there are the words alone */
};

/* Of the words from number `first` on; without any, of the lines of fd, for which reader is. */
void ux_questions_init(struct ux_questions *q, char *const *words, size_t n_words, size_t first,
		       struct ux_line_reader *reader, int fd);

/* Appends the answer to `out` of the command. A failure ends it. */
typedef enum ux_code ux_answer_fn(void *ctx, struct ux_bytes question, struct ux_error *err);

/*
 * Answers one question after the other. What was answered gets out before a line is waited for:
 * whoever drives us by hand asks the next question when he has the answer. The codes of answer, and
 * those of reading and writing.
 */
enum ux_code ux_questions_answer(struct ux_questions *q, ux_answer_fn *answer, void *ctx,
				 struct ux_out *out, struct ux_error *err) ux_must;

/*
 * The questions that are known already and come behind the one that is being answered: the first
 * with *at 0, the next with what that is then. False: no more are known.
 */
bool ux_questions_ahead(const struct ux_questions *q, size_t *at, struct ux_bytes *ret);

#endif
