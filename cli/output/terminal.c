/* SPDX-License-Identifier: Apache-2.0 */
/* Output for a person at a terminal: line width, colours, a progress line. */
#include "terminal.h"

#include "clock.h"
#include "file.h"
#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

enum {
	WIDTH_MIN = 40,
	WIDTH_MAX = 120,
	PROGRESS_AFTER_MS = 500, /* ms; shorter work has no progress line */
	PROGRESS_EVERY_MS = 100,
	PROGRESS_BAR = 20, /* columns */
};

unsigned ux_terminal_width(int fd)
{
	struct winsize size = {0};
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return UX_TERMINAL_WIDTH;
	return ux_min(ux_max((unsigned)size.ws_col, (unsigned)WIDTH_MIN), (unsigned)WIDTH_MAX);
}

bool ux_terminal_has_colors(int fd)
{
	const char *refused = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	return !(refused && *refused) && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

struct ux_colors ux_colors_of(int fd)
{
	if (!ux_terminal_has_colors(fd))
		return (struct ux_colors){"", "", "", ""};
	return (struct ux_colors){
		.name = "\033[1m", .dim = "\033[2m", .source = "\033[36m", .none = "\033[0m"};
}

void ux_progress_init(struct ux_progress *p, const char *verb)
{
	const char *term = getenv("TERM");
	*p = (struct ux_progress){
		.on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
		.verb = verb,
		.started = ux_clock_ms(),
	};
}

/* Appends the rate, and the remaining time if the total is known. */
static void progress_rate(struct ux_out *out, const struct ux_progress *p, int64_t now)
{
	uint64_t ms = (uint64_t)ux_max(now - p->started, INT64_C(1));
	uint64_t rate = p->bytes / ms * 1000 + p->bytes % ms * 1000 / ms;
	ux_out_cstr(out, ", ");
	ux_text_size(out, rate);
	ux_out_cstr(out, "/s");
	if (p->bytes_total > p->bytes && rate > 0)
		ux_out_fmt(out, ", %" PRIu64 " s left", (p->bytes_total - p->bytes) / rate + 1);
}

/* Appends a bar like "[#####     ] ". */
static void progress_bar(struct ux_out *out, const struct ux_progress *p)
{
	uint64_t full = ux_min(p->work, p->work_total);
	unsigned n = (unsigned)(full / (p->work_total / PROGRESS_BAR + 1));
	n = full == p->work_total ? PROGRESS_BAR : n;
	ux_out_fmt(out, "[%.*s%*s] ", (int)n, "####################", (int)(PROGRESS_BAR - n), "");
}

/* Appends the remaining time, from the share of the work done so far and its time. */
static void progress_estimate(struct ux_out *out, const struct ux_progress *p, int64_t now)
{
	uint64_t ms = (uint64_t)ux_max(now - p->started, INT64_C(1));
	if (p->work == 0 || p->work >= p->work_total)
		return;
	double left = (double)ms * (double)(p->work_total - p->work) / (double)p->work / 1000;
	ux_out_fmt(out, ", %.0f s left", left + 1);
}

static void progress_numbers(struct ux_out *out, const struct ux_progress *p, int64_t now)
{
	const char *comma = "";
	if (p->work_total > 0)
		progress_bar(out, p);
	if (p->files_total > 0) {
		ux_out_fmt(out, "%" PRIu64 " of %" PRIu64 " files", p->files, p->files_total);
		comma = ", ";
	}
	if (p->bytes > 0) {
		ux_out_cstr(out, comma);
		ux_text_size(out, p->bytes);
		if (p->bytes_total > 0) {
			ux_out_cstr(out, " of ");
			ux_text_size(out, p->bytes_total);
		}
		ux_out_cstr(out, p->unit ? p->unit : "");
		progress_rate(out, p, now);
	}
	if (p->work_total > 0)
		progress_estimate(out, p, now);
}

void ux_progress_show(struct ux_progress *p)
{
	int64_t now = p->on ? ux_clock_ms() : 0;
	if (!p->on || now - p->started < PROGRESS_AFTER_MS || now - p->last < PROGRESS_EVERY_MS)
		return;
	p->last = now;
	p->shown = true;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_fmt(&out, "\r%s: ", p->verb);
	if (p->state)
		ux_out_fmt(&out, "%s, %" PRId64 " s", p->state, (now - p->started) / 1000);
	else
		progress_numbers(&out, p, now);
	size_t max = ux_terminal_width(STDERR_FILENO); /* a longer line would wrap and stay */
	out.size = ux_min(out.size, max);
	ux_out_cstr(&out, "\033[K");
	if (!out.failed)
		(void)!ux_file_write(STDERR_FILENO, ux_out_bytes(&out), NULL);
}

void ux_progress_clear(struct ux_progress *p)
{
	if (p->shown)
		(void)!ux_file_write(STDERR_FILENO, UX_STR("\r\033[K"), NULL);
	p->shown = false;
}
