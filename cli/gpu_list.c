/* SPDX-License-Identifier: Apache-2.0 */
/* What `unhex id` tells of the GPU code in a file. */
#include "gpu_list.h"

#include "extract.h"
#include "fatbin_choose.h"
#include "fatbin_unpack.h"
#include "json_out.h"
#include "output.h"

/* What there is to tell about one piece. */
struct piece {
	const struct ux_fatbin_entry *entry;
	size_t number; /* from 1 on */
	char arch[UX_FATBIN_ARCH_TEXT];
	struct ux_id_set ids;
	struct ux_extract_stats stats;
	struct ux_error damage; /* code UX_OK: none */
};

static enum ux_code drop(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)ctx, (void)bytes, (void)err;
	return UX_OK;
}

/* No symbols at all is an answer: quality none. */
static enum ux_code read_cubin(struct piece *p, bool quick)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	struct ux_extract_options how = {0};
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_fatbin_unpack(p->entry, &content, &p->damage));
	UX_TRY(ux_cubin_ids(content.bytes, &p->ids, &p->damage));
	if (quick)
		return UX_OK;
	enum ux_code code =
		ux_extract(content.bytes, UX_BYTES_NONE, &how, drop, NULL, &p->stats, &why);
	if (code != UX_OK)
		p->stats = (struct ux_extract_stats){.quality = UX_QUALITY_NONE};
	if (code != UX_OK && code != UX_ENOTFOUND)
		p->damage = why;
	return code;
}

static void write_json(struct ux_out *out, const char *path, const struct piece *p, bool quick)
{
	struct ux_json j = ux_json_make(out);
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	ux_json_key_u64(&j, "gpu", p->number);
	ux_json_key_cstr(&j, "arch", p->arch);
	ux_json_key_cstr(&j, "kind", ux_fatbin_kind_name(p->entry->kind));
	ux_json_key_u64(&j, "size", p->entry->size);
	ux_json_key(&j, "name");
	ux_json_str(&j, p->entry->name);
	ux_json_key(&j, "ids");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < p->ids.size; i++)
		ux_json_cstr(&j, ux_id_format(&p->ids.ids[i], text));
	ux_json_array_end(&j);
	if (p->damage.code != UX_OK)
		ux_json_key_cstr(&j, "error", ux_error_format(&p->damage, text, sizeof(text)));
	else if (p->entry->kind == UX_FATBIN_CUBIN && !quick)
		ux_json_symbols(&j, p->stats.quality, &p->stats.counts);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void write_text(struct ux_out *out, const struct piece *p, bool quick)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const struct ux_fatbin_entry *e = p->entry;
	ux_out_fmt(out, "  gpu %zu: %s %s, ", p->number, p->arch, ux_fatbin_kind_name(e->kind));
	ux_text_size(out, e->size);
	if (e->name.size > 0) {
		ux_out_cstr(out, ", ");
		ux_text(out, e->name);
	}
	for (size_t i = 0; i < p->ids.size; i++)
		ux_out_fmt(out, ", %s", ux_id_format(&p->ids.ids[i], text));
	if (p->damage.code != UX_OK)
		ux_out_fmt(out, ", damaged: %s", ux_error_format(&p->damage, text, sizeof(text)));
	else if (e->kind == UX_FATBIN_PTX)
		ux_out_cstr(out, ", compiled by the driver at run time");
	else if (e->kind == UX_FATBIN_CUBIN && !quick)
		ux_out_fmt(out, ", symbols: %s, %" PRIu64 " functions",
			   ux_quality_name(p->stats.quality), p->stats.counts.functions);
	ux_out_u8(out, '\n');
}

static void write_sum(struct ux_out *out, const char *path, const struct ux_fatbin_list *list,
		      bool json)
{
	char archs[128];
	if (json) {
		struct ux_json j = ux_json_make(out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "file", path);
		ux_json_key_u64(&j, "gpu_pieces", list->entries.size);
		ux_json_object_end(&j);
		ux_out_u8(out, '\n');
		return;
	}
	ux_out_fmt(out, "  gpu: %zu pieces of code for %s; --gpu tells each\n", list->entries.size,
		   ux_fatbin_archs(list, archs, sizeof(archs)));
}

enum ux_code ux_gpu_list_write(struct ux_out *out, const char *path, struct ux_bytes file,
			       const struct ux_gpu_list_options *options, struct ux_error *err)
{
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	UX_TRY(ux_fatbin_list_read(file, &list, err));
	if (list.bad > 0)
		ux_say("%s: %" PRIu64 " containers of GPU code are damaged, the first: %s", path,
		       list.bad, ux_error_format(&list.reason, text, sizeof(text)));
	if (list.entries.size > UX_GPU_LIST_SHORT && !options->all) {
		write_sum(out, path, &list, options->json);
		return UX_OK;
	}
	for (size_t i = 0; i < list.entries.size; i++) {
		struct piece p = {
			.entry = &list.entries.data[i], .number = i + 1, .damage = UX_ERROR_INIT};
		ux_fatbin_arch(p.entry, p.arch);
		if (p.entry->kind == UX_FATBIN_CUBIN && read_cubin(&p, options->quick) == UX_ENOMEM)
			return ux_error_nomem(err);
		if (options->json)
			write_json(out, path, &p, options->quick);
		else
			write_text(out, &p, options->quick);
		UX_TRY(ux_flush(out, err));
	}
	return UX_OK;
}
