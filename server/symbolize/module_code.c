/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of a module, disassembled. */
#include "module_code.h"

#include "elf_file.h"
#include "module_cache.h"
#include "server.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CHILD_SECONDS = 10
};

static const struct ux_sandbox_limits limits = {
	.memory = 256 << 20, .output = 64 << 20, .seconds = CHILD_SECONDS};

/* Two files of one request: the executable, and the output of the child. */
struct module_code_files {
	int elf;
	int text;
};

static void module_code_files_close(struct module_code_files *f)
{
	if (f->elf >= 0)
		(void)close(f->elf);
	if (f->text >= 0)
		(void)close(f->text);
}

void ux_module_code_close(struct ux_module_code *c)
{
	ux_file_unmap(&c->text);
}

static enum ux_code module_code_find(struct ux_request *req, const char *id,
				     struct ux_candidate *ret, struct ux_error *err)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_module m;
	struct ux_index *ix = s->store->index;
	UX_TRY(ix->modules.find(ix, ux_caller_of(req)->ns, id, &req->arena, &m, err));
	ux_store_used(s->store, &m);
	const struct ux_candidate *c = ux_module_elf(&m, UX_HOLDS_CODE);
	if (!c && ux_module_in_state(&m, UX_CANDIDATE_PENDING))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "an upload of %.80s is being extracted; retry later", id);
	if (!c)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the executable was not uploaded; upload it with: unhex push "
				    "--with-debuginfo");
	*ret = *c;
	return UX_OK;
}

/* Returns the number of bytes from pc to the end of its function; 0: unknown. */
static uint64_t module_code_left(struct ux_request *req, const char *id, uint64_t pc)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	uint64_t start = 0, size = 0;
	if (ux_module_cache_get(ux_server_of(req)->cache, ux_caller_of(req)->ns, id, &m, NULL) !=
	    UX_OK)
		return 0;
	bool known = ux_open_module_extent(m, pc, &start, &size, NULL) == UX_OK;
	return known && pc - start < size ? size - (pc - start) : 0;
}

static enum ux_code module_code_choose(struct ux_request *req, const char *id,
				       const struct ux_code_request *wish, const struct ux_elf *elf,
				       struct ux_module_code *c, struct ux_error *err)
{
	const struct ux_elf_segment *load = ux_elf_first_load(elf);
	if (!ux_code_machine(elf->machine, &c->arch, &c->syntax))
		return ux_error_set(err, UX_EUNSUPPORTED, "no disassembler for machine %u",
				    elf->machine);
	c->range.pc = (wish->from_first_byte && load ? load->vaddr : 0) + wish->start;
	c->range.size = wish->size;
	if (wish->whole)
		c->range.size = ux_max(wish->size, module_code_left(req, id, c->range.pc));
	struct ux_bytes code = ux_elf_bytes_at(elf, c->range.pc);
	if (code.size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "the executable has no code at 0x%" PRIx64,
				    wish->start);
	c->range.size =
		ux_min(c->range.size, (uint64_t)ux_min(code.size, (size_t)UX_MODULE_CODE_MAX));
	return UX_OK;
}

enum ux_code ux_module_code_open(struct ux_request *req, const char *id,
				 const struct ux_code_request *wish, struct ux_module_code *ret,
				 struct ux_error *err)
{
	ux_cleanup(module_code_files_close) struct module_code_files files = {-1, -1};
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_candidate c;
	*ret = (struct ux_module_code){0};
	UX_TRY(module_code_find(req, id, &c, err));
	UX_TRY(ux_blobs_open(ux_server_of(req)->store->blobs, &c.blob, c.size, &files.elf, err));
	UX_TRY(ux_file_map_fd(files.elf, &file, err));
	UX_TRY(ux_elf_open_bounded(&elf, file.bytes, UX_ELF_TABLE_MAX, err));
	UX_TRY(module_code_choose(req, id, wish, &elf, ret, err));
	files.text = memfd_create("unhex-code", MFD_CLOEXEC);
	if (files.text < 0)
		return ux_error_os(err, errno, "cannot create a file in memory");
	if (ret->range.size > 0)
		UX_TRY(ux_sandbox_disassemble(files.elf, &ret->range, files.text, &limits, NULL,
					      err));
	return ux_file_map_fd(files.text, &ret->text, err);
}

enum ux_code ux_module_code_next(struct ux_module_code *c, struct ux_instruction *ret,
				 bool *ret_end, struct ux_error *err)
{
	struct ux_bytes all = c->text.bytes,
			left = ux_bytes(all.data + c->next, all.size - c->next);
	struct ux_error why = UX_ERROR_INIT;
	*ret_end = !ux_instruction_next(&left, ret, &why);
	if (why.code != UX_OK)
		return ux_error_set(err, why.code, "%s", why.text);
	c->next = all.size - left.size;
	return UX_OK;
}
