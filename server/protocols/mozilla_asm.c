/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /asm/v1: disassembly for the Firefox Profiler. Source: API.md of samply-api, v1. The code is
 * read from an uploaded executable by the confined child, as for all untrusted files.
 */
#include "cursor.h"
#include "elf_file.h"
#include "text.h"
#include "json_out.h"
#include "mozilla_modules.h"
#include "protocols.h"
#include "sandbox.h"
#include "module_cache.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CODE_MOST = 256 << 10, /* bytes of code in one answer; the client requests the rest */
	CHILD_SECONDS = 10
};

static const struct ux_sandbox_limits limits = {
	.memory = 256 << 20, .output = 64 << 20, .seconds = CHILD_SECONDS};

/* State of one request. */
struct work {
	struct ux_request *req;
	const char *id; /* canonical ID of the module */
	uint64_t start; /* offset from the module's first byte */
	uint64_t size;
	bool whole;                 /* continue to the end of the function */
	struct ux_code_range range; /* in addresses of the file */
	const char *arch, *syntax;
	int elf;
	int text; /* output file of the child */
};

static void asm_work_deinit(struct work *w)
{
	if (w->elf >= 0)
		close(w->elf);
	if (w->text >= 0)
		close(w->text);
}

static enum ux_code asm_read_number(struct ux_request *req, const json_t *doc, const char *key,
				    uint64_t *ret)
{
	const char *text = "";
	UX_TRY(ux_json_in_str(doc, key, UX_MOZILLA_NAME_BYTES, &text, &req->err));
	if (!ux_hex_parse_u64(ux_bytes_cstr(text), /* hex= */ false, ret))
		return ux_error_set(&req->err, UX_EINVAL, "\"%s\" is no \"0x...\"", key);
	return UX_OK;
}

/* The code ID of an ELF file is its build ID. */
static enum ux_code asm_read_request(struct work *w, const json_t *doc)
{
	struct ux_request *req = w->req;
	const char *debug_id = "", *code_id = "";
	UX_TRY(ux_json_in_str(doc, "debugId", UX_MOZILLA_NAME_BYTES, &debug_id, &req->err));
	UX_TRY(ux_json_in_str(doc, "codeId", UX_MOZILLA_NAME_BYTES, &code_id, &req->err));
	UX_TRY(ux_json_in_bool(doc, "continueUntilFunctionEnd", &w->whole, &req->err));
	UX_TRY(asm_read_number(req, doc, "startAddress", &w->start));
	UX_TRY(asm_read_number(req, doc, "size", &w->size));
	const char *name = debug_id[0] != '\0' ? debug_id : code_id;
	if (name[0] == '\0')
		return ux_error_set(&req->err, UX_EINVAL, "expected \"debugId\" or \"codeId\"");
	return ux_mozilla_id(req, ux_bytes_cstr(name), &w->id, &req->err);
}

static enum ux_code asm_find_executable(struct work *w, struct ux_candidate *ret)
{
	struct ux_server *s = ux_server_of(w->req);
	struct ux_module m;
	struct ux_index *ix = s->store->index;
	UX_TRY(ix->modules.find(ix, ux_caller_of(w->req)->ns, w->id, &w->req->arena, &m,
				&w->req->err));
	ux_store_used(s->store, &m);
	const struct ux_candidate *c = ux_module_elf(&m, UX_HOLDS_CODE);
	if (!c)
		return ux_error_set(&w->req->err, UX_ENOTFOUND,
				    "the executable was not uploaded: unhex push "
				    "--with-debuginfo");
	*ret = *c;
	return UX_OK;
}

/* Number of bytes from pc to the end of its function; 0 when that is not known. */
static uint64_t asm_left_of_function(const struct work *w, uint64_t pc)
{
	struct ux_open_module *m = NULL;
	uint64_t start = 0, size = 0;
	if (ux_module_cache_get(ux_server_of(w->req)->cache, ux_caller_of(w->req)->ns, w->id, &m,
				NULL) != UX_OK)
		return 0;
	bool known = false;
	for (size_t i = 0; i < ux_open_module_count(m) && !known; i++)
		known = ux_gsym_extent(&ux_open_module_candidate(m, i)->gsym, pc, &start, &size,
				       NULL) == UX_OK;
	ux_open_module_unref(m);
	return known && pc - start < size ? size - (pc - start) : 0;
}

static enum ux_code asm_choose_range(struct work *w, const struct ux_elf *elf)
{
	const struct ux_elf_segment *load = ux_elf_first_load(elf);
	if (!ux_code_machine(elf->machine, &w->arch, &w->syntax))
		return ux_error_set(&w->req->err, UX_EUNSUPPORTED, "code of machine %u",
				    elf->machine);
	w->range.pc = (load ? load->vaddr : 0) + w->start;
	w->range.size = w->size;
	if (w->whole)
		w->range.size = ux_max(w->size, asm_left_of_function(w, w->range.pc));
	struct ux_bytes code = ux_elf_bytes_at(elf, w->range.pc);
	if (code.size == 0)
		return ux_error_set(&w->req->err, UX_ENOTFOUND,
				    "the executable has no code at 0x%" PRIx64, w->start);
	w->range.size = ux_min(w->range.size, (uint64_t)ux_min(code.size, (size_t)CODE_MOST));
	return UX_OK;
}

static enum ux_code asm_open_code(struct work *w)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_blobs *b = ux_server_of(w->req)->store->blobs;
	struct ux_error *err = &w->req->err;
	struct ux_candidate c;
	UX_TRY(asm_find_executable(w, &c));
	UX_TRY(ux_blobs_open(b, &c.blob, c.size, &w->elf, err));
	UX_TRY(ux_file_map_fd(w->elf, &file, err));
	UX_TRY(ux_elf_open_bounded(&elf, file.bytes, UX_ELF_TABLE_MOST, err));
	UX_TRY(asm_choose_range(w, &elf));
	w->text = memfd_create("unhex-code", MFD_CLOEXEC);
	return w->text >= 0 ? UX_OK : ux_error_os(err, errno, "cannot make a file in memory");
}

/* The child has read untrusted bytes, so its output is checked too. */
static enum ux_code asm_put_instructions(struct work *w, struct ux_json *j)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	UX_TRY(ux_file_map_fd(w->text, &file, &w->req->err));
	UX_TRY(ux_request_hold(w->req, w->req->body.size + 2 * file.bytes.size));
	struct ux_cur c = ux_cur_make(file.bytes, "instructions", /* swap= */ false);
	ux_json_key(j, "instructions");
	ux_json_array_begin(j);
	while (ux_cur_more(&c)) {
		uint32_t off = ux_cur_u32(&c);
		struct ux_bytes text = ux_cur_take(&c, ux_cur_u16(&c));
		UX_TRY(ux_cur_status(&c, &w->req->err));
		ux_json_array_begin(j);
		ux_json_u64(j, off);
		ux_json_str(j, text);
		ux_json_array_end(j);
	}
	ux_json_array_end(j);
	return UX_OK;
}

static void asm_put_hex(struct ux_json *j, const char *key, uint64_t v)
{
	char text[19];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	ux_json_key_cstr(j, key, text);
}

static enum ux_code asm_write_answer(struct work *w, struct ux_response *res)
{
	struct ux_json j = ux_json_make(&w->req->out);
	ux_json_object_begin(&j);
	asm_put_hex(&j, "startAddress", w->start);
	asm_put_hex(&j, "size", w->range.size);
	ux_json_key_cstr(&j, "arch", w->arch);
	ux_json_key(&j, "syntax");
	ux_json_array_begin(&j);
	ux_json_cstr(&j, w->syntax);
	ux_json_array_end(&j);
	UX_TRY(asm_put_instructions(w, &j));
	ux_json_object_end(&j);
	ux_out_u8(&w->req->out, '\n');
	return ux_response_out(w->req, res, "application/json");
}

enum ux_code ux_handle_asm_v1(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_json_in_drop) json_t *doc = NULL;
	ux_cleanup(asm_work_deinit) struct work w = {.req = req, .elf = -1, .text = -1};
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(asm_read_request(&w, doc));
	UX_TRY(asm_open_code(&w));
	if (w.range.size > 0)
		UX_TRY(ux_sandbox_disassemble(w.elf, &w.range, w.text, &limits, NULL, &req->err));
	/* An odd address stands for Thumb code at the even address before it. */
	if (strcmp(w.arch, "arm") == 0)
		w.start &= ~(uint64_t)1;
	return asm_write_answer(&w, res);
}
