/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the configuration file by a table of settings. */
#include "setting.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

enum {
	/* bytes of the file's name, counted from its end, that fit into a message: */
	FILE_SHOWN = 60,        /* together with the error of a line */
	FILE_SHOWN_ALONE = 100, /* together with the system's reason */
};

struct parser {
	const struct ux_setting_table *table;
	const char *file;
	size_t line;
	void *values;                             /* the whole struct of values */
	const struct ux_setting_section *section; /* current section; NULL: before the first one */
	size_t section_line;
	void *into;                 /* struct that keys are written to: values, or a section's */
	bool seen[UX_SETTINGS_MAX]; /* rows of the section that have been set */
	struct ux_arena *arena;
	struct ux_error *err;
};

static const char *config_shown_path(const char *file, size_t max)
{
	size_t n = strlen(file);
	return n > max ? file + n - max : file;
}

ux_printf(3, 4) static enum ux_code
	config_bad_line(struct parser *p, size_t line, const char *fmt, ...)
{
	char text[160];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return ux_error_set(p->err, UX_EINVAL, "%s:%zu: %s", config_shown_path(p->file, FILE_SHOWN),
			    line, text);
}

/* Checks that the section that ends here has all required keys. */
static enum ux_code config_end_section(struct parser *p)
{
	const struct ux_setting_table *t = p->table;
	for (size_t i = 0; i < t->n_rows && p->section; i++) {
		const struct ux_setting *row = &t->rows[i];
		if ((row->flags & UX_SETTING_NEEDED) != 0 && !p->seen[i] && row->section &&
		    strcmp(row->section, p->section->kind) == 0)
			return config_bad_line(p, p->section_line,
					       "[%s %.64s] needs the key \"%s\"", p->section->kind,
					       ux_section_name(p->into), row->key);
	}
	return UX_OK;
}

static bool config_is_section_name(struct ux_bytes s)
{
	if (s.size == 0 || s.size > UX_CONFIG_NAME_MAX)
		return false;
	for (size_t i = 0; i < s.size; i++)
		if (!isalnum(s.data[i]) && !memchr("._-", s.data[i], 3))
			return false;
	return true;
}

static const struct ux_setting_section *config_find_section(const struct ux_setting_table *t,
							    struct ux_bytes kind)
{
	for (size_t i = 0; i < t->n_sections; i++)
		if (ux_bytes_eq(kind, ux_bytes_cstr(t->sections[i].kind)))
			return &t->sections[i];
	return NULL;
}

/* "[KIND NAME]" */
static enum ux_code config_section_line(struct parser *p, struct ux_bytes s)
{
	if (s.data[s.size - 1] != ']')
		return config_bad_line(p, p->line, "section header lacks its \"]\"");
	s = ux_trim(ux_bytes(s.data + 1, s.size - 2));
	size_t n = 0;
	while (n < s.size && s.data[n] != ' ' && s.data[n] != '\t')
		n++;
	struct ux_bytes kind = ux_bytes(s.data, n),
			name = ux_trim(ux_bytes(s.data + n, s.size - n));
	const struct ux_setting_section *section = config_find_section(p->table, kind);
	if (!section)
		return config_bad_line(p, p->line, "unknown section \"%.*s\"",
				       (int)ux_min(n, (size_t)40), (const char *)kind.data);
	if (!config_is_section_name(name))
		return config_bad_line(
			p, p->line,
			"[%s] needs a name of 1 to %d letters, digits, \".\", \"_\" or \"-\"",
			section->kind, UX_CONFIG_NAME_MAX);
	UX_TRY(config_end_section(p));
	const struct ux_section_list *list = (void *)((char *)p->values + section->target);
	if (ux_section_find(list, name))
		return config_bad_line(p, p->line, "duplicate section [%s %.*s]", section->kind,
				       (int)name.size, (const char *)name.data);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_section_add(p->table, section, name, p->values, p->arena, &p->into, &why);
	if (code != UX_OK)
		return code == UX_EINVAL ? config_bad_line(p, p->line, "%s", why.text)
					 : ux_error_set(p->err, code, "%s", why.text);
	p->section = section;
	p->section_line = p->line;
	memset(p->seen, 0, sizeof(p->seen));
	return UX_OK;
}

static enum ux_code config_key_line(struct parser *p, struct ux_bytes s)
{
	const uint8_t *equals = memchr(s.data, '=', s.size);
	if (!equals)
		return config_bad_line(p, p->line, "expected \"key = value\" or a [section]");
	size_t n = (size_t)(equals - s.data);
	struct ux_bytes key = ux_trim(ux_bytes(s.data, n));
	struct ux_bytes value = ux_trim(ux_bytes(equals + 1, s.size - n - 1));
	const char *kind = p->section ? p->section->kind : NULL;
	const struct ux_setting *row = ux_setting_find(p->table, kind, key);
	if (!row)
		return config_bad_line(p, p->line, "unknown key \"%.*s\"%s%s",
				       (int)ux_min(key.size, (size_t)40), (const char *)key.data,
				       kind ? " of a section " : "", kind ? kind : "");
	bool *seen = &p->seen[row - p->table->rows];
	if (*seen)
		return config_bad_line(p, p->line, "duplicate key \"%s\"", row->key);
	*seen = true;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_setting_read(row, value, p->into, p->arena, &why);
	if (code == UX_EINVAL)
		return config_bad_line(p, p->line, "key \"%s\" %s", row->key, why.text);
	return code == UX_OK ? UX_OK : ux_error_set(p->err, code, "%s", why.text);
}

static enum ux_code config_check_bytes(struct parser *p, struct ux_bytes s)
{
	if (s.size > UX_CONFIG_LINE_MAX)
		return config_bad_line(p, p->line, "line has %zu bytes; the limit is %d", s.size,
				       UX_CONFIG_LINE_MAX);
	for (size_t i = 0; i < s.size; i++)
		if ((s.data[i] < ' ' && s.data[i] != '\t') || s.data[i] == 0x7f)
			return config_bad_line(p, p->line, "invalid byte 0x%02x: not text",
					       s.data[i]);
	return UX_OK;
}

static enum ux_code config_parse_line(struct parser *p, struct ux_bytes s)
{
	if (s.size > 0 && s.data[s.size - 1] == '\r')
		s.size--;
	UX_TRY(config_check_bytes(p, s));
	s = ux_trim(s);
	if (s.size == 0 || s.data[0] == '#')
		return UX_OK;
	return s.data[0] == '[' ? config_section_line(p, s) : config_key_line(p, s);
}

enum ux_code ux_config_parse(const struct ux_setting_table *t, struct ux_bytes text,
			     const char *file, void *values, struct ux_arena *arena,
			     struct ux_error *err)
{
	struct parser p = {.table = t,
			   .file = file,
			   .values = values,
			   .into = values,
			   .arena = arena,
			   .err = err};
	struct ux_bytes line;
	while (ux_text_take_line(&text, &line)) {
		p.line++;
		UX_TRY(config_parse_line(&p, line));
	}
	return config_end_section(&p);
}

static void config_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/*
 * Reads a file, which may also be a pipe or a device. Reads one byte more than the limit, to detect
 * a file that is too large.
 */
static enum ux_code config_read_file(const char *file, struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(config_close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %s",
				   config_shown_path(file, FILE_SHOWN_ALONE));
	while (out->size <= UX_CONFIG_BYTES_MAX) {
		char piece[4096];
		ssize_t n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ux_error_os(err, errno, "cannot read %s",
					   config_shown_path(file, FILE_SHOWN_ALONE));
		if (n == 0)
			return ux_out_status(out, err);
		ux_out_put(out, piece, (size_t)n);
		UX_TRY(ux_out_status(out, err));
	}
	return ux_error_set(err, UX_EINVAL, "%s has more than %d bytes",
			    config_shown_path(file, FILE_SHOWN_ALONE), UX_CONFIG_BYTES_MAX);
}

enum ux_code ux_config_read(const struct ux_setting_table *t, const char *file, void *values,
			    struct ux_arena *arena, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	UX_TRY(config_read_file(file, &out, err));
	return ux_config_parse(t, ux_out_bytes(&out), file, values, arena, err);
}
