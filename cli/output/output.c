/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands: errors, escaped text, exit statuses. */
#include "output.h"

#include "file.h"
#include "json_out.h"
#include "text.h"

#include <stdarg.h>
#include <unistd.h>

int ux_exit_of(enum ux_code code)
{
	switch (code) {
	case UX_OK:
		return UX_EXIT_DONE;
	case UX_EUNAVAILABLE:
		return UX_EXIT_SERVER;
	case UX_EINVAL:
	case UX_ENOMEM:
	case UX_ELIMIT:
	case UX_ECORRUPT:
	case UX_EUNSUPPORTED:
	case UX_ENOTFOUND:
	case UX_EIO:
	case UX_ECONFLICT:
	case UX_EDENIED: /* access to a file; commands handle refusals by a server themselves */
	case UX_CODE_COUNT:
		break;
	}
	return UX_EXIT_SOME;
}

static void text_to_stderr(struct ux_out *out)
{
	ux_out_u8(out, '\n');
	/* A failure to print an error cannot be reported. */
	if (!out->failed && ux_file_write(STDERR_FILENO, ux_out_bytes(out), NULL) != UX_OK)
		return;
}

int ux_print_error(const char *subject, const struct ux_error *err)
{
	return ux_print_error_note(subject, err, NULL);
}

int ux_print_error_note(const char *subject, const struct ux_error *err, const char *note)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_cstr(&out, "unhex: ");
	if (subject) {
		ux_text(&out, ux_bytes_cstr(subject));
		ux_out_cstr(&out, ": ");
	}
	ux_text(&out, ux_bytes_cstr(ux_error_format(err, text, sizeof(text))));
	if (note && *note) {
		ux_out_cstr(&out, "; ");
		ux_text(&out, ux_bytes_cstr(note));
	}
	text_to_stderr(&out);
	return ux_exit_of(err->code);
}

void ux_json_failure(struct ux_out *out, const char *path, const struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	ux_json_key_cstr(&j, "error", ux_error_format(err, text, sizeof(text)));
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

/* Prints a line to stderr: `program`, then the text, escaped. */
static void print_escaped(const char *program, struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_cstr(&out, program);
	ux_text(&out, text);
	text_to_stderr(&out);
}

void ux_print_line(struct ux_bytes text)
{
	print_escaped("", text);
}

void ux_print_message(const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_escaped("unhex: ", ux_bytes_cstr(text));
}

void ux_text(struct ux_out *out, struct ux_bytes s)
{
	while (s.size > 0) {
		size_t n = 0;
		while (n < s.size && s.data[n] >= 0x20 && s.data[n] < 0x7f)
			n++;
		if (n == 0)
			n = ux_utf8_harmless_size(s);
		if (n == 0) {
			ux_out_fmt(out, "\\x%02x", s.data[0]);
			n = 1;
		} else {
			ux_out_put(out, s.data, n);
		}
		s = ux_bytes(s.data + n, s.size - n);
	}
}

void ux_text_size(struct ux_out *out, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	if (bytes < 1024) {
		ux_out_fmt(out, "%" PRIu64 " bytes", bytes);
		return;
	}
	double size = (double)bytes / 1024;
	size_t unit = 0;
	for (; size >= 1024 && unit + 1 < ux_countof(units); unit++)
		size /= 1024;
	ux_out_fmt(out, "%.1f %s", size, units[unit]);
}

enum ux_code ux_flush(struct ux_out *out, struct ux_error *err)
{
	UX_TRY(ux_out_status(out, err));
	enum ux_code code = ux_file_write(STDOUT_FILENO, ux_out_bytes(out), err);
	ux_out_reset(out);
	return code;
}

int ux_finish(struct ux_out *out, int status)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_flush(out, &err) == UX_OK)
		return status;
	ux_print_error("standard output", &err);
	return UX_EXIT_SOME;
}
