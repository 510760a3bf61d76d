/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of packs of sources. */
#include "make_corpus.h"

#include "source_pack.h"

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

static void add(struct ux_source_packer *p, const char *path, const char *content)
{
	uint64_t off = p->size;
	if (ux_source_packer_put(p, ux_bytes_cstr(content), NULL) != UX_OK ||
	    ux_source_packer_name(p, path, off, NULL) != UX_OK)
		abort();
}

static void make_pack(const char *name, const char *const *paths, size_t n)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = &out};
	for (size_t i = 0; i < n; i++)
		add(&p, paths[i], i % 2 == 0 ? "int main(void);\n" : "");
	if (ux_source_packer_end(&p, NULL) != UX_OK)
		abort();
	save_seed("source_pack", name, ux_out_bytes(&out));
}

void make_pack_corpus(void)
{
	static const char *const good[] = {"/src/b.c", "/src/a.c", "/usr/include/c++/12/vector",
					   "/src/a.c"};
	static const char *const bad[] = {"/src/../../etc/passwd", "relative", "/a//b", ""};
	make_pack("empty", good, 0);
	make_pack("files", good, ux_countof(good));
	for (size_t i = 0; i < ux_countof(bad); i++) {
		char name[16];
		snprintf(name, sizeof(name), "bad_path_%zu", i);
		make_pack(name, &bad[i], 1);
	}
}
