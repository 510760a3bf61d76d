/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the library about the interpreter of a process, for the tests that know the answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unhex/interp.h>

/* Text between quotes, with everything that JSON wants escaped. */
static void put_text(const char *s)
{
	putchar('"');
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_frame(const struct ux_interp_frame *f)
{
	printf("{\"function\":");
	put_text(f->function);
	printf(",\"file\":");
	put_text(f->file);
	printf(",\"line\":%u,\"first_line\":%u,\"code\":%llu,\"offset\":%llu}", f->line,
	       f->first_line, (unsigned long long)f->code, (unsigned long long)f->offset);
}

static bool put_thread(void *ctx, const struct ux_interp_thread *t)
{
	static const char *const states[] = {"whole", "torn", "too deep"};
	size_t *n = ctx;
	printf("%s{\"interpreter\":%llu,\"tid\":%d,\"handle\":%llu,\"state\":\"%s\",\"frames\":[",
	       *n > 0 ? "," : "", (unsigned long long)t->interpreter, t->tid,
	       (unsigned long long)t->handle, states[t->state]);
	for (size_t i = 0; i < t->n; i++) {
		printf("%s", i > 0 ? "," : "");
		put_frame(&t->frames[i]);
	}
	printf("]}");
	++*n;
	return true;
}

/* A walk is a line: the array of its threads. */
static int walk(struct ux_interp *interp, long times)
{
	struct ux_error err = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + 64];
	for (long i = 0; i < times; i++) {
		size_t n = 0;
		printf("[");
		if (ux_interp_walk(interp, put_thread, &n, &err) != UX_OK) {
			fprintf(stderr, "%s\n", ux_error_format(&err, text, sizeof(text)));
			return 1;
		}
		printf("]\n");
	}
	return 0;
}

/* Each line of the input is a code object and offsets in it; the answer is the
 * lines, a tab and its name. */
static int resolve(struct ux_interp *interp)
{
	unsigned long long code, from, to, step;
	while (scanf("%llu %llu %llu %llu", &code, &from, &to, &step) == 4 && step > 0) {
		struct ux_interp_frame frame = {.function = "?"};
		for (unsigned long long off = from; off < to; off += step)
			printf("%ld ", ux_interp_resolve(interp, code, off, &frame, NULL) == UX_OK
					       ? (long)frame.line
					       : -1L);
		if (ux_interp_resolve(interp, code, from, &frame, NULL) == UX_OK)
			printf("\t%s", frame.function);
		putchar('\n');
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ux_interp *interp = NULL;
	struct ux_error err = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + 64];
	static const char *const kinds[] = {"any", "python", "php", "ruby"};
	int kind = 0;
	while (argc > 3 && kind < 4 && strcmp(argv[2], kinds[kind]) != 0)
		kind++;
	if (argc < 4 || kind == 4) {
		fprintf(stderr,
			"usage: ask_interp PID any|python|php|ruby version|walk|resolve [TIMES]\n");
		return 2;
	}
	if (ux_interp_open_process((pid_t)strtol(argv[1], NULL, 10), (enum ux_interp_kind)kind,
				   &interp, &err) != UX_OK) {
		fprintf(stderr, "%s\n", ux_error_format(&err, text, sizeof(text)));
		return 1;
	}
	int status = 0;
	if (strcmp(argv[3], "version") == 0)
		puts(ux_interp_version(interp));
	else if (strcmp(argv[3], "walk") == 0)
		status = walk(interp, argc > 4 ? strtol(argv[4], NULL, 10) : 1);
	else
		status = resolve(interp);
	ux_interp_close(interp);
	return status;
}
