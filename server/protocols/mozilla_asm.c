/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /asm/v1: disassembly for the Firefox Profiler. Source: API.md of samply-api, v1. The code is
 * read from an uploaded executable by the confined child, as for all untrusted files.
 */
#include "json_out.h"
#include "module_code.h"
#include "mozilla_modules.h"
#include "protocols.h"
#include "text.h"

/* State of one request. */
struct work {
	struct ux_request *req;
	const char *id; /* canonical ID of the module */
	struct ux_code_request wish;
	struct ux_module_code code;
};

static void asm_work_deinit(struct work *w)
{
	ux_module_code_close(&w->code);
}

static enum ux_code asm_read_number(struct ux_request *req, const json_t *doc, const char *key,
				    uint64_t *ret)
{
	const char *text = "";
	UX_TRY(ux_json_in_str(doc, key, UX_MOZILLA_NAME_BYTES, &text, &req->err));
	if (!ux_hex_parse_u64(ux_bytes_cstr(text), /* hex= */ false, ret))
		return ux_error_set(&req->err, UX_EINVAL, "\"%s\" is not \"0x...\"", key);
	return UX_OK;
}

/* The code ID of an ELF file is its build ID. */
static enum ux_code asm_read_request(struct work *w, const json_t *doc)
{
	struct ux_request *req = w->req;
	const char *debug_id = "", *code_id = "";
	UX_TRY(ux_json_in_str(doc, "debugId", UX_MOZILLA_NAME_BYTES, &debug_id, &req->err));
	UX_TRY(ux_json_in_str(doc, "codeId", UX_MOZILLA_NAME_BYTES, &code_id, &req->err));
	UX_TRY(ux_json_in_bool(doc, "continueUntilFunctionEnd", &w->wish.whole, &req->err));
	UX_TRY(asm_read_number(req, doc, "startAddress", &w->wish.start));
	UX_TRY(asm_read_number(req, doc, "size", &w->wish.size));
	const char *name = debug_id[0] != '\0' ? debug_id : code_id;
	if (name[0] == '\0')
		return ux_error_set(&req->err, UX_EINVAL, "expected \"debugId\" or \"codeId\"");
	return ux_mozilla_id(req, ux_bytes_cstr(name), &w->id, &req->err);
}

static enum ux_code asm_put_instructions(struct work *w, struct ux_json *j)
{
	struct ux_instruction found;
	bool end = false;
	UX_TRY(ux_request_hold(w->req, w->req->body.size + 2 * w->code.text.bytes.size));
	ux_json_key(j, "instructions");
	ux_json_array_begin(j);
	for (;;) {
		UX_TRY(ux_module_code_next(&w->code, &found, &end, &w->req->err));
		if (end)
			break;
		ux_json_array_begin(j);
		ux_json_u64(j, found.offset);
		ux_json_str(j, found.text);
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
	asm_put_hex(&j, "startAddress", w->wish.start);
	asm_put_hex(&j, "size", w->code.range.size);
	ux_json_key_cstr(&j, "arch", w->code.arch);
	ux_json_key(&j, "syntax");
	ux_json_array_begin(&j);
	ux_json_cstr(&j, w->code.syntax);
	ux_json_array_end(&j);
	UX_TRY(asm_put_instructions(w, &j));
	ux_json_object_end(&j);
	ux_out_u8(&w->req->out, '\n');
	return ux_response_out(w->req, res, "application/json");
}

enum ux_code ux_handle_asm_v1(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(asm_work_deinit) struct work w = {.req = req, .wish.from_first_byte = true};
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(asm_read_request(&w, doc));
	UX_TRY(ux_module_code_open(req, w.id, &w.wish, &w.code, &req->err));
	/* An odd address stands for Thumb code at the even address before it. */
	if (strcmp(w.code.arch, "arm") == 0)
		w.wish.start &= ~(uint64_t)1;
	return asm_write_answer(&w, res);
}
