/* SPDX-License-Identifier: Apache-2.0 */
#include "make_profile.h"

#include <stdio.h>

static void made(enum ux_code code)
{
	if (code != UX_OK)
		abort();
}

uint32_t make_profile_string(struct ux_profile *p, const char *text)
{
	uint32_t number = 0;
	made(ux_profile_string(p, ux_bytes_cstr(text), &number, NULL));
	return number;
}

uint32_t make_profile_thread(struct ux_profile *p, const char *comm, uint32_t pid, uint32_t tid)
{
	uint32_t number = 0;
	struct ux_profile_thread thread = {pid, tid, make_profile_string(p, comm)};
	made(ux_profile_add_thread(p, thread, &number, NULL));
	return number;
}

void make_profile(struct ux_profile *p, const char *types)
{
	char name[64], unit[64];
	int n = 0;
	made(ux_profile_init(p, NULL));
	for (; sscanf(types, " %63[^/]/%63s%n", name, unit, &n) == 2; types += n)
		p->types[p->n_types++] = (struct ux_profile_type){make_profile_string(p, name),
								  make_profile_string(p, unit)};
}

static uint32_t make_module(struct ux_profile *p, const char *name, size_t size)
{
	char path[256];
	if (size == 0)
		return 0;
	snprintf(path, sizeof(path), "/lib/%.*s", (int)size, name);
	uint32_t string = make_profile_string(p, path);
	for (uint32_t i = 1; i < p->modules.size; i++)
		if (p->modules.data[i].path == string)
			return i;
	uint32_t number = 0;
	struct ux_profile_module module = {.kind = UX_PROFILE_FILE, .path = string};
	made(ux_profile_add_module(p, module, &number, NULL));
	return number;
}

/* Frames that are separated by '|', outermost first. */
static void make_frames(struct ux_profile *p, uint32_t location, const char *names, size_t size)
{
	struct ux_profile_frame frames[8];
	size_t n = 0;
	for (const char *end = names + size; end > names && n < ux_countof(frames); n++) {
		const char *start = memrchr(names, '|', (size_t)(end - names));
		const char *name = start ? start + 1 : names;
		char text[256], file[300];
		snprintf(text, sizeof(text), "%.*s", (int)(end - name), name);
		snprintf(file, sizeof(file), "/src/%s.c", text);
		frames[n] = (struct ux_profile_frame){
			.name = make_profile_string(p, text),
			.file = make_profile_string(p, file),
			.line = 10 + (uint32_t)strlen(text),
			.inlined = start != NULL,
		};
		end = start ? start : names;
	}
	made(ux_profile_name(p, location, frames, n, NULL));
}

static uint32_t make_location(struct ux_profile *p, const char *text, size_t size)
{
	const char *at = memchr(text, '!', size);
	const char *address = at ? NULL : memchr(text, '@', size);
	uint32_t location = 0;
	struct ux_profile_place place = {.kind = UX_PROFILE_PC};
	if (address) {
		place.module = make_module(p, text, (size_t)(address - text));
		place.address = strtoull(address + 1, NULL, 16);
		made(ux_profile_locate(p, place, &location, NULL));
		return location;
	}
	/* The address of a named location is the address of its text in the table of strings. */
	const char *name = at ? at + 1 : text;
	char whole[512];
	snprintf(whole, sizeof(whole), "%.*s", (int)size, text);
	place.module = make_module(p, text, at ? (size_t)(at - text) : 0);
	place.address = 0x1000 + 16 * (uint64_t)make_profile_string(p, whole);
	made(ux_profile_locate(p, place, &location, NULL));
	if (p->locations.data[location].n == 0)
		make_frames(p, location, name, (size_t)(text + size - name));
	return location;
}

void make_profile_sample(struct ux_profile *p, const char *stack, uint32_t thread, int64_t first,
			 int64_t second)
{
	uint32_t number = 0;
	while (*stack != 0) {
		size_t n = strcspn(stack, ";");
		made(ux_profile_push(p, number, make_location(p, stack, n), &number, NULL));
		stack += n + (stack[n] == ';');
	}
	int64_t values[UX_PROFILE_VALUES_MAX] = {first, second};
	made(ux_profile_add_sample(p, thread, number, 0, values, NULL));
}
