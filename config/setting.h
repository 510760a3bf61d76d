/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as a table: what a key is called, what it may be, where its value lands. */
#ifndef UX_SETTING_H
#define UX_SETTING_H

#include "arena.h"
#include "bytes.h"
#include "out.h"

enum ux_setting_type {
	UX_SETTING_TEXT,   /* const char *; NULL: not set */
	UX_SETTING_LIST,   /* struct ux_setting_list: words with blanks between them */
	UX_SETTING_COUNT,  /* uint64_t */
	UX_SETTING_BYTES,  /* uint64_t: 100, 100K, 100M, 2G (powers of 1024) */
	UX_SETTING_TIME,   /* uint64_t, milliseconds: 500ms, 30s, 10m, 12h, 90d; 0 */
	UX_SETTING_SWITCH, /* bool: yes, no */
	UX_SETTING_CHOICE, /* unsigned: which of the words */
};

enum ux_setting_flag {
	UX_SETTING_LIVE = 1 << 0,   /* a reload changes it; others wait for a restart */
	UX_SETTING_SECRET = 1 << 1, /* never printed; text alone */
	UX_SETTING_NEEDED = 1 << 2, /* a section without it is an error */
};

struct ux_setting_list {
	const char **items;
	size_t n;
};

/* One row of a table. */
struct ux_setting {
	const char *section; /* its kind of section; NULL: in front of all sections */
	const char *key;
	enum ux_setting_type type;
	size_t target;     /* offset in the struct of values, or in that of its section */
	const char *value; /* the default as it would be written; NULL: not set, 0, the first word
			    */
	uint64_t least, most;     /* of numbers; most 0: no bound */
	unsigned flags;           /* enum ux_setting_flag */
	const char *const *words; /* of a choice, NULL-terminated, in the order of its enum */
	const char *what;         /* a sentence or two, for people who configure */
};

/* A kind of section, [KIND NAME], that a file may have several of. */
struct ux_setting_section {
	const char *kind;
	size_t size;   /* of its struct, whose first member is const char *name */
	size_t target; /* offset of a struct ux_section_list in the struct of values */
	size_t most;
	const char *what;
};

/* All of one kind, in the file's order. */
struct ux_section_list {
	void **items;
	size_t n;
};

struct ux_setting_table {
	const struct ux_setting *rows;
	size_t n_rows; /* at most UX_SETTINGS_MOST */
	const struct ux_setting_section *sections;
	size_t n_sections;
};

enum {
	UX_SETTINGS_MOST = 256,
	UX_SETTING_WORDS_MOST = 256 /* of a list */
};

/* The row of a key in a kind of section (NULL: in front of all); NULL: there is none. */
const struct ux_setting *ux_setting_find(const struct ux_setting_table *t, const char *section,
					 struct ux_bytes key);

/*
 * Reads text as the row's value into values, what it keeps from arena. An empty text takes the
 * value away, as far as there may be none. UX_EINVAL: it is none; the message says what is expected
 * and not which key it is.
 */
enum ux_code ux_setting_read(const struct ux_setting *row, struct ux_bytes text, void *values,
			     struct ux_arena *arena, struct ux_error *err) ux_must;

/* The value as ux_setting_read() takes it; nothing when it is not set. */
void ux_setting_write(const struct ux_setting *row, const void *values, struct ux_out *out);

/* Gives all rows of a section (NULL: in front of all) their defaults; values is zeroed. */
enum ux_code ux_setting_defaults(const struct ux_setting_table *t, const char *section,
				 void *values, struct ux_arena *arena, struct ux_error *err)
	ux_must;

/* Adds a section with its defaults; err says when there are too many. */
enum ux_code ux_section_add(const struct ux_setting_table *t,
			    const struct ux_setting_section *section, struct ux_bytes name,
			    void *values, struct ux_arena *arena, void **ret, struct ux_error *err)
	ux_must;

/* The one of a name, or NULL. */
void *ux_section_find(const struct ux_section_list *list, struct ux_bytes name);

/* "a size like 100M, from 1K to 4G": what may be written there. */
void ux_setting_expected(const struct ux_setting *row, struct ux_out *out);

/* What the name of a section has as its first member. */
static inline const char *ux_section_name(const void *item)
{
	return *(const char *const *)item;
}

/* --- the configuration file: lines of text against a table ------------------------------------ */

/*
 *   # a comment has its line alone
 *   listen = 127.0.0.1:8420
 *   [upstream debian]
 *   url = https://debuginfod.debian.net
 *
 * A value is what is behind the first '=', to the end of the line, without the blanks around it;
 * there are no quotes and no continued lines. Keys in front of the first section are the server's.
 * An unknown key or kind of section, one that comes twice, a value that the table does not take and
 * a byte that is no text are errors.
 */
enum {
	UX_CONFIG_BYTES_MOST = 1 << 20,
	UX_CONFIG_LINE_MOST = 4096,
	UX_CONFIG_NAME_MOST = 64 /* of a section: letters, digits and "._-" */
};

/*
 * Reads text into values, which have their defaults; strings from arena. file is what messages call
 * it: "FILE:LINE: key "listen" is ...". UX_EINVAL: the first mistake.
 */
enum ux_code ux_config_parse(const struct ux_setting_table *t, struct ux_bytes text,
			     const char *file, void *values, struct ux_arena *arena,
			     struct ux_error *err) ux_must;

/* The same of a file, of at most UX_CONFIG_BYTES_MOST. */
enum ux_code ux_config_read(const struct ux_setting_table *t, const char *file, void *values,
			    struct ux_arena *arena, struct ux_error *err) ux_must;

/* The values of a table as a file that ux_config_parse() takes, with their documentation as
 * comments; what is secret is left out. */
void ux_settings_print(const struct ux_setting_table *t, const void *values, struct ux_out *out);

#endif
