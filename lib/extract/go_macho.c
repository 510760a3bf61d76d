/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program in a Mach-O file. */
#include "go_macho.h"

static uint64_t section_pc(const struct ux_macho *m, const char *name, uint64_t *ret_size)
{
	const struct ux_macho_section *s = ux_macho_section_find(m, name);
	if (!s || s->off == 0)
		return 0;
	*ret_size = s->size;
	return s->addr;
}

static enum ux_code read_segments(const struct ux_macho *m, struct ux_go_memory *go,
				  struct ux_error *err)
{
	size_t n = 0;
	go->segments = calloc(m->n_segments + 1, sizeof(*go->segments));
	if (!go->segments)
		return ux_error_nomem(err);
	for (size_t i = 0; i < m->n_segments; i++) {
		const struct ux_macho_segment *s = &m->segments[i];
		struct ux_gosym_segment made = {s->vmaddr, UX_BYTES_NONE,
						(s->initprot & VM_PROT_EXECUTE) != 0,
						(s->initprot & VM_PROT_WRITE) != 0};
		if (s->filesize > 0 && s->vmaddr + s->filesize > s->vmaddr &&
		    ux_bytes_sub(m->file, s->off, s->filesize, &made.bytes))
			go->segments[n++] = made;
	}
	ux_go_memory_settle(go, n);
	return UX_OK;
}

enum ux_code ux_go_macho_open(const struct ux_macho *m, struct ux_go_memory *ret,
			      struct ux_error *err)
{
	ux_cleanup(ux_go_memory_close) struct ux_go_memory go = {.image.swap = m->swap};
	struct ux_gosym_hints *hints = &go.hints;
	uint64_t ignored = 0;
	*ret = (struct ux_go_memory){0};
	hints->table = section_pc(m, "__gopclntab", &hints->table_size);
	hints->module = section_pc(m, "__go_module", &ignored);
	hints->version = section_pc(m, "__go_buildinfo", &ignored);
	if (m->type == MH_OBJECT || (hints->table == 0 && hints->version == 0))
		return UX_OK;
	UX_TRY(read_segments(m, &go, err));
	*ret = go;
	go = (struct ux_go_memory){0};
	return UX_OK;
}
