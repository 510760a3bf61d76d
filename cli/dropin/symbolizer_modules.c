/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the modules that requests name by path or build ID. */
#include "symbolizer.h"

#include "debug_paths.h"
#include "id.h"
#include "macho_fat.h"
#include "sigbus.h"
#include "text.h"

#include <unistd.h>

static void symbolizer_module_free(struct ux_symbolizer_module *module)
{
	if (!module)
		return;
	ux_declarations_close(&module->declarations);
	ux_symbol_list_close(&module->symbols);
	ux_drop_in_close(&module->file);
	free(module->name);
	free(module->path);
	free(module->arch);
	free(module);
}

void ux_symbolizer_modules_deinit(struct ux_symbolizer_modules *m)
{
	ux_sigbus_reading(NULL);
	for (size_t i = 0; i < m->n; i++)
		symbolizer_module_free(m->all[i]);
	m->n = 0;
}

/* Returns the first DIR/.build-id/xx/yyyy.debug that exists, malloc'ed; NULL: none, or out of
 * memory. */
static char *symbolizer_path_of_build_id(const char *dirs, struct ux_bytes text)
{
	struct ux_id id = {.type = UX_ID_GNU};
	struct ux_debug_paths paths = {ux_debug_dirs(dirs), &id};
	char path[PATH_MAX];
	size_t size = 0;
	if (!ux_hex_decode(text, id.bytes, UX_ID_GNU_MAX, &size))
		return NULL;
	id.size = (uint8_t)size;
	while (ux_debug_paths_next(&paths, path))
		if (access(path, R_OK) == 0)
			return strdup(path);
	return NULL;
}

/* Splits "/usr/lib/libx.so:x86_64" into path and architecture. */
static char *symbolizer_path_of_file(const char *name, char **ret_arch)
{
	const char *colon = strrchr(name, ':');
	if (colon && access(name, F_OK) != 0 && !strchr(colon, '/')) {
		char *path = strndup(name, (size_t)(colon - name));
		if (path && access(path, F_OK) == 0) {
			*ret_arch = strdup(colon + 1);
			return path;
		}
		free(path);
	}
	return strdup(name);
}

/* The --default-arch applies only to files with several slices. */
static const char *symbolizer_default_arch(const struct ux_symbolizer_modules *m, const char *path)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	bool several =
		m->arch && ux_file_map(path, &file, NULL) == UX_OK && ux_macho_is_fat(file.bytes);
	return several ? m->arch : NULL;
}

static void symbolizer_module_open(struct ux_symbolizer_modules *m,
				   struct ux_symbolizer_module *module, struct ux_bytes name,
				   bool is_build_id)
{
	module->path = is_build_id ? symbolizer_path_of_build_id(m->debug_dirs, name)
				   : symbolizer_path_of_file(module->name, &module->arch);
	if (!module->path) {
		(void)ux_error_set(&module->failure, UX_ENOTFOUND, "could not find build ID");
		return;
	}
	ux_sigbus_reading(module->path);
	if (ux_drop_in_open(&module->file, module->path, m->debug_dirs,
			    module->arch ? module->arch : symbolizer_default_arch(m, module->path),
			    m->columns, &module->failure) != UX_OK)
		return;
}

struct ux_symbolizer_module *ux_symbolizer_module_find(struct ux_symbolizer_modules *m,
						       struct ux_bytes name, bool is_build_id,
						       bool *ret_new)
{
	char *text = NULL;
	*ret_new = false;
	if (asprintf(&text, "%s%.*s", is_build_id ? "BUILDID:" : "", (int)name.size,
		     (const char *)name.data) < 0)
		return NULL;
	for (size_t i = 0; i < m->n; i++) {
		if (strcmp(m->all[i]->name, text) == 0) {
			free(text);
			return m->all[i];
		}
	}
	struct ux_symbolizer_module *module = calloc(1, sizeof(*module));
	if (!module) {
		free(text);
		return NULL;
	}
	*ret_new = true;
	module->name = text;
	module->failure = (struct ux_error)UX_ERROR_INIT;
	symbolizer_module_open(m, module, name, is_build_id);
	size_t at = m->n < UX_SYMBOLIZER_OPEN_MAX ? m->n++ : m->oldest++ % UX_SYMBOLIZER_OPEN_MAX;
	symbolizer_module_free(m->all[at]);
	m->all[at] = module;
	return module;
}

const struct ux_symbol_list *ux_symbolizer_symbols(struct ux_symbolizer_module *module)
{
	if (!module->symbols_read &&
	    ux_symbol_list_open(&module->symbols, module->path, NULL) != UX_OK)
		module->symbols.symbols.size = 0;
	module->symbols_read = true;
	return &module->symbols;
}

bool ux_symbolizer_declaration(struct ux_symbolizer_module *module,
			       const struct ux_listed_symbol *symbol, struct ux_declaration *ret)
{
	const struct ux_symbol_source *source = &module->file.source;
	struct ux_bytes debug = source->files.debug.file.bytes;
	if (!module->declarations_read) {
		module->declarations_read = true;
		if (ux_declarations_open(&module->declarations,
					 debug.size > 0 ? debug : source->file.bytes,
					 NULL) != UX_OK)
			ux_declarations_close(&module->declarations);
	}
	return ux_declarations_find(&module->declarations, symbol->start, ret, NULL) == UX_OK;
}
