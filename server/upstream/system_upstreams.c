/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the debuginfod servers that this system configures for everyone as upstreams. */
#include "upstream_set.h"

#include "event_log.h"
#include "out.h"
#include "settings.h"
#include "upstream.h"

#include <dirent.h>

enum {
	FILE_MAX = 1 << 16, /* bytes of a file with URLs */
};

#define SYSTEM        "system"
#define SYSTEM_FOLDER "/etc/debuginfod"

static int system_has_urls(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return dot && strcmp(dot, ".urls") == 0;
}

static void system_append_file(struct ux_out *out, const char *name)
{
	char path[sizeof(SYSTEM_FOLDER) + NAME_MAX + 1], text[FILE_MAX];
	(void)snprintf(path, sizeof(path), "%s/%s", SYSTEM_FOLDER, name);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	ux_out_put(out, text, fread(text, 1, sizeof(text), f));
	ux_out_u8(out, ' ');
	(void)fclose(f);
}

/* Appends all files with URLs, in the order of their names, like elfutils' profile scripts. */
static void system_append_files(struct ux_out *out)
{
	struct dirent **names = NULL;
	int n = scandir(SYSTEM_FOLDER, &names, system_has_urls, alphasort);
	for (int i = 0; i < n; i++) {
		system_append_file(out, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* The list that is being built. */
struct system_list {
	struct ux_settings *settings;
	struct ux_setting_list given; /* as configured */
	const char *items[UX_SETTING_WORDS_MAX];
	size_t n;
	const char *added[UX_UPSTREAMS_MAX]; /* the items that come from the system */
	size_t n_added;
};

static bool system_is_among(const struct ux_upstream *up, const char *const *items, size_t n)
{
	struct ux_upstream other;
	for (size_t i = 0; i < n; i++)
		if (ux_upstream_parse(&other, items[i], NULL) == UX_OK &&
		    strcmp(other.name, up->name) == 0)
			return true;
	return false;
}

/*
 * Adds a word, unless it is not a URL (Fedora has words such as ima:enforcing), or an upstream of
 * that name exists.
 */
static enum ux_code system_add_word(struct system_list *l, const char *word, struct ux_error *err)
{
	struct ux_upstream up;
	char text[sizeof(up.url)];
	int n = snprintf(text, sizeof(text), "debuginfod+%s,private", word);
	if (n >= (int)sizeof(text) || l->n >= UX_UPSTREAMS_MAX || strchr(word, ',') ||
	    ux_upstream_parse(&up, text, NULL) != UX_OK ||
	    system_is_among(&up, l->given.items, l->given.n) ||
	    system_is_among(&up, l->items, l->n))
		return UX_OK;
	char *item = ux_arena_strndup(&l->settings->arena, text, (size_t)n);
	if (!item)
		return ux_arena_fail(&l->settings->arena, err);
	l->items[l->n++] = item;
	l->added[l->n_added++] = item;
	return UX_OK;
}

/* The debuginfod servers of distributions, by ID in os-release. Source:
 * sourceware.org/elfutils/Debuginfod.html. */
static const char *const system_known[][2] = {
	{"arch", "https://debuginfod.archlinux.org"},
	{"centos", "https://debuginfod.centos.org"},
	{"debian", "https://debuginfod.debian.net"},
	{"fedora", "https://debuginfod.fedoraproject.org"},
	{"opensuse-leap", "https://debuginfod.opensuse.org"},
	{"opensuse-tumbleweed", "https://debuginfod.opensuse.org"},
	{"ubuntu", "https://debuginfod.ubuntu.com"},
	{"void", "https://debuginfod.s.voidlinux.org"},
};

/* Logs which server has the files of this system's distribution, if the system names none. */
static void system_advise(void)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[128], id[64] = "";
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ID=%63[a-z-]", id) == 1)
			break;
	if (f)
		(void)fclose(f);
	for (size_t i = 0; i < ux_countof(system_known); i++)
		if (strcmp(system_known[i][0], id) == 0)
			ux_log_line(
				"info", "upstream",
				"upstream=none system=%s advice=\"set DEBUGINFOD_URLS=%s to fetch "
				"files of the distribution\"",
				id, system_known[i][1]);
}

static enum ux_code system_add(struct system_list *l, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	const char *variable = getenv("DEBUGINFOD_URLS");
	if (variable)
		ux_out_cstr(&text, variable);
	else
		system_append_files(&text);
	l->settings->system_source = variable ? "DEBUGINFOD_URLS" : SYSTEM_FOLDER;
	ux_out_u8(&text, 0);
	UX_TRY(ux_out_status(&text, err));
	static const char spaces[] = " \t\r\n";
	char *rest = NULL;
	for (char *word = strtok_r((char *)text.data, spaces, &rest); word;
	     word = strtok_r(NULL, spaces, &rest))
		UX_TRY(system_add_word(l, word, err));
	return UX_OK;
}

static enum ux_code system_keep(struct ux_settings *s, const char *const *items, size_t n,
				struct ux_setting_list *ret, struct ux_error *err)
{
	const char **kept = ux_arena_array(&s->arena, const char *, n + 1);
	if (!kept)
		return ux_arena_fail(&s->arena, err);
	memcpy(kept, items, n * sizeof(*kept));
	*ret = (struct ux_setting_list){kept, n};
	return UX_OK;
}

enum ux_code ux_server_upstreams_expand(struct ux_settings *settings, struct ux_error *err)
{
	struct system_list l = {.settings = settings, .given = settings->upstreams};
	for (size_t i = 0; i < l.given.n; i++) {
		if (strcmp(l.given.items[i], SYSTEM) != 0 && l.n < ux_countof(l.items))
			l.items[l.n++] = l.given.items[i];
		/* serve_from already has everything that is served */
		else if (!settings->serve_from)
			UX_TRY(system_add(&l, err));
	}
	UX_TRY(system_keep(settings, l.items, l.n, &settings->upstreams, err));
	return system_keep(settings, l.added, l.n_added, &settings->system_upstreams, err);
}

void ux_server_upstreams_report(const struct ux_settings *settings)
{
	const struct ux_setting_list *list = &settings->system_upstreams;
	struct ux_upstream up;
	/* A variable that names no server is set so on purpose. */
	if (settings->system_source && list->n == 0 && !getenv("DEBUGINFOD_URLS"))
		system_advise();
	for (size_t i = 0; i < list->n; i++)
		if (ux_upstream_parse(&up, list->items[i], NULL) == UX_OK)
			ux_log_line(
				"info", "upstream",
				"upstream=%s url=%s from=%s advice=\"the setting upstreams lists "
				"others, or none\"",
				up.name, up.url, settings->system_source);
}
