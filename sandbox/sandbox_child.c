/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side: maps the files, confines itself, runs the task. */
#include "sandbox_child.h"
#include "bundle.h"
#include "debug_file.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "extract.h"
#include "file.h"
#include "id.h"
#include "members.h"
#include "module_facts.h"
#include "packed_file.h"
#include "path_base.h"
#include "path_canonical.h"

#include <errno.h>
#include <locale.h>
#include <unistd.h>

enum {
	OWN_MEMORY = 256 << 20 /* address space of the program and its libraries */
};

struct task {
	struct ux_sandbox_request request;
	struct ux_mapping files[UX_SANDBOX_GSYM]; /* bytes: only the requested part */
	uint64_t mapped;                          /* bytes of all files */
	struct ux_sandbox_reply reply;
	struct ux_archive_calls archive; /* library functions for UX_SANDBOX_UNPACK */
	struct ux_capstone_calls capstone;
};

static int task_file(enum ux_sandbox_file which)
{
	return UX_SANDBOX_FILES + (int)which;
}

static bool task_has_file(const struct task *t, enum ux_sandbox_file which)
{
	return (t->request.files >> which & 1) != 0;
}

static enum ux_code task_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)ctx;
	return ux_file_write(task_file(UX_SANDBOX_GSYM), bytes, err);
}

static enum ux_code task_pwrite(void *ctx, uint64_t off, struct ux_bytes bytes,
				struct ux_error *err)
{
	(void)ctx;
	return ux_file_write_at(task_file(UX_SANDBOX_GSYM), off, bytes, err);
}

static enum ux_code task_map_files(struct task *t, struct ux_error *err)
{
	for (int i = 0; i < UX_SANDBOX_GSYM; i++) {
		struct ux_mapping *file = &t->files[i];
		if (!task_has_file(t, (enum ux_sandbox_file)i))
			continue;
		UX_TRY(ux_file_map_fd(UX_SANDBOX_FILES + i, file, err));
		t->mapped += file->bytes.size;
		if (t->request.parts[i].size > 0 &&
		    !ux_bytes_sub(file->bytes, t->request.parts[i].off, t->request.parts[i].size,
				  &file->bytes))
			return ux_error_set(err, UX_EINVAL, "part %d is not in its file", i);
	}
	return UX_OK;
}

static enum ux_code task_confine(struct task *t, struct ux_error *err)
{
	struct ux_confine_limits l = {
		.address_space = t->request.memory + OWN_MEMORY + t->mapped + t->request.disk,
		.anonymous = t->request.disk > 0 ? t->request.memory : 0,
		.file_size = t->request.output,
		.cpu_seconds = t->request.seconds,
	};
	return ux_confine(&l, &t->reply.found.lacks, err);
}

/* Returns whether a file has code. A debug file has code sections without contents. */
static bool elf_has_code(const struct ux_elf *elf)
{
	if (elf->n_sections == 0)
		return true;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & SHF_EXECINSTR) != 0 && s->type != SHT_NOBITS && s->size > 0)
			return true;
	}
	return false;
}

static bool elf_has_section(const struct ux_elf *elf, const char *name)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	return s && s->type != SHT_NOBITS && s->size > 0;
}

static unsigned elf_contents(const struct ux_elf *elf)
{
	bool debug = ux_elf_has_dwarf(elf) || elf_has_section(elf, ".symtab");
	return (elf_has_code(elf) ? (unsigned)UX_SANDBOX_HAS_CODE : 0) |
	       (debug ? (unsigned)UX_SANDBOX_HAS_DEBUG : 0) |
	       (elf->n_sections > 0 ? (unsigned)UX_SANDBOX_HAS_SECTIONS : 0);
}

/* Inspects the debug file. If it is not ELF, the extraction rejects it. */
static void task_look_at_debug(struct task *t)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_bytes file = t->files[UX_SANDBOX_DEBUG].bytes;
	if (file.size > 0 && ux_elf_open(&elf, file, NULL) == UX_OK)
		t->reply.found.debug_has = elf_contents(&elf);
}

static enum ux_code task_look_at(struct task *t, struct ux_error *err)
{
	struct ux_sandbox_found *found = &t->reply.found;
	struct ux_bytes file = t->files[UX_SANDBOX_EXE].bytes;
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, err));
	UX_TRY(ux_elf_ids(&elf, &found->ids, err));
	found->has = elf_contents(&elf);
	if ((found->has & UX_SANDBOX_HAS_CODE) == 0)
		return UX_OK;
	struct ux_id id = ux_file_id(file);
	return ux_id_set_add(&found->ids, &id, err);
}

/* Finds the supplementary file that the DWARF of a file refers to. False: the file has no DWARF. */
static bool elf_find_supplementary(struct ux_bytes file, struct ux_sandbox_found *ret)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_supplementary_link link;
	if (!ux_elf_is(file) || ux_elf_open(&elf, file, NULL) != UX_OK || !ux_elf_has_dwarf(&elf))
		return false;
	if (ux_supplementary_link(&elf, &link, NULL) != UX_OK)
		return true;
	ret->supplementary = link.id;
	size_t n = strlen(link.path);
	memcpy(ret->supplementary_path, link.path, n <= UX_SANDBOX_LINK_MAX ? n : 0);
	return true;
}

/* The DWARF is read from the debug file, or from the executable when only that has DWARF. */
static bool task_needs_supplementary(struct task *t)
{
	struct ux_sandbox_found *found = &t->reply.found;
	if (!elf_find_supplementary(t->files[UX_SANDBOX_DEBUG].bytes, found))
		(void)elf_find_supplementary(t->files[UX_SANDBOX_EXE].bytes, found);
	found->needs_supplementary =
		found->supplementary.size > 0 && !task_has_file(t, UX_SANDBOX_SUPPLEMENTARY);
	return found->needs_supplementary;
}

/* Returns the file for data over the limit of memory; only with limits->disk. */
static struct ux_spill task_spill(const struct task *t)
{
	return (struct ux_spill){.fd = task_file(UX_SANDBOX_SPILL), .size = t->request.disk};
}

/* Extracts, and fills the reply. */
static enum ux_code task_run_extraction(struct task *t, const struct ux_extract_options *how,
					struct ux_error *err)
{
	struct ux_extract_stats stats = {0};
	struct ux_sandbox_found *found = &t->reply.found;
	UX_TRY(ux_extract(t->files[UX_SANDBOX_EXE].bytes, t->files[UX_SANDBOX_DEBUG].bytes, how,
			  task_sink, NULL, &stats, err));
	found->quality = stats.quality;
	found->counts = stats.counts;
	found->text_bytes = stats.text_bytes;
	found->gsym_bytes = stats.gsym_bytes;
	found->split_units = stats.split_units;
	found->split_missing = stats.split_missing + stats.split_mismatched;
	found->lost = stats.bad_units > 0 ? stats.first_bad : stats.first_bad_source;
	return UX_OK;
}

static enum ux_code task_extract(struct task *t, struct ux_error *err)
{
	struct ux_spill spill = task_spill(t);
	const struct ux_extract_options how = {
		.memory = t->request.disk > 0 ? t->request.memory : 0,
		.spill = &spill,
		.threads = 1, /* the child cannot create threads */
		.supplementary = t->files[UX_SANDBOX_SUPPLEMENTARY].bytes,
		.split = t->files[UX_SANDBOX_SPLIT].bytes,
		.place = task_pwrite,
	};
	UX_TRY(task_look_at(t, err));
	task_look_at_debug(t);
	if (task_needs_supplementary(t))
		return UX_OK;
	return task_run_extraction(t, &how, err);
}

/* Libraries have to be loaded before confinement, which prevents opening files. */
static enum ux_code task_load_library(struct task *t, struct ux_error *err)
{
	switch ((enum ux_sandbox_task)t->request.task) {
	case UX_SANDBOX_EXTRACT:
	case UX_SANDBOX_INSPECT:
	case UX_SANDBOX_SOURCE:
	case UX_SANDBOX_FACTS:
	case UX_SANDBOX_SYMBOLS:
	case UX_SANDBOX_RUNTIME:
		return UX_OK;
	case UX_SANDBOX_FORKS:
		break;
	case UX_SANDBOX_UNPACK:
	case UX_SANDBOX_MEMBERS:
	case UX_SANDBOX_STREAM:
		/* libarchive converts UTF-8 names to the character set of the locale. */
		(void)setlocale(LC_CTYPE, "C.UTF-8");
		return ux_archive_load(&t->archive, err);
	case UX_SANDBOX_DISASSEMBLE:
		return ux_capstone_load(&t->capstone, err);
	}
	return ux_error_set(err, UX_EINVAL, "no task has number %u", t->request.task);
}

static enum ux_code task_unpack(struct task *t, struct ux_error *err)
{
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer packer = {.write = task_sink};
	struct ux_bytes archive = t->files[UX_SANDBOX_EXE].bytes;
	/* The table is written in addition to the contents. */
	uint64_t table = UX_SOURCE_PACK_TABLE_MAX + UX_PATH_BYTES;
	uint64_t max = t->request.output > table ? t->request.output - table : 0;
	return ux_bundle_unpack(&t->archive, archive, max, &packer, err);
}

static enum ux_code task_members(struct task *t, struct ux_error *err)
{
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer packer = {.write = task_sink};
	uint64_t table = UX_SOURCE_PACK_TABLE_MAX + UX_PATH_BYTES;
	uint64_t max = t->request.output > table ? t->request.output - table : 0;
	return ux_members_unpack(&t->archive, t->files[UX_SANDBOX_EXE].bytes, max,
				 (enum ux_members_mode)t->request.mode, &packer, err);
}

/* Unpacks a member that is compressed itself, as kernel modules in archives are. */
static enum ux_code task_open_packed(struct task *t, struct ux_error *err)
{
	for (int i = 0; i < UX_SANDBOX_SPLIT; i++)
		if (task_has_file(t, (enum ux_sandbox_file)i) && ux_packed_is(t->files[i].bytes)) {
			/* the mapping of the packed bytes stays: the process ends soon */
			UX_TRY(ux_packed_open(&t->files[i], err));
		}
	return UX_OK;
}

static enum ux_code task_facts(struct task *t, struct ux_error *err)
{
	ux_cleanup(ux_module_facts_vec_deinit) struct ux_module_facts_vec facts = {0}, gpu = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_spill spill = task_spill(t);
	UX_TRY(task_open_packed(t, err));
	struct ux_bytes file = t->files[UX_SANDBOX_EXE].bytes;
	enum ux_code code = ux_module_facts_read(file, &facts, &why);
	/* a fat binary is not an object file, and damaged GPU code costs only itself */
	if ((code == UX_OK || code == UX_EUNSUPPORTED) && !t->request.flag &&
	    ux_module_facts_read_gpu(file, t->request.disk > 0 ? &spill : NULL, &gpu, NULL) ==
		    UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK && gpu.size == 0) {
		*err = why;
		return code;
	}
	if (facts.size + gpu.size > UX_SANDBOX_FACTS_MAX)
		return ux_error_set(err, UX_ELIMIT, "one file has more than %d modules",
				    UX_SANDBOX_FACTS_MAX);
	UX_TRY(task_sink(t, ux_bytes(facts.data, facts.size * sizeof(*facts.data)), err));
	return task_sink(t, ux_bytes(gpu.data, gpu.size * sizeof(*gpu.data)), err);
}

static enum ux_code task_symbols(struct task *t, struct ux_error *err)
{
	char gpu[16];
	snprintf(gpu, sizeof(gpu), "%u", t->request.gpu);
	t->request.arch[sizeof(t->request.arch) - 1] = '\0';
	UX_TRY(task_open_packed(t, err));
	struct ux_spill spill = task_spill(t);
	const struct ux_extract_options how = {
		.memory = t->request.disk > 0 ? t->request.memory : 0,
		.spill = &spill,
		.threads = 1, /* the child cannot create threads */
		.allow_mismatch = t->request.flag,
		.no_dwarf = t->request.no_dwarf,
		.supplementary = t->files[UX_SANDBOX_SUPPLEMENTARY].bytes,
		.split = t->files[UX_SANDBOX_SPLIT].bytes,
		.arch = t->request.arch[0] != '\0' ? t->request.arch : NULL,
		.gpu = t->request.gpu != 0 ? gpu : NULL,
		.place = task_pwrite,
	};
	if (!t->request.no_dwarf && task_needs_supplementary(t) && !t->request.no_supplementary)
		return UX_OK;
	t->reply.found.needs_supplementary = false;
	return task_run_extraction(t, &how, err);
}

static enum ux_code task_disassemble(struct task *t, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, t->files[UX_SANDBOX_EXE].bytes, err));
	UX_TRY(ux_disassemble(&t->capstone, &elf, &t->request.range, &out, err));
	return task_sink(NULL, ux_out_bytes(&out), err);
}

/* Returns whether it is the requested file. Paths are compared in full only if their last
 * components agree. */
static bool task_is_source(void *ctx, const char *comp_dir, const char *dir, const char *name)
{
	const struct task *t = ctx;
	char text[UX_PATH_BYTES];
	const char *path = NULL;
	UX_ARENA(arena, 2 * UX_PATH_BYTES);
	if (strcmp(ux_path_base(name), ux_path_base(t->request.source)) != 0)
		return false;
	bool folder = name[0] != '/' && dir;
	bool build = folder && dir[0] != '/' && comp_dir;
	int n = snprintf(text, sizeof(text), "%s%s%s%s%s", build ? comp_dir : "", build ? "/" : "",
			 folder ? dir : "", folder ? "/" : "", name);
	return n > 0 && n < (int)sizeof(text) &&
	       ux_path_of_source(ux_bytes(text, (size_t)n), &arena, &path, NULL) == UX_OK &&
	       strcmp(path, t->request.source) == 0;
}

static enum ux_code task_check_source(struct task *t, struct ux_error *err)
{
	t->request.source[sizeof(t->request.source) - 1] = '\0';
	return ux_source_hash_check(t->files[UX_SANDBOX_EXE].bytes, t->request.md5, task_is_source,
				    t, err);
}

static enum ux_code task_work(struct task *t, struct ux_error *err)
{
	switch ((enum ux_sandbox_task)t->request.task) {
	case UX_SANDBOX_UNPACK:
		return task_unpack(t, err);
	case UX_SANDBOX_DISASSEMBLE:
		return task_disassemble(t, err);
	case UX_SANDBOX_INSPECT:
		return task_look_at(t, err);
	case UX_SANDBOX_SOURCE:
		return task_check_source(t, err);
	case UX_SANDBOX_MEMBERS:
		return task_members(t, err);
	case UX_SANDBOX_STREAM:
		return ux_sandbox_stream_work(
			&t->archive,
			ux_bytes(t->request.identity, ux_min((size_t)t->request.identity_size,
							     sizeof(t->request.identity))),
			err);
	case UX_SANDBOX_FACTS:
		return task_facts(t, err);
	case UX_SANDBOX_SYMBOLS:
		return task_symbols(t, err);
	case UX_SANDBOX_RUNTIME:
		return ux_runtime_gsym_write(t->files[UX_SANDBOX_EXE].bytes, &t->request.runtime,
					     task_sink, NULL, err);
	case UX_SANDBOX_EXTRACT:
	case UX_SANDBOX_FORKS: /* task_load_library() has refused it */
		break;
	}
	return task_extract(t, err);
}

static enum ux_code task_run(struct task *t, struct ux_error *err)
{
	if (t->request.size != sizeof(t->request))
		return ux_error_set(err, UX_EINVAL, "no request on descriptor %d",
				    UX_SANDBOX_SOCKET);
	if (t->request.task != UX_SANDBOX_STREAM) /* it reads a socket */
		UX_TRY(task_map_files(t, err));
	UX_TRY(task_load_library(t, err));
	UX_TRY(task_confine(t, err));
	return task_work(t, err);
}

int ux_sandbox_main(void)
{
	static struct task t;
	t.reply.size = sizeof(t.reply);
	t.reply.err = (struct ux_error)UX_ERROR_INIT;
	t.reply.found.lost = (struct ux_error)UX_ERROR_INIT;
	ssize_t n = read(UX_SANDBOX_SOCKET, &t.request, sizeof(t.request));
	if (n != (ssize_t)sizeof(t.request))
		t.request.size = 0;
	else if (t.request.task == UX_SANDBOX_FORKS && !ux_fork_server_loop(&t.request))
		return 0;
	enum ux_code code = task_run(&t, &t.reply.err);
	t.reply.err.code = code;
	ssize_t sent = write(UX_SANDBOX_SOCKET, &t.reply, sizeof(t.reply));
	/* Running the destructors of all libraries costs more than reading a small file. */
	_exit(sent == (ssize_t)sizeof(t.reply) ? 0 : 1);
}
