/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc for what runs already. */
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
#include <sys/stat.h>
#include <unistd.h>

enum {
	COMM_MOST = 64,
	NOTES_MOST = 1 << 20,
	MODULES_MOST = 64 << 20,
	KERNEL_SIZE = 1 << 30, /* bytes, where kallsyms does not say where its code ends */
};

void ux_record_host_deinit(struct ux_record_host *h)
{
	ux_record_ids_map_deinit(&h->ids);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* The address in the line "ADDRESS T NAME" of kallsyms; 0: there is none, or it is hidden. */
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
	if (ux_proc_read(AT_FDCWD, notes_path, NOTES_MOST, &notes, NULL) != UX_OK)
		return id;
	struct ux_bytes bytes = ux_kernel_build_id(notes.bytes);
	if (bytes.size == 0 || bytes.size > sizeof(id.bytes))
		return id;
	id.type = UX_ID_GNU;
	id.size = (uint8_t)bytes.size;
	memcpy(id.bytes, bytes.data, bytes.size);
	return id;
}

/* The kernel maps one vDSO into all processes of its own width, and gives no ID of it with their
 * mappings. */
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
	if (ux_proc_read(AT_FDCWD, "/proc/modules", MODULES_MOST, &text, NULL) != UX_OK)
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
	if (ux_proc_read(AT_FDCWD, "/proc/kallsyms", UX_KALLSYMS_MOST, &list, NULL) == UX_ENOMEM)
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

/* The build ID of a mapped file; size 0: it has none, or cannot be read. */
static struct ux_id record_read_id(const struct ux_proc *p, const struct ux_proc_map *map)
{
	UX_FD(fd);
	struct stat st;
	ux_cleanup(ux_read_deinit) struct ux_read head = {0};
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	if (ux_proc_open_mapped(p, map, &fd, NULL) != UX_OK || fstat(fd, &st) != 0 ||
	    ux_proc_read_head(fd, (uint64_t)st.st_size, &head, NULL) != UX_OK ||
	    ux_object_open_headers(head.bytes, &object, NULL) != UX_OK)
		return (struct ux_id){0};
	struct ux_id id = object->format->id(object);
	return id.type == UX_ID_GNU ? id : (struct ux_id){0};
}

static enum ux_code record_map_id(struct ux_record_host *h, const struct ux_proc *p,
				  const struct ux_proc_map *map, struct ux_id *ret,
				  struct ux_error *err)
{
	bool fresh = false;
	*ret = (struct ux_id){0};
	if (map->ino == 0)
		return UX_OK;
	struct ux_id *id = ux_record_ids_map_insert(
		&h->ids, (struct ux_record_inode){map->dev, map->ino}, &fresh);
	if (!id)
		return ux_error_nomem(err);
	if (fresh)
		*id = record_read_id(p, map);
	*ret = *id;
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
		UX_TRY(record_map_id(h, p, map, &m.id, err));
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
		char name[COMM_MOST + 1] = "";
		(void)snprintf(path, sizeof(path), "task/%d/comm", tid);
		if (ux_proc_read(p->dir, path, COMM_MOST * 64, &comm, NULL) != UX_OK)
			continue;
		size_t n = ux_min(comm.bytes.size, (size_t)COMM_MOST);
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
	UX_TRY(ux_proc_read(p.dir, "maps", UX_PROC_MAPS_MOST, &text, err));
	UX_TRY(ux_proc_maps_parse(text.bytes, &maps, err));
	record_add_threads(h, &p);
	return record_add_maps(h, &p, &maps, err);
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
