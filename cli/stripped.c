/* SPDX-License-Identifier: Apache-2.0 */
/* What would give a stripped file its names, for messages. */
#include "stripped.h"

#include "cubin.h"
#include "debian_package.h"
#include "elf_file.h"
#include "file.h"
#include "output.h"

bool ux_stripped_is(struct ux_bytes file)
{
	static const char *const tables[] = {".symtab", ".gnu_debugdata", ".gopclntab"};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (!ux_elf_is(file) || ux_cubin_is(file) || ux_elf_open(&elf, file, NULL) != UX_OK ||
	    (elf.type != ET_EXEC && elf.type != ET_DYN))
		return false;
	for (size_t i = 0; i < ux_countof(tables); i++)
		if (ux_elf_section_stored(&elf, tables[i]))
			return false;
	return !ux_elf_has_dwarf(&elf);
}

void ux_stripped_help(struct ux_out *out, const char *path, bool server)
{
	ux_cleanup(ux_out_deinit) struct ux_out package = {0};
	bool known = ux_debian_debug_package(&package, path);
	if (known) {
		ux_out_cstr(out, "install ");
		ux_text(out, ux_out_bytes(&package));
		ux_out_cstr(out, ", or ");
	}
	ux_out_cstr(out, server  ? "push its debug file"
			 : known ? "use --debuginfod URL"
				 : "name its debug file's folder (--debug-dir) or a server that "
				   "has it (--debuginfod)");
	out->failed = out->failed || package.failed;
}

bool ux_stripped_advice(struct ux_out *out, const char *path, bool server)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK || !ux_stripped_is(file.bytes))
		return false;
	ux_out_cstr(out, "is stripped; ");
	ux_stripped_help(out, path, server);
	return true;
}
