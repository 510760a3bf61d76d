/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the running processes and the kernel from /proc. */
#include "record_host.h"

#include "kernel.h"
#include "kernel_symbols.h"
#include "object.h"
#include "perf_fields.h"
#include "proc_files.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	COMM_MAX = 64,
	NOTES_MAX = 1 << 20,
	MODULES_MAX = 64 << 20,
	KERNEL_SIZE = 1 << 30, /* bytes, if kallsyms has no end of the kernel's code */
};

void ux_record_host_deinit(struct ux_record_host *h)
{
	ux_record_identities_deinit(&h->files);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* Returns the address in the line "ADDRESS T NAME" of kallsyms; 0: no such line, or hidden. */
static uint64_t record_kallsyms_find(struct ux_bytes list, const char *line_end)
{
	uint64_t v = 0;
	const uint8_t *at = list.data && list.size > 0
				    ? memmem(list.data, list.size, line_end, strlen(line_end))
				    : NULL;
	if (!at)
		return 0;
	const uint8_t *line =
		ux_bytes_find_last(ux_bytes(list.data, (size_t)(at - list.data)), '\n');
	line = line ? line + 1 : list.data;
	return ux_digits_parse(ux_bytes(line, (size_t)(at - line)), 16, &v) > 0 ? v : 0;
}

static struct ux_id record_kernel_id(const char *notes_path)
{
	ux_cleanup(ux_read_deinit) struct ux_read notes = {0};
	struct ux_id id = {0};
	if (ux_proc_read(AT_FDCWD, notes_path, NOTES_MAX, &notes, NULL) != UX_OK)
		return id;
	struct ux_bytes bytes = ux_kernel_build_id(notes.bytes);
	if (bytes.size == 0 || bytes.size > sizeof(id.bytes))
		return id;
	id.type = UX_ID_GNU;
	id.size = (uint8_t)bytes.size;
	memcpy(id.bytes, bytes.data, bytes.size);
	return id;
}

/* Returns the ID of the vDSO. The kernel maps one vDSO into all processes of its own width, and
 * their mappings do not tell its ID. */
static struct ux_id record_vdso_id(void)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	struct ux_bytes image = ux_proc_own_vdso();
	if (image.size == 0 || ux_object_open_headers(image, &object, NULL) != UX_OK)
		return (struct ux_id){0};
	return object->format->id(object);
}

static void record_add_module(struct ux_record_host *h, const struct ux_kernel_module *module)
{
	char label[NAME_MAX + 3], notes[NAME_MAX + 64];
	if (module->start == 0 || strlen(module->name) > NAME_MAX)
		return;
	(void)snprintf(label, sizeof(label), "[%.*s]", NAME_MAX, module->name);
	(void)snprintf(notes, sizeof(notes), "/sys/module/%.*s/notes/.note.gnu.build-id", NAME_MAX,
		       module->name);
	struct ux_record_mapping m = {
		.pid = -1,
		.start = module->start,
		.size = module->size,
		.path = label,
	};
	ux_record_file_mapping(h->file, &m);
	struct ux_id id = record_kernel_id(notes);
	ux_record_file_build_id(h->file, UX_PERF_MODE_KERNEL, &id, label);
}

static enum ux_code record_add_modules(struct ux_record_host *h, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_kernel_modules_deinit) struct ux_kernel_modules modules = {0};
	if (ux_proc_read(AT_FDCWD, "/proc/modules", MODULES_MAX, &text, NULL) != UX_OK)
		return UX_OK;
	UX_TRY(ux_kernel_modules_parse(text.bytes, &modules, err));
	for (size_t i = 0; i < modules.list.size; i++)
		record_add_module(h, &modules.list.data[i]);
	return UX_OK;
}

enum ux_code ux_record_host_kernel(struct ux_record_host *h, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read list = {0};
	struct ux_id id = record_kernel_id("/sys/kernel/notes");
	ux_record_file_build_id(h->file, UX_PERF_MODE_KERNEL, &id, "[kernel.kallsyms]");
	id = record_vdso_id();
	ux_record_file_build_id(h->file, UX_PERF_MODE_USER, &id, "[vdso]");
	if (ux_proc_read(AT_FDCWD, "/proc/kallsyms", UX_KALLSYMS_MAX, &list, NULL) == UX_ENOMEM)
		return ux_error_nomem(err);
	uint64_t text = record_kallsyms_find(list.bytes, " T _text\n");
	uint64_t end = record_kallsyms_find(list.bytes, " T _etext\n");
	if (text == 0)
		return UX_OK; /* hidden: then modules are, too */
	struct ux_record_mapping m = {
		.pid = -1,
		.start = text,
		.size = end > text ? end - text : KERNEL_SIZE,
		.offset = text,
		.path = "[kernel.kallsyms]_text",
	};
	ux_record_file_mapping(h->file, &m);
	return record_add_modules(h, err);
}

enum ux_code ux_record_host_programs(struct ux_record_host *h, struct ux_error *err)
{
	struct ux_bpf_programs *programs = NULL;
	UX_TRY(ux_bpf_programs_read(&programs, err));
	for (size_t i = 0; i < programs->code.functions.size; i++) {
		const struct ux_bpf_function *f = &programs->code.functions.data[i];
		if (f->start != 0)
			ux_record_file_program(h->file, f->start, f->end - f->start, f->name);
	}
	ux_bpf_programs_free(programs);
	return UX_OK;
}

/* --- processes -------------------------------------------------------------------------------- */

/* Returns the ID of an object file: a build ID, else its File ID; size 0: it cannot be read. */
static struct ux_id record_read_id(int fd)
{
	struct stat st;
	ux_cleanup(ux_read_deinit) struct ux_read head = {0};
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	if (fd < 0 || fstat(fd, &st) != 0 ||
	    ux_proc_read_head(fd, (uint64_t)st.st_size, &head, NULL) != UX_OK ||
	    ux_object_open_headers(head.bytes, &object, NULL) != UX_OK)
		return (struct ux_id){0};
	struct ux_id id = object->format->id(object);
	return id.size > 0 ? id : ux_file_id(head.bytes);
}

/* Returns whether the ID fits into the record of a mapping. Others are in a table of their own. */
static bool record_id_fits(const struct ux_id *id)
{
	return id->type == UX_ID_GNU && id->size <= UX_RECORD_ID_MAX;
}

/* Returns the generation of an inode, as in records of the kernel; `otherwise` if its file system
 * does not tell. */
static uint64_t record_generation(int fd, uint64_t otherwise)
{
	int generation = 0;
	if (fd < 0 || ioctl(fd, FS_IOC_GETVERSION, &generation) != 0)
		return otherwise;
	return (uint32_t)generation;
}

/* Finds or adds the inode of a mapping. *ret is NULL if there are too many. */
static enum ux_code record_find_file(struct ux_record_host *h, const struct ux_proc_map *map,
				     struct ux_record_identity **ret, bool *ret_fresh,
				     struct ux_error *err)
{
	struct ux_record_inode inode = {map->dev, map->ino};
	bool full = h->looked_at >= UX_RECORD_FILES_MAX;
	*ret_fresh = false;
	*ret = full ? ux_record_identities_find(&h->files, inode)
		    : ux_record_identities_insert(&h->files, inode, ret_fresh);
	return *ret || full ? UX_OK : ux_error_nomem(err);
}

/* Takes the ID of a mapping's file, fd (-1: it could not be opened). */
static void record_look_at(struct ux_record_host *h, const struct ux_proc_map *map, int fd,
			   uint64_t generation, struct ux_record_identity *file)
{
	h->looked_at++;
	*file = (struct ux_record_identity){generation, record_read_id(fd)};
	if (file->id.size > 0 && !record_id_fits(&file->id))
		ux_record_file_id(h->file, map->dev, map->ino, generation, &file->id);
}

static enum ux_code record_identify(struct ux_record_host *h, const struct ux_proc *p,
				    const struct ux_proc_map *map, struct ux_record_mapping *m,
				    struct ux_error *err)
{
	bool fresh = false;
	struct ux_record_identity *file = NULL;
	if (map->ino == 0)
		return UX_OK;
	UX_TRY(record_find_file(h, map, &file, &fresh, err));
	if (fresh) {
		UX_FD(fd);
		(void)!ux_proc_open_mapped(p, map, &fd, NULL);
		record_look_at(h, map, fd, record_generation(fd, 0), file);
	}
	if (file && record_id_fits(&file->id))
		m->id = file->id;
	m->generation = file ? file->generation : 0;
	return UX_OK;
}

static enum ux_code record_add_maps(struct ux_record_host *h, const struct ux_proc *p,
				    const struct ux_proc_maps *maps, struct ux_error *err)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ux_proc_map *map = &maps->list.data[i];
		if (!map->exec && !(h->data && map->kind == UX_PROC_MAP_FILE))
			continue;
		struct ux_record_mapping m = {
			.pid = p->pid,
			.tid = p->pid,
			.start = map->start,
			.size = map->end - map->start,
			.offset = map->off,
			.dev = map->dev,
			.ino = map->ino,
			.path = *map->path ? map->path : "//anon",
			.data = !map->exec,
		};
		UX_TRY(record_identify(h, p, map, &m, err));
		ux_record_file_mapping(h->file, &m);
	}
	return UX_OK;
}

pid_t ux_record_next_number(void *folder)
{
	const struct dirent *entry = NULL;
	uint64_t v = 0;
	while ((entry = readdir(folder)) != NULL)
		if (ux_decimal_parse(ux_bytes_cstr(entry->d_name), &v) && v > 0 && v <= INT32_MAX)
			return (pid_t)v;
	return 0;
}

static void record_add_threads(struct ux_record_host *h, const struct ux_proc *p)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	DIR *folder = opendir(path);
	pid_t tid = 0;
	while (folder && (tid = ux_record_next_number(folder)) > 0) {
		ux_cleanup(ux_read_deinit) struct ux_read comm = {0};
		char name[COMM_MAX + 1] = "";
		(void)snprintf(path, sizeof(path), "task/%d/comm", tid);
		if (ux_proc_read(p->dir, path, COMM_MAX * 64, &comm, NULL) != UX_OK)
			continue;
		size_t n = ux_min(comm.bytes.size, (size_t)COMM_MAX);
		if (n > 0 && comm.bytes.data[n - 1] == '\n')
			n--;
		memcpy(name, comm.bytes.data, n);
		if (tid != p->pid)
			ux_record_file_thread(h->file, p->pid, tid);
		ux_record_file_name(h->file, p->pid, tid, name);
	}
	if (folder)
		(void)closedir(folder);
}

static void record_proc_close(struct ux_proc *p)
{
	ux_proc_close(p);
}

enum ux_code ux_record_host_process(struct ux_record_host *h, pid_t pid, struct ux_error *err)
{
	struct ux_proc opened;
	UX_TRY(ux_proc_open(&opened, pid, err));
	ux_cleanup(record_proc_close) struct ux_proc p = opened;
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps maps = {0};
	UX_TRY(ux_proc_read(p.dir, "maps", UX_PROC_MAPS_MAX, &text, err));
	UX_TRY(ux_proc_maps_parse(text.bytes, &maps, err));
	record_add_threads(h, &p);
	return record_add_maps(h, &p, &maps, err);
}

/*
 * Opens the file of a mapping through one process; -1: it is gone. Since the record was written,
 * another file may have been mapped at the same addresses, or may have got the same path and inode.
 */
static int record_open_through(pid_t pid, const struct ux_proc_map *map, uint64_t generation)
{
	struct ux_proc opened;
	UX_FD(fd);
	if (ux_proc_open(&opened, pid, NULL) != UX_OK)
		return -1;
	ux_cleanup(record_proc_close) struct ux_proc p = opened;
	if (ux_proc_open_mapped(&p, map, &fd, NULL) != UX_OK || !ux_proc_file_is_mapped(fd, map) ||
	    record_generation(fd, generation) != generation)
		return -1;
	int ret = fd;
	fd = -1;
	return ret;
}

/* A record MMAP2, up to its path. */
struct record_mmap2 {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t start, size, offset;
	uint32_t major, minor;
	uint64_t ino, generation;
	uint32_t prot, flags;
};

enum ux_code ux_record_host_mapped(struct ux_record_host *h, struct ux_bytes record,
				   struct ux_error *err)
{
	struct record_mmap2 m;
	bool fresh = false;
	struct ux_record_identity *file = NULL;
	if (record.size <= sizeof(m))
		return UX_OK;
	memcpy(&m, record.data, sizeof(m));
	const char *path = (const char *)record.data + sizeof(m);
	if (m.head.type != UX_PERF_MMAP2 || (m.head.misc & UX_PERF_MISC_MMAP_BUILD_ID) != 0 ||
	    (m.prot & PROT_EXEC) == 0 || m.ino == 0 || !memchr(path, 0, record.size - sizeof(m)))
		return UX_OK;
	const struct ux_proc_map map = {
		.start = m.start,
		.end = m.start + m.size,
		.off = m.offset,
		.dev = makedev(m.major, m.minor),
		.ino = m.ino,
		.path = path,
		.kind = *path == '/' ? UX_PROC_MAP_FILE : UX_PROC_MAP_SPECIAL,
		.exec = true,
	};
	UX_TRY(record_find_file(h, &map, &file, &fresh, err));
	if (!file || (!fresh && file->generation == m.generation))
		return UX_OK;
	UX_FD(fd);
	fd = record_open_through((pid_t)m.pid, &map, m.generation);
	if (fd < 0)
		fd = record_open_through(getpid(), &map, m.generation);
	record_look_at(h, &map, fd, m.generation, file);
	return UX_OK;
}

enum ux_code ux_record_host_processes(struct ux_record_host *h, struct ux_error *err)
{
	DIR *folder = opendir("/proc");
	if (!folder)
		return ux_error_os(err, errno, "cannot list /proc");
	enum ux_code code = UX_OK;
	pid_t pid = 0;
	while (code != UX_ENOMEM && (pid = ux_record_next_number(folder)) > 0)
		code = ux_record_host_process(h, pid, NULL);
	(void)closedir(folder);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}
