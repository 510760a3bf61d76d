/* SPDX-License-Identifier: Apache-2.0 */
/* What would give a stripped file its names, for messages. */
#include "stripped.h"

#include "cubin.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "file.h"
#include "output.h"

#include <dirent.h>
#include <limits.h>

#define LISTS "/var/lib/dpkg/info"

enum {
	LISTS_MAX = 20000,        /* files of the folder; a full desktop has 5000 */
	LIST_BYTES_MAX = 8 << 20, /* of one list; the largest of Debian has 2 MB */
};

static void debian_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Whether one line of the list is `line`, which begins and ends with a newline. Each list begins
 * with the line "/.", so that every file has a newline before it. */
static bool debian_list_has(const char *name, struct ux_bytes line)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping list = {0};
	char path[sizeof(LISTS) + NAME_MAX + 2];
	(void)snprintf(path, sizeof(path), LISTS "/%s", name);
	return ux_file_map(path, &list, NULL) == UX_OK && list.bytes.size <= LIST_BYTES_MAX &&
	       list.bytes.size > 0 &&
	       memmem(list.bytes.data, list.bytes.size, line.data, line.size) != NULL;
}

/* The name of the package with the list "PACKAGE.list" or "PACKAGE:ARCHITECTURE.list". */
static struct ux_bytes debian_list_package(const char *name)
{
	struct ux_bytes file = ux_bytes_cstr(name);
	if (!ux_bytes_has_suffix(file, UX_STR(".list")))
		return UX_BYTES_NONE;
	return ux_bytes(name, strcspn(name, ":") < file.size ? strcspn(name, ":")
							     : file.size - strlen(".list"));
}

/* Two old packages of debug files have a name of their own, and Debian's kernels. */
static bool debian_is_dbg(struct ux_bytes package)
{
	return ux_bytes_eq(package, UX_STR("libc6")) ||
	       ux_bytes_starts(package, UX_STR("linux-image-"));
}

/* Appends the debug package of the owner of the file in `line`. */
static bool debian_find_line(struct ux_out *out, struct ux_bytes line)
{
	ux_cleanup(debian_close_dir) DIR *dir = opendir(LISTS);
	size_t n = 0;
	for (struct dirent *e; dir && n < LISTS_MAX && (e = readdir(dir)); n++) {
		struct ux_bytes package = debian_list_package(e->d_name);
		if (package.size == 0 || !debian_list_has(e->d_name, line))
			continue;
		ux_out_put(out, package.data, package.size);
		ux_out_cstr(out, debian_is_dbg(package) ? "-dbg" : "-dbgsym");
		return true;
	}
	return false;
}

/*
 * Appends the name of the package with the debug file of `path`, as dpkg's lists of files name the
 * owner of that path: "dpkg-dbgsym", "libc6-dbg". Appends nothing and returns false if no package
 * owns it.
 */
static bool debian_debug_package(struct ux_out *out, const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/"};
	char real[PATH_MAX], line[PATH_MAX + 2];
	bool of_system = false;
	if (!realpath(path, real))
		return false;
	for (size_t i = 0; i < ux_countof(folders); i++)
		of_system = of_system || strncmp(real, folders[i], strlen(folders[i])) == 0;
	if (!of_system)
		return false;
	int n = snprintf(line, sizeof(line), "\n%s\n", real);
	struct ux_bytes usr = ux_bytes(line, (size_t)n);
	if (debian_find_line(out, usr))
		return true;
	/* Packages may list a file in /lib, which is a link to /usr/lib. */
	if (!ux_bytes_starts(usr, UX_STR("\n/usr/")))
		return false;
	line[4] = '\n';
	return debian_find_line(out, ux_bytes(line + 4, usr.size - 4));
}

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

bool ux_stripped_id(struct ux_bytes file, char *ret)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	if (!ux_stripped_is(file) || ux_elf_open(&elf, file, NULL) != UX_OK ||
	    ux_elf_ids(&elf, &ids, NULL) != UX_OK)
		return false;
	const struct ux_id *id = ux_id_set_find(&ids, UX_ID_GNU);
	if (id)
		(void)ux_id_format(id, ret);
	return id != NULL;
}

/* Appends the package that helps, and, unless it was told before, what helps with any file. */
static void stripped_put_help(struct ux_out *out, const char *path, bool server, bool told,
			      const char *before)
{
	ux_cleanup(ux_out_deinit) struct ux_out package = {0};
	bool known = debian_debug_package(&package, path);
	if (known) {
		ux_out_cstr(out, before);
		ux_out_cstr(out, "install ");
		ux_text(out, ux_out_bytes(&package));
	}
	out->failed = out->failed || package.failed;
	if (told)
		return;
	ux_out_cstr(out, known ? ", or " : before);
	ux_out_cstr(out, server && known ? "push its debug file (unhex push FILE)"
			 : server ? "push its debug file from where it was built (unhex push FILE)"
			 : known  ? "use --debuginfod URL"
				  : "name its debug file's folder (--debug-dir) or a server that "
				    "has it (--url, --debuginfod)");
}

void ux_stripped_help(struct ux_out *out, const char *path, bool server)
{
	stripped_put_help(out, path, server, /* told= */ false, "");
}

bool ux_stripped_advice(struct ux_out *out, const char *path, bool server, bool *told)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK || !ux_stripped_is(file.bytes))
		return false;
	ux_out_cstr(out, "is stripped");
	stripped_put_help(out, path, server, *told, "; ");
	*told = true;
	return true;
}
