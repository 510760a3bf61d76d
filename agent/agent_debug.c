/* SPDX-License-Identifier: Apache-2.0 */
/* What a mapped file can give: with its separate debug file, and without DWARF. */
#include "agent_work.h"

#include "debug_file.h"

#include <fcntl.h>
#include <sys/stat.h>

/* The best quality without DWARF: Go's own tables have lines. */
static enum ux_quality agent_plain_quality(const struct ux_push_module *m)
{
	enum ux_quality most =
		ux_id_set_find(&m->ids, UX_ID_GO) ? UX_QUALITY_GOPCLNTAB : UX_QUALITY_SYMTAB;
	return ux_min(m->claim, most);
}

/* Takes the file at path when it is the debug file of m and has more than m. */
static enum ux_code agent_try_debug(struct ux_agent *a, struct ux_push_module *m, const char *path,
				    const struct ux_id *id, bool *ret_done, struct ux_error *err)
{
	UX_FD(fd);
	struct stat st;
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	struct ux_error why = UX_ERROR_INIT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return UX_OK;
	const struct ux_sandbox_part whole = {fd, 0, (uint64_t)st.st_size};
	enum ux_code code =
		ux_push_part_read(&a->work, path, &whole, /* packed= */ false, &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	for (size_t i = 0; i < found.size && !*ret_done; i++) {
		const struct ux_id *its = ux_id_set_find(&found.data[i].ids, UX_ID_GNU);
		if (!its || !ux_id_eq(its, id) || found.data[i].claim <= m->claim)
			continue;
		m->debug = strdup(path);
		if (!m->debug)
			return ux_error_nomem(err);
		m->debug_found = true;
		m->claim = found.data[i].claim;
		*ret_done = true;
	}
	return UX_OK;
}

/*
 * Debug files are searched by build ID alone: a path beside the file is that of another file in
 * another namespace.
 */
static enum ux_code agent_find_debug(struct ux_agent *a, struct ux_push_module *m,
				     struct ux_error *err)
{
	const char *dirs = a->push.debug_dirs ? a->push.debug_dirs : UX_DEBUG_DIRS_DEFAULT;
	const struct ux_id *id = ux_id_set_find(&m->ids, UX_ID_GNU);
	enum ux_quality enough = a->push.no_dwarf ? UX_QUALITY_SYMTAB : UX_QUALITY_LINES;
	bool done = !id || m->gsym || m->gpu != 0 || m->debug_only || m->claim >= enough;
	while (*dirs && !done) {
		char path[PATH_MAX];
		size_t n = strcspn(dirs, ":");
		if (n > 0 && ux_debug_id_path(path, dirs, n, id))
			UX_TRY(agent_try_debug(a, m, path, id, &done, err));
		dirs += n + (dirs[n] == ':');
	}
	return UX_OK;
}

enum ux_code ux_agent_complete(struct ux_agent *a, struct ux_push_module *m, struct ux_error *err)
{
	UX_TRY(agent_find_debug(a, m, err));
	if (a->push.no_dwarf && !m->gsym)
		m->claim = agent_plain_quality(m);
	return UX_OK;
}
