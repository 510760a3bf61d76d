/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between a fuzz target and the two programs that run it. */
#ifndef UX_FUZZ_H
#define UX_FUZZ_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "register.h"

/* The target that runs: reads the bytes and returns 0; when size is 0, data is NULL or must not be
 * read. */
int fuzz_input(const uint8_t *data, size_t size);

struct fuzz_target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
	struct fuzz_target *next;
};

/* The targets of the program that replays the corpora (driver.c). */
extern struct fuzz_target *fuzz_targets;

/* FUZZ_TARGET(elf)(const uint8_t *data, size_t size) { ... } is the target of fuzz_elf.c. A fuzzer
 * has one target; the program that replays the corpora has all. */
#ifdef UX_FUZZ_REPLAY
#define FUZZ_TARGET(of)                                               \
	static int fuzz_input_##of(const uint8_t *data, size_t size); \
	REGISTER(fuzz_target, fuzz_targets, of, fuzz_input_##of)      \
	static int fuzz_input_##of
#else
#define FUZZ_TARGET(of) int fuzz_input
#endif

/* Runs fuzz_input() within bounds of time and memory (bounds.c); libFuzzer and driver.c call it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts when a condition is false that must be true for every input. */
#define fuzz_truth(condition)                                                                     \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

/*
 * Checks conditions on every answer about `size` bytes: the error value has the same code as the
 * call, contains a message, and points into the bytes. (Its offset may count from a section's
 * start; then `size` is still an upper bound, unless the section was inflated.)
 */
static inline void fuzz_truths_of_error(enum ux_code code, const struct ux_error *err, size_t size)
{
	fuzz_truth(code == err->code);
	fuzz_truth(code == UX_OK || err->text[0] != '\0');
	fuzz_truth(err->off == UX_ERROR_NO_OFF || err->off <= size);
}

/* A sink of bytes; ctx is a struct ux_out. */
static inline enum ux_code fuzz_collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Returns whether part lies in whole (an empty part lies anywhere). */
static inline bool fuzz_inside(struct ux_bytes part, struct ux_bytes whole)
{
	return part.size == 0 || (part.data >= whole.data && part.size <= whole.size &&
				  (size_t)(part.data - whole.data) <= whole.size - part.size);
}

#endif
