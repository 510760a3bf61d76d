/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle [--llvm] [--short|--templates-elided] [--time N]: linkage names, one a line, from
 * standard input; prints their texts, or with --time how many a second one core demangles, best of
 * N.
 */
#include "demangle.h"
#include "file.h"
#include "text.h"
#include "vec.h"

#include <time.h>
#include <unistd.h>

UX_VEC(names, struct ux_bytes);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool read_all(struct ux_out *text)
{
	for (;;) {
		uint8_t buf[1 << 16];
		ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n <= 0)
			return n == 0 && !text->failed;
		ux_out_put(text, buf, (size_t)n);
	}
}

static bool split(struct ux_bytes text, struct names *out)
{
	struct ux_bytes line;
	while (ux_text_take_line(&text, &line))
		if (!names_append(out, line))
			return false;
	return true;
}

static void measure(const struct names *all, const struct ux_demangle_how *how, long times)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	double best = 1e9;
	for (long t = 0; t < times; t++) {
		double start = now();
		for (size_t i = 0; i < all->size; i++) {
			ux_out_reset(&out);
			ux_demangle_as(all->data[i], how, &out);
		}
		best = ux_min(best, now() - start);
	}
	printf("%zu names, %.2f million a second\n", all->size, (double)all->size / best * 1e-6);
}

static enum ux_code print(const struct names *all, const struct ux_demangle_how *how)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (size_t i = 0; i < all->size; i++) {
		ux_demangle_as(all->data[i], how, &out);
		ux_out_u8(&out, '\n');
	}
	return out.failed ? UX_ENOMEM : ux_file_write(STDOUT_FILENO, ux_out_bytes(&out), NULL);
}

int main(int argc, char **argv)
{
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, UX_SCHEME_ALL, /* llvm= */ false};
	long times = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--llvm") == 0)
			how.llvm = true;
		else if (strcmp(argv[i], "--short") == 0)
			how.mode = UX_DEMANGLE_SHORT;
		else if (strcmp(argv[i], "--templates-elided") == 0)
			how.mode = UX_DEMANGLE_ELIDED;
		else if (strcmp(argv[i], "--time") == 0 && i + 1 < argc)
			times = strtol(argv[++i], NULL, 10);
		else
			return 2;
	}
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_cleanup(names_deinit) struct names all = {0};
	if (!read_all(&text) || !split(ux_out_bytes(&text), &all))
		return 1;
	if (times > 0)
		measure(&all, &how, times);
	return times > 0 || print(&all, &how) == UX_OK ? 0 : 1;
}
