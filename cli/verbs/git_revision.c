/* SPDX-License-Identifier: Apache-2.0 */
/* Where a build comes from: the revision of the git repository that a file is in, and the CI run.
 */
#include "git_revision.h"

#include "file.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	FILE_MAX = 16 << 20, /* bytes of packed-refs */
	LINE_BYTES_MAX = 1024,
	URL_MAX = 300,
};

/* Reads the first line of a small file below folder; false: no such file. */
static bool git_read_line(const char *folder, const char *name, char line[LINE_BYTES_MAX])
{
	char path[PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (n < 0 || n >= (int)sizeof(path) || ux_file_map(path, &file, NULL) != UX_OK)
		return false;
	struct ux_bytes text = file.bytes, first;
	if (!ux_text_take_line(&text, &first) || first.size >= LINE_BYTES_MAX ||
	    memchr(first.data, '\0', first.size))
		return false;
	memcpy(line, first.data, first.size);
	line[first.size] = '\0';
	return true;
}

/* Joins a path of git, which may be relative to folder. */
static bool git_join(const char *folder, const char *path, char ret[PATH_MAX])
{
	int n = path[0] == '/' ? snprintf(ret, PATH_MAX, "%s", path)
			       : snprintf(ret, PATH_MAX, "%s/%s", folder, path);
	return n > 0 && n < PATH_MAX;
}

/* Finds the folder of the repository that contains a folder: .git, or the path in a file of that
 * name. */
static bool git_find(const char *path, char ret[PATH_MAX])
{
	char at[PATH_MAX], git[PATH_MAX], line[LINE_BYTES_MAX];
	struct stat st;
	if (!realpath(path, at))
		return false;
	for (;;) {
		int n = snprintf(git, sizeof(git), "%s/.git", strcmp(at, "/") == 0 ? "" : at);
		if (n > 0 && n < (int)sizeof(git) && stat(git, &st) == 0) {
			if (S_ISDIR(st.st_mode))
				return git_join("", git, ret);
			return git_read_line(at, ".git", line) &&
			       strncmp(line, "gitdir: ", 8) == 0 && git_join(at, line + 8, ret);
		}
		char *slash = strrchr(at, '/');
		if (!slash || strcmp(at, "/") == 0)
			return false;
		slash[slash == at] = '\0';
	}
}

/* Finds a ref in git's packed file: lines "REVISION REF". */
static bool git_find_packed(const char *common, const char *ref, char revision[LINE_BYTES_MAX])
{
	char path[PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	size_t n = strlen(ref);
	if (!git_join(common, "packed-refs", path) || ux_file_map(path, &file, NULL) != UX_OK ||
	    file.bytes.size > FILE_MAX)
		return false;
	struct ux_bytes rest = file.bytes, line;
	while (ux_text_take_line(&rest, &line)) {
		const uint8_t *space = memchr(line.data, ' ', line.size);
		size_t digits = space ? (size_t)(space - line.data) : 0;
		if (digits > 0 && digits <= UX_GIT_REVISION_MAX && line.size == digits + 1 + n &&
		    memcmp(space + 1, ref, n) == 0) {
			memcpy(revision, line.data, digits);
			revision[digits] = '\0';
			return true;
		}
	}
	return false;
}

/* Sets the URL of the remote "origin"; "": none. */
static void git_read_url(const char *common, char url[URL_MAX])
{
	char path[PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	bool origin = false;
	*url = '\0';
	if (!git_join(common, "config", path) || ux_file_map(path, &file, NULL) != UX_OK)
		return;
	struct ux_bytes rest = file.bytes, whole;
	while (*url == '\0' && ux_text_take_line(&rest, &whole)) {
		char line[LINE_BYTES_MAX];
		int n = snprintf(line, sizeof(line), "%.*s",
				 (int)ux_min(whole.size, sizeof(line) - 1),
				 (const char *)whole.data);
		const char *text = line + strspn(line, " \t");
		if (n > 0 && *text == '[')
			origin = strncmp(text, "[remote \"origin\"]", 17) == 0;
		else if (origin && strncmp(text, "url", 3) == 0 && strchr(text, '='))
			snprintf(url, URL_MAX, "%.*s", URL_MAX - 1,
				 strchr(text, '=') + 1 + strspn(strchr(text, '=') + 1, " \t"));
	}
}

/* Copies a URL without the user and the password that may be in it. */
static void git_copy_url(char ret[UX_GIT_TEXT], const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	size_t authority = strcspn(host, "/");
	const char *at = scheme ? memrchr(host, '@', authority) : NULL;
	const char *rest = at ? at + 1 : host;
	size_t before = (size_t)(host - url), n = strlen(rest);
	if (before + n >= UX_GIT_TEXT)
		return; /* unknown, as if it had no URL */
	memcpy(ret, url, before);
	memcpy(ret + before, rest, n + 1);
}

static bool git_find_revision(const char *path, struct ux_git_origin *ret)
{
	char git[PATH_MAX], common[PATH_MAX], line[LINE_BYTES_MAX], revision[LINE_BYTES_MAX],
		url[URL_MAX];
	const char *ref = line + 5;
	if (!git_find(path, git) || !git_read_line(git, "HEAD", line))
		return false;
	if (!git_read_line(git, "commondir", revision) || !git_join(git, revision, common))
		snprintf(common, sizeof(common), "%s", git);
	bool branch = strncmp(line, "ref: ", 5) == 0;
	if (!branch)
		snprintf(revision, sizeof(revision), "%s", line);
	else if (strstr(ref, "..") ||
		 (!git_read_line(git, ref, revision) && !git_read_line(common, ref, revision) &&
		  !git_find_packed(common, ref, revision)))
		return false;
	if (!ux_git_is_revision(revision))
		return false;
	snprintf(ret->texts[UX_GIT_REVISION], UX_GIT_TEXT, "%.64s", revision);
	if (branch && strncmp(ref, "refs/heads/", 11) == 0)
		snprintf(ret->texts[UX_GIT_BRANCH], UX_GIT_TEXT, "%.400s", ref + 11);
	git_read_url(common, url);
	git_copy_url(ret->texts[UX_GIT_REPOSITORY], url);
	return true;
}

/* Variables that CI systems set: revision and the page of the run. */
static const struct {
	const char *system, *revision, *run;
} ci_systems[] = {
	{"GITLAB_CI", "CI_COMMIT_SHA", "CI_JOB_URL"},
	{"BUILDKITE", "BUILDKITE_COMMIT", "BUILDKITE_BUILD_URL"},
	{"CIRCLECI", "CIRCLE_SHA1", "CIRCLE_BUILD_URL"},
	{"JENKINS_URL", "GIT_COMMIT", "BUILD_URL"},
	{"GITHUB_ACTIONS", "GITHUB_SHA", NULL},
};

static const char *ci_get(const char *name)
{
	const char *text = name ? getenv(name) : NULL;
	return text && *text != '\0' && strlen(text) < URL_MAX ? text : NULL;
}

static void ci_find_run(size_t i, char ret[UX_GIT_TEXT])
{
	const char *server = ci_get("GITHUB_SERVER_URL"), *name = ci_get("GITHUB_REPOSITORY");
	const char *number = ci_get("GITHUB_RUN_ID"), *run = ci_get(ci_systems[i].run);
	char url[UX_GIT_TEXT];
	bool github = !ci_systems[i].run && server && name && number;
	if (!run && !github)
		return;
	int n = run ? snprintf(url, sizeof(url), "%s", run)
		    : snprintf(url, sizeof(url), "%s/%s/actions/runs/%s", server, name, number);
	if (n > 0 && n < (int)sizeof(url))
		git_copy_url(ret, url);
}

void ux_git_find_origin(const char *path, struct ux_git_origin *ret)
{
	*ret = (struct ux_git_origin){0};
	for (size_t i = 0; i < UX_PROVENANCE_COUNT; i++)
		ret->known.facts[i] = ret->texts[i];
	bool known = path && git_find_revision(path, ret);
	for (size_t i = 0; i < ux_countof(ci_systems); i++) {
		const char *revision = ci_get(ci_systems[i].revision);
		if (!ci_get(ci_systems[i].system))
			continue;
		if (!known && revision && ux_git_is_revision(revision))
			snprintf(ret->texts[UX_GIT_REVISION], UX_GIT_TEXT, "%.64s", revision);
		ci_find_run(i, ret->texts[UX_CI_RUN]);
		return;
	}
}
