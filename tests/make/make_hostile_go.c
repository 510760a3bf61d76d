/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile Go programs: the most work that a pclntab may demand, in 1.24's layout. */
#include "make_hostile_kit.h"

enum {
	GO_TEXT = 0x4000000,
	GO_TABLE = 0x5000000,
	GO_DATA = 0x6000000,
	WORDS = 64, /* of moduledata */
	MODULE_GOFUNC = 40,
	CALLS_DEEP = 30,
	NAME_BYTES = 32000, /* bytes; the limit of a name */
};

/* The parts of a table while they are made. */
struct go {
	struct ux_out names, units, files, programs, index, records, trees;
	uint32_t n; /* functions */
	uint32_t pc;
};

static void go_deinit(struct go *g)
{
	ux_out_deinit(&g->names);
	ux_out_deinit(&g->units);
	ux_out_deinit(&g->files);
	ux_out_deinit(&g->programs);
	ux_out_deinit(&g->index);
	ux_out_deinit(&g->records);
	ux_out_deinit(&g->trees);
}

/* A step of a program: `bytes` of code more have a value that differs by delta. */
static void put_step(struct go *g, int32_t delta, uint32_t bytes)
{
	ux_out_uleb(&g->programs, (uint32_t)delta << 1 ^ (uint32_t)(delta >> 31));
	ux_out_uleb(&g->programs, bytes);
}

static void put_function(struct go *g, uint32_t name, uint32_t size, uint32_t files, uint32_t lines,
			 uint32_t calls)
{
	ux_out_u32(&g->index, g->pc);
	ux_out_u32(&g->index, (uint32_t)g->records.size); /* the index's size comes on top */
	const uint32_t fields[] = {g->pc, name, 0, 0, 0, files, lines, 3, 0, 1};
	for (size_t i = 0; i < ux_countof(fields); i++)
		ux_out_u32(&g->records, fields[i]);
	ux_out_u32(&g->records, 4u << 24); /* tables */
	ux_out_u32(&g->records, 0);
	ux_out_u32(&g->records, 0);
	ux_out_u32(&g->records, calls);
	for (int i = 0; i < 3; i++)
		ux_out_u32(&g->records, UINT32_MAX);
	ux_out_u32(&g->records, calls != 0 ? 0 : UINT32_MAX);
	g->n++;
	g->pc += size;
}

static void add(struct make_hostile *m, const char *name, uint32_t flags, uint64_t pc,
		const struct ux_out *out)
{
	uint64_t exec = (flags & PF_X) != 0 ? SHF_EXECINSTR : 0;
	uint32_t index =
		make_elf_section(&m->elf, (struct make_section){.name = name,
								.flags = SHF_ALLOC | exec,
								.addr = pc,
								.content = ux_out_bytes(out)});
	make_elf_segment(&m->elf,
			 (struct make_segment){
				 .type = PT_LOAD, .flags = flags, .first = index, .last = index});
}

/* Header and parts; the offsets of the parts are in offs. */
static void put_table(struct go *g, struct ux_out *t, uint64_t offs[5])
{
	const struct ux_out *parts[] = {&g->names, &g->units, &g->files, &g->programs};
	uint64_t at = 8 + 8 * 8;
	ux_out_u32(t, 0xfffffff1);
	ux_out_u32(t, 0x08010000);
	ux_out_u64(t, g->n);
	ux_out_u64(t, 1);
	ux_out_u64(t, GO_TEXT);
	for (size_t i = 0; i < 5; i++) {
		offs[i] = at;
		ux_out_u64(t, at);
		at += i < ux_countof(parts) ? parts[i]->size : 0;
	}
	for (size_t i = 0; i < ux_countof(parts); i++)
		ux_out_put(t, parts[i]->data, parts[i]->size);
	uint32_t index = 8 * g->n + 4;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t pair[2];
		memcpy(pair, g->index.data + 8 * i, sizeof(pair));
		ux_out_u32(t, pair[0]);
		ux_out_u32(t, pair[1] + index);
	}
	ux_out_u32(t, g->pc);
	ux_out_put(t, g->records.data, g->records.size);
}

/* Trees, then moduledata. */
static void put_data(const struct go *g, struct ux_out *d, const uint64_t offs[5])
{
	ux_out_put(d, g->trees.data, g->trees.size);
	ux_out_align(d, 8);
	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t value = 0;
		if (i == 0)
			value = GO_TABLE;
		else if (i == 1 || i == 4 || i == 13)
			value = GO_TABLE + offs[i / 3];
		else if (i == 20 || i == 22)
			value = GO_TEXT;
		else if (i == 21)
			value = GO_TEXT + g->pc;
		else if (i == MODULE_GOFUNC)
			value = GO_DATA;
		ux_out_u64(d, value);
	}
}

static void finish(struct make_hostile *m, struct go *g)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, table = {0}, data = {0};
	uint64_t offs[5];
	while (text.size < g->pc)
		ux_out_u8(&text, 0xcc);
	put_table(g, &table, offs);
	put_data(g, &data, offs);
	add(m, ".text.go", PF_R | PF_X, GO_TEXT, &text);
	add(m, ".gopclntab", PF_R, GO_TABLE, &table);
	add(m, ".go.module", PF_R | PF_W, GO_DATA, &data);
	go_deinit(g);
}

/* One line, or one file, for a function of `size` bytes. */
static uint32_t put_constant(struct go *g, uint32_t size)
{
	uint32_t off = (uint32_t)g->programs.size;
	put_step(g, 1, size);
	ux_out_u8(&g->programs, 0);
	return off;
}

static void begin(struct go *g)
{
	*g = (struct go){0};
	ux_out_put(&g->names, "\0f", 3);
	ux_out_put(&g->files, "a.go", 5);
	ux_out_u8(&g->programs, 0);
}

/* A function of calls in calls in calls, each of one byte and all of them with gaps. */
void make_hostile_go_calls(struct make_hostile *m)
{
	struct go g;
	uint32_t n = MAKE_HOSTILE_SIZE / 28, size = 2 * n;
	begin(&g);
	ux_out_u32(&g.units, 0);
	uint32_t constant = put_constant(&g, size), calls = (uint32_t)g.programs.size;
	for (uint32_t i = 0; i < n; i++) {
		put_step(&g, i == 0 ? 0 : -1 - (int32_t)(i - 1), 1);
		put_step(&g, (int32_t)i + 1, 1);
		ux_out_u32(&g.trees, 0);
		ux_out_u32(&g.trees, 1); /* the name */
		ux_out_u32(&g.trees, i % CALLS_DEEP == 0 ? 0 : 2 * i - 1);
		ux_out_u32(&g.trees, 1);
	}
	ux_out_u8(&g.programs, 0);
	put_function(&g, 1, size, constant, constant, calls);
	finish(m, &g);
}

/* Functions of one byte; each name is the end of one long name. */
void make_hostile_go_names(struct make_hostile *m)
{
	struct go g;
	begin(&g);
	ux_out_u32(&g.units, 0);
	uint32_t constant = put_constant(&g, 1);
	make_hostile_run(&g.names, "name", NAME_BYTES);
	ux_out_u8(&g.names, 0);
	while (g.records.size + g.index.size + g.pc < MAKE_HOSTILE_SIZE - NAME_BYTES - TENTH)
		put_function(&g, 3 + g.n % 30000, 1, constant, constant, 0);
	finish(m, &g);
}

/* A function with another file at each byte; each file name is the end of one long name. */
void make_hostile_go_files(struct make_hostile *m)
{
	struct go g;
	uint32_t n = MAKE_HOSTILE_SIZE / 9;
	begin(&g);
	make_hostile_run(&g.files, "files/", NAME_BYTES);
	ux_out_u8(&g.files, 0);
	uint32_t lines = put_constant(&g, n), files = (uint32_t)g.programs.size;
	for (uint32_t i = 0; i < n; i++) {
		put_step(&g, 1, 1);
		ux_out_u32(&g.units, 5 + i % 31000);
	}
	ux_out_u8(&g.programs, 0);
	put_function(&g, 1, n, files, lines, 0);
	finish(m, &g);
}
