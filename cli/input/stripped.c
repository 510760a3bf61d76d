/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for messages: how to get the names of a stripped file. */
#include "stripped.h"

#include "cubin.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "file.h"
#include "output.h"
#include "text.h"

#include <dirent.h>
#include <limits.h>

/* --- the package of a file -------------------------------------------------------------------- */

#define LISTS "/var/lib/dpkg/info"

enum {
	LISTS_MAX = 20000,        /* files of the folder; a full desktop has 5000 */
	LIST_BYTES_MAX = 8 << 20, /* bytes of one list; the largest of Debian has 2 MB */
};

static void debian_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Returns whether one line of the list is `line`, which begins and ends with a newline. Each list
 * begins with the line "/.", so that every file has a newline before it. */
static bool debian_list_has(const char *name, struct ux_bytes line)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping list = {0};
	char path[sizeof(LISTS) + NAME_MAX + 2];
	(void)snprintf(path, sizeof(path), LISTS "/%s", name);
	return ux_file_map(path, &list, NULL) == UX_OK && list.bytes.size <= LIST_BYTES_MAX &&
	       list.bytes.size > 0 &&
	       memmem(list.bytes.data, list.bytes.size, line.data, line.size) != NULL;
}

/* Returns the name of the package with the list "PACKAGE.list" or "PACKAGE:ARCHITECTURE.list". */
static struct ux_bytes debian_list_package(const char *name)
{
	struct ux_bytes file = ux_bytes_cstr(name);
	if (!ux_bytes_has_suffix(file, UX_STR(".list")))
		return UX_BYTES_NONE;
	return ux_bytes(name, strcspn(name, ":") < file.size ? strcspn(name, ":")
							     : file.size - strlen(".list"));
}

/* Returns whether a package has debug files under a -dbg name: two old packages, and Debian's
 * kernels. */
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
 * Appends the name of the package with the debug file of `path`, from the owner of that path in
 * dpkg's lists of files: "dpkg-dbgsym", "libc6-dbg". Appends nothing and returns false if no
 * package owns it.
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

/* --- the archive of debug packages ------------------------------------------------------------ */

#define APT_LISTS  "/var/lib/apt/lists"
#define OS_RELEASE "/etc/os-release"

/* The archive of debug packages of a distribution; by default apt does not have it. */
static const struct debian_archive {
	const char *id;             /* in os-release(5) */
	const char *in_lists;       /* in the names of apt's lists */
	const char *before, *after; /* parts of a line of sources.list(5) before and after the
				       codename */
} debian_archives[] = {
	{"debian", "_debian-debug_", "deb http://deb.debian.org/debian-debug ", "-debug main"},
	{"ubuntu", "ddebs.ubuntu.com_", "deb http://ddebs.ubuntu.com ", " main universe"},
};

/* Returns the value of a variable in os-release(5), without quotes. */
static struct ux_bytes debian_release_value(struct ux_bytes file, struct ux_bytes name)
{
	struct ux_bytes line;
	while (ux_text_take_line(&file, &line)) {
		if (line.size <= name.size || !ux_bytes_starts(line, name) ||
		    line.data[name.size] != '=')
			continue;
		struct ux_bytes v = ux_bytes(line.data + name.size + 1, line.size - name.size - 1);
		bool quoted = v.size >= 2 && (v.data[0] == '"' || v.data[0] == '\'') &&
			      v.data[v.size - 1] == v.data[0];
		return quoted ? ux_bytes(v.data + 1, v.size - 2) : v;
	}
	return UX_BYTES_NONE;
}

/* Returns whether apt has lists of that archive. */
static bool debian_has_archive(const struct debian_archive *a)
{
	ux_cleanup(debian_close_dir) DIR *dir = opendir(APT_LISTS);
	size_t n = 0;
	for (struct dirent *e; dir && n < LISTS_MAX && (e = readdir(dir)); n++)
		if (strstr(e->d_name, a->in_lists))
			return true;
	return false;
}

static bool debian_is_codename(struct ux_bytes word)
{
	for (size_t i = 0; i < word.size; i++)
		if (!ux_is_lower(word.data[i]))
			return false;
	return word.size > 0;
}

/* Appends the line of sources.list(5) for this system's debug packages, unless apt has it. */
static bool debian_put_archive(struct ux_out *out, const char *before, const char *after)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping release = {0};
	if (ux_file_map(OS_RELEASE, &release, NULL) != UX_OK)
		return false;
	struct ux_bytes id = debian_release_value(release.bytes, UX_STR("ID"));
	struct ux_bytes name = debian_release_value(release.bytes, UX_STR("VERSION_CODENAME"));
	for (size_t i = 0; i < ux_countof(debian_archives); i++) {
		const struct debian_archive *a = &debian_archives[i];
		if (!ux_bytes_eq(id, ux_bytes_cstr(a->id)) || !debian_is_codename(name) ||
		    debian_has_archive(a))
			continue;
		ux_out_fmt(out, "%s%s%.*s%s%s", before, a->before, (int)name.size,
			   (const char *)name.data, a->after, after);
		return true;
	}
	return false;
}

/* --- stripped files --------------------------------------------------------------------------- */

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

/* Appends the package that helps, and, unless it was printed before, its archive, and the advice
 * for any file. */
static void stripped_put_help(struct ux_out *out, const char *path, bool server,
			      struct ux_stripped_told *told, const char *before)
{
	ux_cleanup(ux_out_deinit) struct ux_out package = {0};
	bool known = debian_debug_package(&package, path);
	if (known) {
		ux_out_cstr(out, before);
		ux_out_cstr(out, "install ");
		ux_text(out, ux_out_bytes(&package));
		if (!told->archive &&
		    ux_bytes_has_suffix(ux_out_bytes(&package), UX_STR("-dbgsym")))
			told->archive = debian_put_archive(out, " (apt needs: ", ")");
	}
	out->failed = out->failed || package.failed;
	if (told->help)
		return;
	told->help = true;
	ux_out_cstr(out, known ? ", or " : before);
	ux_out_cstr(out, server && known ? "push its debug file (unhex push FILE)"
			 : server ? "push its debug file from where it was built (unhex push FILE)"
			 : known  ? "use --debuginfod URL"
				  : "name its debug file's folder (--debug-dir) or a server that "
				    "has it (--url, --debuginfod)");
}

void ux_stripped_help(struct ux_out *out, const char *path, bool server)
{
	struct ux_stripped_told told = {0};
	stripped_put_help(out, path, server, &told, "");
}

bool ux_stripped_advice(struct ux_out *out, const char *path, bool server,
			struct ux_stripped_told *told)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK || !ux_stripped_is(file.bytes))
		return false;
	ux_out_cstr(out, "is stripped");
	stripped_put_help(out, path, server, told, "; ");
	return true;
}
