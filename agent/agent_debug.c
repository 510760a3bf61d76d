/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the quality of symbols that a mapped file can give, with its separate debug file and
 * that file's supplementary file, or without DWARF. */
#include "agent_work.h"

#include "debug_paths.h"
#include "file_trust.h"
#include "open_helper.h"
#include "proc_files.h"

#include <unistd.h>

/* Returns the best quality without DWARF: Go's own tables have lines. */
static enum ux_quality agent_plain_quality(const struct ux_push_module *m)
{
	enum ux_quality max =
		ux_id_set_find(&m->ids, UX_ID_GO) ? UX_QUALITY_GOPCLNTAB : UX_QUALITY_SYMTAB;
	return ux_min(m->claim, max);
}

/* Where to search debug files: in the folders of this host or of a process. */
struct debug_search {
	struct ux_agent *agent;
	struct ux_push_module *module;
	const struct ux_id *id;
	pid_t pid; /* 0: this host */
	/* path in the link to a supplementary file; NULL: a debug file is searched */
	const char *link;
	struct ux_sandbox_part *ret; /* the supplementary file */
	bool done;
	enum ux_code code; /* of the last path of a supplementary file, with *err */
	struct ux_error *err;
};

/* Opens a debug file. False: it cannot be opened, or is empty. */
static bool agent_open_debug(const struct debug_search *s, const char *path, struct ux_opened *ret)
{
	const enum ux_open_root root = s->pid != 0 ? UX_OPEN_PROCESS
				       : s->link   ? UX_OPEN_HOST_ROOT
						   : UX_OPEN_HOST;
	return ux_open_helper_path(&s->agent->opener, root, s->pid, path, ret, NULL) == UX_OK &&
	       ret->size > 0;
}

/* Takes over the open debug file of the module, which is trusted no further than that. */
static enum ux_code agent_take_debug(struct debug_search *s, const char *path, int *fd,
				     const struct ux_opened *file, enum ux_quality claim,
				     struct ux_error *err)
{
	const enum ux_trust trust = ux_file_trust(file, /* host= */ s->pid == 0);
	struct ux_push_module *m = s->module;
	free(m->debug);
	m->debug = strdup(path);
	if (!m->debug || !ux_push_packs_append(s->agent->debug_files, *fd))
		return ux_error_nomem(err);
	m->debug_part = (struct ux_sandbox_part){*fd, 0, file->size};
	*fd = -1;
	m->debug_found = true;
	m->claim = claim;
	m->origin.trust = ux_min(m->origin.trust, trust);
	s->done = true;
	return UX_OK;
}

/* Takes over the open supplementary file. */
static enum ux_code agent_take_supplementary(struct debug_search *s, int *fd, uint64_t size,
					     struct ux_error *err)
{
	if (!ux_push_packs_append(s->agent->debug_files, *fd))
		return ux_error_nomem(err);
	*s->ret = (struct ux_sandbox_part){*fd, 0, size};
	*fd = -1;
	s->done = true;
	return UX_OK;
}

/*
 * Takes the file at path if it is the supplementary file, or if it is the module's debug file and
 * has better symbols than the module.
 */
static enum ux_code agent_try_debug(struct debug_search *s, const char *path, struct ux_error *err)
{
	UX_FD(fd);
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_opened file = {.fd = -1};
	const bool opened = agent_open_debug(s, path, &file);
	fd = file.fd;
	if (!opened)
		return UX_OK;
	const struct ux_sandbox_part whole = {fd, 0, file.size};
	enum ux_code code =
		ux_push_part_read(&s->agent->work, path, &whole, /* packed= */ false, &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	for (size_t i = 0; i < found.size && !s->done; i++) {
		const struct ux_id *its = ux_id_set_find(&found.data[i].ids, UX_ID_GNU);
		if (!its || !ux_id_eq(its, s->id))
			continue;
		if (s->link)
			UX_TRY(agent_take_supplementary(s, &fd, whole.size, err));
		else if (found.data[i].claim > s->module->claim)
			UX_TRY(agent_take_debug(s, path, &fd, &file, found.data[i].claim, err));
	}
	return UX_OK;
}

/*
 * Searches debug files by build ID only: the same path in another mount namespace names another
 * file.
 */
static enum ux_code agent_search_debug(struct debug_search *s, struct ux_error *err)
{
	struct ux_debug_paths paths = {ux_debug_dirs(s->agent->push.debug_dirs), s->id};
	char path[PATH_MAX];
	while (!s->done && ux_debug_paths_next(&paths, path))
		UX_TRY(agent_try_debug(s, path, err));
	return UX_OK;
}

/* Finds the module's debug file. A container may have a package of debug files that this host
 * lacks. */
static enum ux_code agent_find_debug(struct ux_agent *a, struct ux_push_module *m, pid_t pid,
				     struct ux_error *err)
{
	const struct ux_id *id = ux_id_set_find(&m->ids, UX_ID_GNU);
	enum ux_quality enough = a->push.no_dwarf ? UX_QUALITY_SYMTAB : UX_QUALITY_LINES;
	struct debug_search s = {.agent = a, .module = m, .id = id};
	if (!id || m->gsym || m->gpu != 0 || m->debug_only || m->claim >= enough)
		return UX_OK;
	UX_TRY(agent_search_debug(&s, err));
	if (s.done || pid == 0)
		return UX_OK;
	s.pid = pid;
	return agent_search_debug(&s, err);
}

static bool agent_try_supplementary(void *ctx, const char *path)
{
	struct debug_search *s = ctx;
	s->code = agent_try_debug(s, path, s->err);
	return s->done || s->code != UX_OK;
}

static enum ux_code agent_search_supplementary(struct debug_search *s, struct ux_error *err)
{
	const char *from = s->module->debug ? s->module->debug : s->module->path;
	s->err = err;
	const struct ux_supplementary_paths paths = {
		.link = s->link,
		.id = s->id,
		.from = strchr(from, '/') ? from : NULL, /* it may be a name alone */
		.dirs = ux_debug_dirs(s->agent->push.debug_dirs)};
	ux_supplementary_paths_try(&paths, agent_try_supplementary, s);
	return s->code;
}

enum ux_code ux_agent_find_supplementary(void *ctx, struct ux_push_module *m,
					 const struct ux_id *id, const char *path,
					 struct ux_sandbox_part *ret, struct ux_error *err)
{
	struct ux_agent *a = ctx;
	struct debug_search s = {.agent = a, .module = m, .id = id, .link = path, .ret = ret};
	UX_TRY(agent_search_supplementary(&s, err));
	if (!s.done && a->owner != 0) {
		s.pid = a->owner;
		UX_TRY(agent_search_supplementary(&s, err));
	}
	if (!s.done && m->lost[0] == '\0')
		snprintf(m->lost, sizeof(m->lost),
			 "supplementary file %.96s is missing; its names are unavailable", path);
	return UX_OK;
}

void ux_agent_close_debug_files(struct ux_push_packs *files)
{
	for (size_t i = 0; i < files->size; i++)
		ux_fd_close(&files->data[i]);
	ux_push_packs_deinit(files);
}

enum ux_code ux_agent_complete(struct ux_agent *a, struct ux_push_module *m, pid_t pid,
			       struct ux_error *err)
{
	UX_TRY(agent_find_debug(a, m, pid, err));
	if (a->push.no_dwarf && !m->gsym)
		m->claim = agent_plain_quality(m);
	return UX_OK;
}
