/* SPDX-License-Identifier: Apache-2.0 */
/* Names by a server. */
#include "symbolize_batch.h"

#include "profile_kernel.h"

/* Returns how many locations without names have an address of that kind. */
static size_t symbolize_left(const struct ux_symbolize_batch *b, enum ux_profile_address_kind kind)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		n += l->n == 0 && l->kind == kind;
	}
	return n;
}

/* Converts positions in the file to pcs by the segments in its symbols. */
static void symbolize_segments(struct ux_symbolize_batch *b,
			       const struct ux_gsym_segments *segments)
{
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t pc = 0;
		if (l->n > 0 || l->kind != UX_PROFILE_OFFSET ||
		    !ux_gsym_segments_pc(segments, l->address, &pc))
			continue;
		l->kind = UX_PROFILE_PC;
		l->address = pc;
	}
}

/*
 * Converts positions in a file that is not here to pcs: by the segments in the server's symbols,
 * else by the executable's segments, if the server has the executable.
 */
static enum ux_code symbolize_server_positions(struct ux_symbolize_batch *b, uint32_t module,
					       const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_out_deinit) struct ux_out head = {0};
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT, no_segments = UX_ERROR_INIT;
	struct ux_gsym_segments segments;
	char text[UX_ERROR_TEXT + 256];
	/* Also if a debug file is here: it names addresses, but has no file positions of the code.
	 */
	if (m->kind == UX_PROFILE_KERNEL || symbolize_left(b, UX_PROFILE_OFFSET) == 0)
		return UX_OK;
	enum ux_code code = UX_ENOTFOUND;
	if (sources->server_segments)
		code = sources->server_segments(sources->server_ctx, &m->id, &segments,
						&no_segments);
	if (code == UX_OK) {
		symbolize_segments(b, &segments);
		return UX_OK;
	}
	if (code != UX_ENOMEM && sources->server_head)
		code = sources->server_head(sources->server_ctx, &m->id, &head, &why);
	if (code == UX_OK)
		code = ux_file_symbols_create_head(ux_out_bytes(&head), &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code == UX_OK) {
		(void)ux_symbolize_offsets(b, module, s);
		return UX_OK;
	}
	if (!sources->server_segments && !sources->server_head)
		return UX_OK;
	(void)snprintf(text, sizeof(text), "segments on the server: %s; executable: %s",
		       *no_segments.text ? no_segments.text : "none",
		       *why.text ? why.text : "none");
	return ux_symbolize_reason_add(b, module, text);
}

/* Converts relative addresses to pcs by the server's data about the module, whose file is not here.
 * If the server lacks it, that is the reason why they have no names. */
static enum ux_code symbolize_server_base(struct ux_symbolize_batch *b, uint32_t module,
					  const struct ux_profile_sources *sources)
{
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + 256];
	uint64_t base = 0;
	enum ux_code code = UX_ENOTFOUND;
	if (symbolize_left(b, UX_PROFILE_RELATIVE) == 0)
		return UX_OK;
	if (sources->server_base)
		code = sources->server_base(sources->server_ctx,
					    &b->profile->modules.data[module].id, &base, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK) {
		(void)snprintf(
			text, sizeof(text),
			"file-relative addresses need the executable, or its base address from "
			"the server: %s",
			*why.text ? why.text : "the server has none");
		return ux_symbolize_reason_add(b, module, text);
	}
	b->profile->modules.data[module].base = base;
	b->profile->modules.data[module].has_base = true;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0 && l->kind == UX_PROFILE_RELATIVE) {
			l->kind = UX_PROFILE_PC;
			l->address += base;
		}
	}
	return UX_OK;
}

/*
 * Converts addresses in the kernel, or in a module of it, to addresses of its file, which the
 * server knows: the kernel moves as a whole, and a module's GSYM counts from its .text, where it
 * begins.
 */
static void symbolize_kernel_addresses(struct ux_symbolize_batch *b, uint32_t module)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	uint64_t base = 0;
	if (m->kind != UX_PROFILE_KERNEL || m->start == 0)
		return;
	bool known = !ux_profile_is_kernel(b->profile, m) || ux_kernel_link_base(m->start, &base);
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n > 0 || l->kind != UX_PROFILE_ADDRESS || l->address < m->start)
			continue;
		l->kind = known ? UX_PROFILE_PC : UX_PROFILE_RELATIVE;
		l->address = l->address - m->start + (known ? base : 0);
	}
}

/* Sets the reason why locations are not in a request to the server. */
static enum ux_code symbolize_unsent(struct ux_symbolize_batch *b, uint32_t module)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	if (m->source != 0 || m->kind == UX_PROFILE_KERNEL)
		return UX_OK;
	if (m->id.size == 0)
		return ux_symbolize_reason_add(
			b, module, "the recording has no build ID to query the server with");
	if (symbolize_left(b, UX_PROFILE_OFFSET) > 0)
		return ux_symbolize_reason_add(
			b, module,
			"file offsets need the executable, so the server is not queried");
	return UX_OK;
}

enum ux_code ux_symbolize_query(struct ux_symbolize_batch *b, uint32_t module,
				const struct ux_profile_sources *sources, const struct ux_id *id,
				bool may_be_gone)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	struct ux_error why = UX_ERROR_INIT;
	if (b->n_pcs == 0)
		return UX_OK;
	enum ux_code code = sources->server(sources->server_ctx, id, b->pcs, b->n_pcs,
					    ux_symbolize_take, b, &why);
	if (b->code != UX_OK || code == UX_ENOMEM)
		return b->code != UX_OK ? b->code : ux_error_nomem(b->err);
	if (code == UX_ENOTFOUND && may_be_gone)
		return UX_OK;
	if (code != UX_OK)
		return ux_symbolize_reason(b, module, &why);
	return m->source != 0 ? UX_OK
			      : ux_profile_string(b->profile, UX_STR("server"), &m->source, b->err);
}

enum ux_code ux_symbolize_from_server(struct ux_symbolize_batch *b, uint32_t module,
				      const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	if (!sources->server)
		return UX_OK;
	if (m->id.size > 0)
		UX_TRY(symbolize_server_positions(b, module, sources));
	UX_TRY(symbolize_unsent(b, module));
	if (m->id.size == 0)
		return UX_OK;
	symbolize_kernel_addresses(b, module);
	UX_TRY(symbolize_server_base(b, module, sources));
	ux_symbolize_forget_texts(b);
	b->passing = true;
	b->n_pcs = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0 && l->kind == UX_PROFILE_PC)
			ux_symbolize_add_pc(b, b->locations[i], l->address);
	}
	return ux_symbolize_query(b, module, sources, &m->id, /* may_be_gone= */ false);
}
