/* SPDX-License-Identifier: Apache-2.0 */
/* The repositories that this machine's apt is configured with. */
#include "debian_files.h"

#include "file.h"
#include "out.h"
#include "text.h"

#include <dirent.h>

enum {
	FILE_MAX = 4 << 20, /* bytes of a file of sources */
	FILES_MAX = 1024,   /* files in sources.list.d */
};

/* Returns the words of a value, separated by single spaces. Commas separate too, where apt allows
 * them. */
static const char *apt_words(struct ux_arena *arena, struct ux_bytes value)
{
	char *text = ux_arena_array(arena, char, value.size + 1);
	size_t n = 0;
	if (!text)
		return NULL;
	for (size_t i = 0; i < value.size; i++) {
		bool gap = value.data[i] <= ' ' || value.data[i] == ',';
		if (!gap)
			text[n++] = (char)value.data[i];
		else if (n > 0 && text[n - 1] != ' ')
			text[n++] = ' ';
	}
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	return text;
}

/* A source as slices, before it has texts of its own. */
struct apt_slices {
	struct ux_bytes uri, suites, components, archs, signed_by;
};

static enum ux_code apt_add(struct ux_apt_source_vec *to, struct ux_arena *arena,
			    const struct apt_slices *s, struct ux_error *err)
{
	struct ux_apt_source source = {
		.uri = ux_arena_strndup(arena, s->uri.data, s->uri.size),
		.suites = apt_words(arena, s->suites),
		.components = apt_words(arena, s->components),
		.archs = apt_words(arena, s->archs),
		.signed_by = s->signed_by.size > 0 && s->signed_by.data[0] == '/'
				     ? apt_words(arena, s->signed_by)
				     : "",
	};
	if (to->size == UX_APT_SOURCES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %u apt sources",
				    (unsigned)UX_APT_SOURCES_MAX);
	if (!source.uri || !source.suites || !source.components || !source.archs ||
	    !source.signed_by)
		return ux_arena_fail(arena, err);
	return ux_apt_source_vec_append(to, source) ? UX_OK : ux_error_nomem(err);
}

/* Parses "[arch=amd64,i386 signed-by=/path]" after "deb". False: it does not end. */
static bool apt_list_options(struct ux_bytes *left, struct apt_slices *s)
{
	const uint8_t *end = memchr(left->data, ']', left->size);
	if (!end)
		return false;
	struct ux_bytes inside = ux_bytes(left->data + 1, (size_t)(end - left->data) - 1), word;
	*left = ux_bytes(end + 1, left->size - (size_t)(end + 1 - left->data));
	while (ux_deb822_word(&inside, &word)) {
		if (ux_bytes_starts(word, UX_STR("arch=")))
			s->archs = ux_bytes(word.data + 5, word.size - 5);
		else if (ux_bytes_starts(word, UX_STR("signed-by=")))
			s->signed_by = ux_bytes(word.data + 10, word.size - 10);
	}
	return true;
}

/* Parses "deb [options] uri suite component...". False: it is something else. */
static bool apt_list_line(struct ux_bytes line, struct apt_slices *s)
{
	struct ux_bytes word;
	const uint8_t *comment = line.size > 0 ? memchr(line.data, '#', line.size) : NULL;
	if (comment)
		line.size = (size_t)(comment - line.data);
	if (!ux_deb822_word(&line, &word) || !ux_bytes_eq(word, UX_STR("deb")))
		return false;
	line = ux_trim(line);
	if (line.size > 0 && line.data[0] == '[' && !apt_list_options(&line, s))
		return false;
	if (!ux_deb822_word(&line, &s->uri) || !ux_deb822_word(&line, &s->suites))
		return false;
	s->components = line;
	return true;
}

enum ux_code ux_apt_sources_list(struct ux_bytes text, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err)
{
	struct ux_bytes line;
	while (ux_text_take_line(&text, &line)) {
		struct apt_slices s = {0};
		if (apt_list_line(line, &s))
			UX_TRY(apt_add(ret, arena, &s, err));
	}
	return UX_OK;
}

static bool apt_has_word(struct ux_bytes value, const char *want)
{
	struct ux_bytes word;
	while (ux_deb822_word(&value, &word))
		if (ux_bytes_eq(word, ux_bytes_cstr(want)))
			return true;
	return false;
}

enum ux_code ux_apt_sources_deb822(struct ux_bytes text, struct ux_arena *arena,
				   struct ux_apt_source_vec *ret, struct ux_error *err)
{
	struct ux_deb822 d = ux_deb822_make(text, "sources");
	while (ux_deb822_next_stanza(&d)) {
		struct apt_slices s = {0};
		struct ux_bytes types = {0}, enabled = {0}, uris = {0};
		const struct ux_deb822_known known[] = {
			{"Types", &types},
			{"Enabled", &enabled},
			{"URIs", &uris},
			{"Suites", &s.suites},
			{"Components", &s.components},
			{"Architectures", &s.archs},
			{"Signed-By", &s.signed_by},
		};
		UX_TRY(ux_deb822_read(&d, known, ux_countof(known), err));
		if (!apt_has_word(types, "deb") || ux_bytes_eq(enabled, UX_STR("no")))
			continue;
		while (ux_deb822_word(&uris, &s.uri))
			UX_TRY(apt_add(ret, arena, &s, err));
	}
	return ux_deb822_status(&d, err);
}

/* Reads a file. If it cannot be read, or has a different form, it is skipped, as apt does with a
 * warning. */
static enum ux_code apt_file(const char *path, bool deb822, struct ux_arena *arena,
			     struct ux_apt_source_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK || file.bytes.size > FILE_MAX)
		return UX_OK;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = deb822 ? ux_apt_sources_deb822(file.bytes, arena, ret, &why)
				   : ux_apt_sources_list(file.bytes, arena, ret, &why);
	if (code == UX_ENOMEM || code == UX_ELIMIT) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	return UX_OK;
}

static int apt_select_name(const struct dirent *entry)
{
	return ux_bytes_has_suffix(ux_bytes_cstr(entry->d_name), UX_STR(".list")) ||
	       ux_bytes_has_suffix(ux_bytes_cstr(entry->d_name), UX_STR(".sources"));
}

static int apt_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

enum ux_code ux_apt_sources_read(const char *root, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err)
{
	char path[PATH_MAX];
	struct dirent **names = NULL;
	enum ux_code code = UX_OK;
	snprintf(path, sizeof(path), "%s/etc/apt/sources.list", root);
	UX_TRY(apt_file(path, /* deb822= */ false, arena, ret, err));
	snprintf(path, sizeof(path), "%s/etc/apt/sources.list.d", root);
	int n = scandir(path, &names, apt_select_name, apt_compare_names);
	for (int i = 0; i < n; i++) {
		int size = snprintf(path, sizeof(path), "%s/etc/apt/sources.list.d/%s", root,
				    names[i]->d_name);
		if (code == UX_OK && i < FILES_MAX && size > 0 && (size_t)size < sizeof(path))
			code = apt_file(path,
					ux_bytes_has_suffix(ux_bytes_cstr(names[i]->d_name),
							    UX_STR(".sources")),
					arena, ret, err);
		free(names[i]);
	}
	free(names);
	return code;
}
