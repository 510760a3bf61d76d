/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of settings: the key, type, limits and destination of each value. */
#ifndef UX_SETTING_H
#define UX_SETTING_H

#include "arena.h"
#include "bytes.h"
#include "out.h"

enum ux_setting_type {
	UX_SETTING_TEXT,   /* const char *; NULL: unset */
	UX_SETTING_LIST,   /* struct ux_setting_list: words separated by spaces */
	UX_SETTING_COUNT,  /* uint64_t */
	UX_SETTING_BYTES,  /* uint64_t: 100, 100K, 100M, 2G (powers of 1024) */
	UX_SETTING_TIME,   /* uint64_t, milliseconds: 500ms, 30s, 10m, 12h, 90d; 0 */
	UX_SETTING_SWITCH, /* bool: yes, no */
	UX_SETTING_CHOICE, /* unsigned: index of the word */
};

enum ux_setting_flag {
	UX_SETTING_LIVE = 1 << 0,   /* a reload changes it; other settings need a restart */
	UX_SETTING_SECRET = 1 << 1, /* never printed; only for text */
	UX_SETTING_NEEDED = 1 << 2, /* a section must have it */
};

struct ux_setting_list {
	const char **items;
	size_t n;
};

/* One row of a table. */
struct ux_setting {
	const char *section; /* kind of its section; NULL: before all sections */
	const char *key;
	enum ux_setting_type type;
	size_t target; /* offset in the struct of values, or in the struct of its section */
	/* default in the syntax of the file; NULL: unset, 0, or the first word */
	const char *value;
	uint64_t min, max;        /* bounds of numbers; max 0: no upper bound */
	unsigned flags;           /* enum ux_setting_flag */
	const char *const *words; /* words of a choice, NULL-terminated, in the order of its enum */
	const char *what;         /* description in one or two sentences, for users */
};

/* A kind of section, [KIND NAME]. A file may have several of the same kind. */
struct ux_setting_section {
	const char *kind;
	size_t size;   /* size of its struct, whose first member is const char *name */
	size_t target; /* offset of a struct ux_section_list in the struct of values */
	size_t max;
	const char *what;
};

/* All sections of one kind, in the order of the file. */
struct ux_section_list {
	void **items;
	size_t n;
};

struct ux_setting_table {
	const struct ux_setting *rows;
	size_t n_rows; /* at most UX_SETTINGS_MAX */
	const struct ux_setting_section *sections;
	size_t n_sections;
};

enum {
	UX_SETTINGS_MAX = 256,
	UX_SETTING_WORDS_MAX = 256 /* words of a list */
};

/* Returns the row of a key in a kind of section (NULL: before all sections); NULL: no such key. */
const struct ux_setting *ux_setting_find(const struct ux_setting_table *t, const char *section,
					 struct ux_bytes key);

/*
 * Parses text as the row's value into values; strings are allocated in the arena. Empty text unsets
 * the value, if that is allowed. UX_EINVAL: the text is invalid; the message describes the expected
 * value, but does not name the key.
 */
enum ux_code ux_setting_read(const struct ux_setting *row, struct ux_bytes text, void *values,
			     struct ux_arena *arena, struct ux_error *err) ux_must;

/* Writes the value in the syntax of ux_setting_read(); nothing if it is unset. */
void ux_setting_write(const struct ux_setting *row, const void *values, struct ux_out *out);

/*
 * Sets all rows of a section (NULL: before all sections) to their defaults; values must be zeroed.
 */
enum ux_code ux_setting_defaults(const struct ux_setting_table *t, const char *section,
				 void *values, struct ux_arena *arena, struct ux_error *err)
	ux_must;

/* Adds a section with its defaults. Fails if there are too many. */
enum ux_code ux_section_add(const struct ux_setting_table *t,
			    const struct ux_setting_section *section, struct ux_bytes name,
			    void *values, struct ux_arena *arena, void **ret, struct ux_error *err)
	ux_must;

/* Returns the section of that name, or NULL. */
void *ux_section_find(const struct ux_section_list *list, struct ux_bytes name);

/* Describes the values that are allowed: "a size like 100M, from 1K to 4G". */
void ux_setting_expected(const struct ux_setting *row, struct ux_out *out);

/* Reads the name, which is the first member of a section's struct. */
static inline const char *ux_section_name(const void *item)
{
	return *(const char *const *)item;
}

/* --- the configuration file: lines of text against a table ------------------------------------ */

/*
 *   # a comment is a whole line
 *   listen = 127.0.0.1:8420
 *   [upstream debian]
 *   url = https://debuginfod.debian.net
 *
 * A value is the text from the first '=' to the end of the line, without the spaces around it.
 * There are no quotes and no continuation lines. Keys before the first section are the server's
 * own. Errors are: an unknown or repeated key or section, a value that the table does not allow,
 * and bytes that are not text.
 */
enum {
	UX_CONFIG_BYTES_MAX = 1 << 20,
	UX_CONFIG_LINE_MAX = 4096,
	UX_CONFIG_NAME_MAX = 64 /* bytes of a section's name: letters, digits and "._-" */
};

/*
 * Parses text into values, which must have their defaults; strings are allocated in the arena.
 * Messages contain the name file: "FILE:LINE: key "listen" is ...". UX_EINVAL: the first error.
 */
enum ux_code ux_config_parse(const struct ux_setting_table *t, struct ux_bytes text,
			     const char *file, void *values, struct ux_arena *arena,
			     struct ux_error *err) ux_must;

/* Reads and parses a file of at most UX_CONFIG_BYTES_MAX bytes. */
enum ux_code ux_config_read(const struct ux_setting_table *t, const char *file, void *values,
			    struct ux_arena *arena, struct ux_error *err) ux_must;

/*
 * Prints the values of a table as a file that ux_config_parse() accepts, with descriptions as
 * comments and without secrets.
 */
void ux_settings_print(const struct ux_setting_table *t, const void *values, struct ux_out *out);

#endif
