/* SPDX-License-Identifier: Apache-2.0 */
/* Records about processes: MMAP, MMAP2, COMM, FORK, EXIT, KSYMBOL. */
#include "perf_process.h"

#include "jit_files.h"

#define SECTION "record"

#define KERNEL_PATH "[kernel.kallsyms]"

static void perf_process_clear(struct ux_perf_processes *p, struct ux_perf_process *process)
{
	ux_perf_space_release(&p->spaces, &process->space);
	ux_perf_space_release(&p->spaces, &process->before);
	process->dump = process->dump_read = 0;
}

void ux_perf_processes_deinit(struct ux_perf_processes *p)
{
	for (size_t i = 0; i < p->processes.size; i++)
		perf_process_clear(p, &p->processes.data[i]);
	ux_perf_space_release(&p->spaces, &p->kernel);
	ux_perf_process_list_deinit(&p->processes);
	ux_perf_thread_list_deinit(&p->threads);
	ux_profile_numbers_deinit(&p->process_of);
	ux_profile_numbers_deinit(&p->thread_of);
	ux_perf_module_map_deinit(&p->modules);
	ux_perf_inodes_deinit(&p->inodes);
	ux_perf_thread_map_deinit(&p->numbers);
}

bool ux_perf_processes_read(uint32_t type)
{
	return type == UX_PERF_MMAP || type == UX_PERF_MMAP2 || type == UX_PERF_COMM ||
	       type == UX_PERF_FORK || type == UX_PERF_EXIT || type == UX_PERF_KSYMBOL;
}

/* --- processes and threads -------------------------------------------------------------------- */

/* Sets the index of a process; adds the process if it is unknown. */
static enum ux_code perf_process_find(struct ux_perf_processes *p, uint32_t pid, uint32_t *ret,
				      struct ux_error *err)
{
	bool fresh = false;
	uint32_t *index = ux_profile_numbers_insert(&p->process_of, pid, &fresh);
	if (!index)
		return ux_error_nomem(err);
	if (fresh) {
		*index = (uint32_t)p->processes.size;
		if (!ux_perf_process_list_append(&p->processes, (struct ux_perf_process){0}))
			return ux_error_nomem(err);
	}
	*ret = *index;
	return UX_OK;
}

/* Sets the comm of a thread if no COMM record was seen: the idle threads' comm, or ":TID". */
static enum ux_code perf_thread_unnamed(struct ux_perf_processes *p, uint32_t tid, uint32_t *ret,
					struct ux_error *err)
{
	char text[16];
	int n = tid == 0 ? snprintf(text, sizeof(text), "swapper")
			 : snprintf(text, sizeof(text), ":%" PRId32, (int32_t)tid);
	return ux_profile_string(p->profile, ux_bytes(text, (size_t)n), ret, err);
}

/* Sets the index of a thread; adds it if it is unknown or now belongs to another process. */
static enum ux_code perf_thread_find(struct ux_perf_processes *p, uint32_t pid, uint32_t tid,
				     uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *index = ux_profile_numbers_insert(&p->thread_of, tid, &fresh);
	if (!index)
		return ux_error_nomem(err);
	if (fresh) {
		*index = (uint32_t)p->threads.size;
		if (!ux_perf_thread_list_append(&p->threads, (struct ux_perf_thread){0}))
			return ux_error_nomem(err);
	}
	*ret = *index;
	struct ux_perf_thread *t = &p->threads.data[*ret];
	if (!fresh && t->pid == pid)
		return UX_OK;
	if (!fresh && t->alive)
		p->processes.data[t->process].threads--;
	*t = (struct ux_perf_thread){.pid = pid, .tid = tid, .alive = true};
	UX_TRY(perf_thread_unnamed(p, tid, &t->comm, err));
	UX_TRY(perf_process_find(p, pid, &t->process, err));
	p->processes.data[t->process].threads++;
	return UX_OK;
}

enum ux_code ux_perf_processes_thread(struct ux_perf_processes *p, uint32_t pid, uint32_t tid,
				      const struct ux_perf_thread **ret, struct ux_error *err)
{
	/* A thread keeps its index. */
	uint32_t *recent = &p->recent[tid % ux_countof(p->recent)];
	uint32_t index = *recent;
	struct ux_perf_thread *t = index < p->threads.size ? &p->threads.data[index] : NULL;
	if (!t || t->tid != tid || t->pid != pid || t->number == 0) {
		UX_TRY(perf_thread_find(p, pid, tid, &index, err));
		*recent = index;
		t = &p->threads.data[index];
	}
	*ret = t;
	if (t->number != 0)
		return UX_OK;
	struct ux_profile_thread key = {.pid = pid, .tid = tid, .comm = t->comm};
	bool fresh = false;
	uint32_t *number = ux_perf_thread_map_insert(&p->numbers, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_thread(p->profile, key, number, err));
	t->number = *number;
	return UX_OK;
}

static enum ux_code perf_read_comm(struct ux_perf_processes *p, struct ux_cur c, uint16_t misc,
				   struct ux_error *err)
{
	uint32_t index = 0;
	uint32_t pid = ux_cur_u32(&c);
	uint32_t tid = ux_cur_u32(&c);
	struct ux_bytes comm = ux_cur_str(&c);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(perf_thread_find(p, pid, tid, &index, err));
	struct ux_perf_thread *t = &p->threads.data[index];
	UX_TRY(ux_profile_string(p->profile, comm, &t->comm, err));
	t->number = 0;
	struct ux_perf_process *process = &p->processes.data[t->process];
	if ((misc & UX_PERF_MISC_COMM_EXEC) != 0 && process->space) {
		ux_perf_space_release(&p->spaces, &process->before);
		process->before = ux_take(&process->space);
		process->dump = process->dump_read = 0;
	}
	return UX_OK;
}

static enum ux_code perf_read_fork(struct ux_perf_processes *p, struct ux_cur c, uint16_t misc,
				   struct ux_error *err)
{
	uint32_t parent = 0, child = 0;
	uint32_t pid = ux_cur_u32(&c);
	uint32_t parent_pid = ux_cur_u32(&c);
	uint32_t tid = ux_cur_u32(&c);
	uint32_t parent_tid = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(perf_thread_find(p, parent_pid, parent_tid, &parent, err));
	UX_TRY(perf_thread_find(p, pid, tid, &child, err));
	if (child == parent)
		return UX_OK; /* perf's own record about a process without a parent */
	struct ux_perf_thread *t = &p->threads.data[child];
	struct ux_perf_process *process = &p->processes.data[t->process];
	t->comm = p->threads.data[parent].comm;
	t->number = 0;
	if (!t->alive) {
		t->alive = true;
		process->threads++;
	}
	if (pid == parent_pid)
		return UX_OK;
	perf_process_clear(p, process);
	if ((misc & UX_PERF_MISC_FORK_EXEC) != 0)
		return UX_OK;
	const struct ux_perf_process *origin = &p->processes.data[p->threads.data[parent].process];
	process->space = origin->space;
	process->dump = origin->dump; /* it inherits its parent's code */
	if (process->space)
		process->space->users++;
	return UX_OK;
}

/* Handles the end of a thread; the last one releases the mappings. */
static enum ux_code perf_read_exit(struct ux_perf_processes *p, struct ux_cur c,
				   struct ux_error *err)
{
	uint32_t pid = ux_cur_u32(&c);
	ux_cur_skip(&c, sizeof(uint32_t)); /* parent */
	uint32_t tid = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	const uint32_t *index = ux_profile_numbers_find(&p->thread_of, tid);
	struct ux_perf_thread *t = index ? &p->threads.data[*index] : NULL;
	if (!t || t->pid != pid || !t->alive)
		return UX_OK;
	struct ux_perf_process *process = &p->processes.data[t->process];
	t->alive = false;
	if (--process->threads == 0)
		perf_process_clear(p, process);
	return UX_OK;
}

/* --- modules ---------------------------------------------------------------------------------- */

struct ux_id ux_perf_build_id(struct ux_bytes bytes, bool has_size)
{
	enum {
		SHA1 = 20,
		MD5 = 16,
		SHORT = 8
	};
	struct ux_id id = {0};
	if (!has_size) {
		size_t used = bytes.size;
		while (used > 0 && bytes.data[used - 1] == 0)
			used--;
		/* a SHA-1 ends in 4 zero bytes once in 2^32 */
		if (used == 0)
			bytes.size = 0;
		else if (used <= SHORT && bytes.size == SHA1)
			bytes.size = SHORT;
		else if (used <= MD5 && bytes.size == SHA1)
			bytes.size = MD5;
	}
	if (ux_id_make(UX_ID_GNU, bytes, &id, NULL) != UX_OK)
		return (struct ux_id){0};
	return id;
}

/* Returns whether memory with that path has no file: the code in it was made at run time. */
static bool perf_path_is_anonymous(struct ux_bytes path)
{
	static const char *const starts[] = {"//anon",  "/anon_hugepage", "[anon",  "/dev/zero",
					     "/memfd:", "[heap]",         "[stack", "/SYSV"};
	for (size_t i = 0; i < ux_countof(starts); i++)
		if (ux_bytes_starts(path, ux_bytes_cstr(starts[i])))
			return true;
	return path.size == 0;
}

static enum ux_profile_module_kind perf_path_kind(struct ux_bytes path)
{
	if (perf_path_is_anonymous(path))
		return UX_PROFILE_JIT;
	if (ux_bytes_starts(path, UX_STR("[")))
		return UX_PROFILE_VDSO; /* [vdso], [vsyscall], [uprobes] */
	return UX_PROFILE_FILE;
}

/* Keeps the inode of a module's file. */
static enum ux_code perf_keep_inode(struct ux_perf_processes *p, uint32_t module,
				    struct ux_perf_inode inode, struct ux_error *err)
{
	if (inode.ino == 0)
		return UX_OK;
	while (p->inodes.size <= module)
		if (!ux_perf_inodes_append(&p->inodes, (struct ux_perf_inode){0}))
			return ux_error_nomem(err);
	p->inodes.data[module] = inode;
	return UX_OK;
}

/* Finds or adds a module. Files without an ID that have the same path are different ones in
 * containers. */
static enum ux_code perf_module(struct ux_perf_processes *p, enum ux_profile_module_kind kind,
				struct ux_perf_module_key key, struct ux_bytes path, uint32_t *ret,
				struct ux_error *err)
{
	bool fresh = false;
	if (kind != UX_PROFILE_JIT)
		key.pid = 0;
	if (kind != UX_PROFILE_FILE || key.id.size > 0)
		key.inode = (struct ux_perf_inode){0};
	UX_TRY(ux_profile_string(p->profile, path, &key.path, err));
	uint32_t *number = ux_perf_module_map_insert(&p->modules, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_module(
			p->profile,
			(struct ux_profile_module){
				.kind = kind, .path = key.path, .pid = key.pid, .id = key.id},
			number, err));
	*ret = *number;
	return perf_keep_inode(p, *ret, key.inode, err);
}

enum ux_code ux_perf_processes_kernel(struct ux_perf_processes *p, uint32_t *ret,
				      struct ux_error *err)
{
	if (p->kernel_module == 0)
		UX_TRY(perf_module(p, UX_PROFILE_KERNEL, (struct ux_perf_module_key){0},
				   UX_STR(KERNEL_PATH), &p->kernel_module, err));
	*ret = p->kernel_module;
	return UX_OK;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* The fields of MMAP and MMAP2. */
struct perf_mmap {
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t length;
	uint64_t offset;
	struct ux_id id;
	struct ux_perf_inode inode; /* if there is no ID */
	struct ux_bytes path;
};

/* Reads the identity of the mapped file: a build ID after its size, or device and inode. */
static void perf_mmap_identity(struct ux_cur *c, const struct ux_perf_record *record,
			       struct perf_mmap *m)
{
	enum {
		IDENTITY = 24, /* bytes */
		ID_AT = 4,
		ID_MAX = 20
	};
	struct ux_cur place = *c;
	struct ux_bytes identity = ux_cur_take(c, IDENTITY);
	if ((record->misc & UX_PERF_MISC_MMAP_BUILD_ID) != 0 && identity.size > 0) {
		size_t size = ux_min((size_t)identity.data[0], (size_t)ID_MAX);
		m->id = ux_perf_build_id(ux_bytes(identity.data + ID_AT, size),
					 /* has_size: */ true);
		return;
	}
	m->inode = ux_perf_inode_read(&place);
}

static enum ux_code perf_mmap_parse(struct ux_cur c, const struct ux_perf_record *record,
				    struct perf_mmap *m, struct ux_error *err)
{
	*m = (struct perf_mmap){.pid = ux_cur_u32(&c)};
	m->tid = ux_cur_u32(&c);
	m->start = ux_cur_u64(&c);
	m->length = ux_cur_u64(&c);
	m->offset = ux_cur_u64(&c);
	if (record->type == UX_PERF_MMAP2) {
		perf_mmap_identity(&c, record, m);
		ux_cur_skip(&c, 2 * sizeof(uint32_t)); /* protection, flags */
	}
	m->path = ux_cur_str(&c);
	if (m->length > UINT64_MAX - m->start)
		m->length = UINT64_MAX - m->start;
	return ux_cur_status(&c, err);
}

/* Adds a mapping, unless there are too many. */
static enum ux_code perf_space_keep(struct ux_perf_processes *p, struct ux_perf_space **space,
				    struct ux_perf_mapping mapping, struct ux_error *err)
{
	if (mapping.start >= mapping.end)
		return UX_OK;
	enum ux_code code = ux_perf_space_map(&p->spaces, space, mapping, err);
	if (code != UX_ELIMIT)
		return code;
	p->unkept++;
	return UX_OK;
}

/* Adds the kernel itself. perf appends to its name the symbol that offsets are relative to. */
static enum ux_code perf_mmap_kernel(struct ux_perf_processes *p, const struct perf_mmap *m,
				     struct ux_error *err)
{
	uint32_t module = 0;
	if (ux_bytes_starts(m->path, UX_STR("[kernel"))) {
		UX_TRY(ux_perf_processes_kernel(p, &module, err));
		struct ux_profile_module *kernel = &p->profile->modules.data[module];
		if (kernel->id.size == 0)
			kernel->id = m->id;
		kernel->start = m->offset; /* the address of that symbol */
		return UX_OK;
	}
	UX_TRY(perf_module(p, UX_PROFILE_KERNEL, (struct ux_perf_module_key){.id = m->id}, m->path,
			   &module, err));
	p->profile->modules.data[module].start = m->start;
	return perf_space_keep(p, &p->kernel,
			       (struct ux_perf_mapping){
				       .start = m->start,
				       .end = m->start + m->length,
				       .offset = m->offset,
				       .module = module,
			       },
			       err);
}

static enum ux_code perf_read_mmap(struct ux_perf_processes *p, struct ux_cur c,
				   const struct ux_perf_record *record, struct ux_error *err)
{
	struct perf_mmap m;
	unsigned mode = record->misc & UX_PERF_MISC_MODE;
	UX_TRY(perf_mmap_parse(c, record, &m, err));
	if (mode == UX_PERF_MODE_KERNEL)
		return perf_mmap_kernel(p, &m, err);
	if (mode == UX_PERF_MODE_GUEST_KERNEL || mode == UX_PERF_MODE_GUEST_USER)
		return UX_OK;
	uint32_t module = 0, thread = 0;
	/* A 32-bit process has a vDSO of its own, with another name and ID than the 64-bit one. */
	if (ux_bytes_eq(m.path, UX_STR("[vdso]")) && m.start <= UINT32_MAX)
		m.path = UX_STR("[vdso32]");
	enum ux_profile_module_kind kind = perf_path_kind(m.path);
	if (ux_jitdump_path_is(m.path))
		kind = UX_PROFILE_JIT;
	else if (kind == UX_PROFILE_JIT && m.id.size > 0)
		kind = UX_PROFILE_FILE; /* a program in memory, such as one executed from a memfd */
	const struct ux_perf_module_key key = {.pid = m.pid, .id = m.id, .inode = m.inode};
	UX_TRY(perf_module(p, kind, key, m.path, &module, err));
	UX_TRY(perf_thread_find(p, m.pid, m.tid, &thread, err));
	struct ux_perf_process *process = &p->processes.data[p->threads.data[thread].process];
	if (ux_jitdump_path_is(m.path)) {
		process->dump = module;
		process->dump_read = 0;
	}
	return perf_space_keep(p, &process->space,
			       (struct ux_perf_mapping){
				       .start = m.start,
				       .end = m.start + m.length,
				       .offset = m.offset,
				       .module = module,
			       },
			       err);
}

/* Reads a function that entered the kernel at run time, or left it: a BPF program, a trampoline. */
static enum ux_code perf_read_ksymbol(struct ux_perf_processes *p, struct ux_cur c,
				      struct ux_error *err)
{
	enum {
		UNREGISTER = 1
	};
	uint64_t start = ux_cur_u64(&c);
	uint64_t length = ux_cur_u32(&c);
	ux_cur_skip(&c, sizeof(uint16_t)); /* type */
	bool leaves = (ux_cur_u16(&c) & UNREGISTER) != 0;
	struct ux_bytes name = ux_cur_str(&c);
	UX_TRY(ux_cur_status(&c, err));
	uint64_t end = start + ux_min(length, UINT64_MAX - start);
	if (leaves) {
		enum ux_code code = ux_perf_space_unmap(&p->spaces, &p->kernel, start, end, err);
		return code == UX_ELIMIT ? UX_OK : code;
	}
	struct ux_perf_mapping mapping = {.start = start, .end = end};
	UX_TRY(perf_module(p, UX_PROFILE_KERNEL, (struct ux_perf_module_key){0}, name,
			   &mapping.module, err));
	UX_TRY(ux_profile_string(p->profile, name, &mapping.name, err));
	return perf_space_keep(p, &p->kernel, mapping, err);
}

enum ux_code ux_perf_processes_add(struct ux_perf_processes *p, const struct ux_perf_record *record,
				   bool swap, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(record->bytes, SECTION, swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	switch (record->type) {
	case UX_PERF_MMAP:
	case UX_PERF_MMAP2:
		return perf_read_mmap(p, c, record, err);
	case UX_PERF_COMM:
		return perf_read_comm(p, c, record->misc, err);
	case UX_PERF_FORK:
		return perf_read_fork(p, c, record->misc, err);
	case UX_PERF_EXIT:
		return perf_read_exit(p, c, err);
	case UX_PERF_KSYMBOL:
		return perf_read_ksymbol(p, c, err);
	default:
		return UX_OK;
	}
}
