/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the targets that read questions for names, and replies. */
#include "fuzz.h"
#include "make_corpus.h"
#include "wire.h"

enum {
	QUESTION = 0,
	REPLY = 1,
};

static void save(const char *name, uint8_t which, const struct ux_out *bytes)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u8(&out, which);
	ux_out_put(&out, bytes->data, bytes->size);
	save_seed("wire", name, ux_out_bytes(&out));
}

static void add(struct ux_out *out, const char *id, const uint64_t *pcs, size_t n)
{
	struct ux_id typed;
	fuzz_truth(ux_id_parse(ux_bytes_cstr(id), &typed, NULL) == UX_OK);
	ux_wire_question_add(out, &typed, pcs, n);
}

static void make_questions(void)
{
	static const uint64_t near_pcs[] = {0x401000, 0x401004, 0x400ff0, 0x401000};
	static const uint64_t far_pcs[] = {0, UINT64_MAX, 1, 0x8000000000000000};
	ux_cleanup(ux_out_deinit) struct ux_out empty = {0}, all = {0};
	const struct ux_wire_options options = {
		.return_addresses = true, .demangle = UX_DEMANGLE_ELIDED, .timeout_ms = 300};
	ux_wire_question_begin(&empty, &(struct ux_wire_options){0});
	ux_wire_question_end(&empty);
	save("question-empty", QUESTION, &empty);
	ux_wire_question_begin(&all, &options);
	add(&all, "gnu:00112233445566778899aabbccddeeff00112233", near_pcs, ux_countof(near_pcs));
	add(&all, "go:a/b/c", far_pcs, ux_countof(far_pcs));
	add(&all, "file:00112233445566778899aabbccddeeff", NULL, 0);
	add(&all, "uuid:00112233445566778899aabbccddeeff", near_pcs, 1);
	add(&all, "cubin-crc:0000002a", far_pcs, 1);
	ux_wire_question_end(&all);
	save("question", QUESTION, &all);
	all.data[3] = 2;
	save("question-of-another-version", QUESTION, &all);
}

static void make_replies(void)
{
	ux_cleanup(ux_out_deinit) struct ux_out empty = {0}, all = {0};
	struct ux_wire_reply w = {0};
	ux_wire_reply_write(&w, &empty);
	save("reply-empty", REPLY, &empty);
	uint32_t f = ux_wire_reply_string(&w, UX_STR("f(int)"));
	uint32_t dir = ux_wire_reply_string(&w, UX_STR("/src"));
	uint32_t file = ux_wire_reply_file(&w, dir, ux_wire_reply_string(&w, UX_STR("f.c")));
	uint32_t up = 0;
	for (uint32_t i = 0; i < 5; i++) {
		up = ux_wire_reply_frame(&w, f, i % 2 ? file : 0, 1000 * i, up);
		ux_wire_reply_address(&w, up);
	}
	ux_wire_reply_address(&w, 0);
	ux_wire_reply_module(&w, 0, 5, UX_BYTES_NONE, 0, 6);
	ux_wire_reply_module(&w, 1, 0, UX_BYTES_NONE, 0, 0);
	ux_wire_reply_module(&w, 2, 0, UX_STR("damaged"), 0, 0);
	ux_wire_reply_module(&w, 3, 0, UX_STR("on its way"), 200, 0);
	ux_wire_reply_write(&w, &all);
	save("reply", REPLY, &all);
	ux_wire_reply_deinit(&w);
}

static void make_json(void)
{
	static const struct {
		const char *name, *text;
	} seeds[] = {
		{"empty", "{\"modules\":[]}"},
		{"all", "{\"timeout_ms\":50,\"modules\":[{\"id\":\"gnu:00ff\",\"addresses\":[1,"
			"\"0x29d90\",\"171664\"]},{\"addresses\":[],\"id\":\"\"}],"
			"\"return_addresses\":true,\"demangle\":\"short\"}\n"},
		{"names",
		 "{\"modules\":[{\"id\":\"x\",\"addresses\":[\"f+0x10\",18446744073709551615]}"
		 "],\"return_addresses\":null}"},
		{"odd",
		 " {\t\"modules\" : [ {\"id\":\"\\u00e9\\n\" , \"addresses\":[ 0 , 01 ]} ] , "
		 "\"more\":{\"a\":[1.5e3,null]}}"},
		{"twice",
		 "{\"modules\":[],\"modules\":[],\"demangle\":\"none\",\"demangle\":\"full\"}"},
	};
	for (size_t i = 0; i < ux_countof(seeds); i++)
		save_seed("symbolize_json", seeds[i].name, ux_bytes_cstr(seeds[i].text));
}

static void make_queries(void)
{
	static const struct {
		const char *name, *text;
	} seeds[] = {
		{"ids", "{\"ids\":[\"gnu:00ff\",\"00FF\",\"uuid:0\",\"\"],\"force\":true}\n"},
		{"modules",
		 "{\"force\":false,\"modules\":[{\"ids\":[\"go:x/y\",\"gnu:00\"],"
		 "\"quality\":\"lines\"},{\"quality\":\"great\",\"ids\":[\"gnu:01\"]}]}"},
		{"odd", " {\t\"ids\" : [ \"gnu:\\u0030\\u0030\" , \"\xc3\xa9\" ] , \"more\":null}"},
		{"none", "{\"modules\":[{\"ids\":[]},{\"ids\":[\"gnu:00\"],\"quality\":null}]}"},
		{"twice", "{\"ids\":[],\"ids\":[],\"force\":true,\"force\":false}"},
		{"both", "{\"ids\":[],\"modules\":[]}"},
	};
	for (size_t i = 0; i < ux_countof(seeds); i++)
		save_seed("query_json", seeds[i].name, ux_bytes_cstr(seeds[i].text));
}

void make_wire_corpus(void)
{
	make_questions();
	make_replies();
	make_json();
	make_queries();
}
