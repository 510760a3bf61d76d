/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the reader's result for a perf.data file, sample by sample, in a form that tests compare
 * with `perf script`: comm, pid/tid, time, and for each location its address and its module. With
 * --summary, only the counters; with --time, how long reading took; with --unwind, also the callers
 * from copies of stacks.
 */
#include "perf_data.h"

#include "clock.h"
#include "profile_unwind.h"

#include <fcntl.h>
#include <unistd.h>

static const char *print_text(const struct ux_profile *p, uint32_t number)
{
	return (const char *)ux_profile_text(p, number).data;
}

static void print_sample(const struct ux_profile *p, const struct ux_profile_sample *s)
{
	const struct ux_profile_thread *t = &p->threads.data[s->thread];
	printf("%s\t%" PRId32 "/%" PRId32 "\t%" PRIu64, print_text(p, t->comm), (int32_t)t->pid,
	       (int32_t)t->tid, s->time_ns);
	for (size_t i = 0; i < p->n_types; i++)
		printf("\t%" PRId64, ux_profile_sample_values(p, s)[i]);
	printf("\n");
	for (uint32_t n = s->stack; n != 0; n = p->stacks.data[n].caller) {
		const struct ux_profile_location *l =
			&p->locations.data[p->stacks.data[n].location];
		const struct ux_profile_module *m = &p->modules.data[l->module];
		char id[UX_ID_TEXT];
		printf("\t%" PRIx64 "\t%s\t%s\t%s\n", l->address, print_text(p, m->path),
		       ux_id_format(&m->id, id), l->returns ? "return" : "leaf");
	}
}

static void print_summary(const struct ux_profile *p, const struct ux_perf_summary *s)
{
	printf("host\t%s\nrelease\t%s\narch\t%s\n", print_text(p, s->host),
	       print_text(p, s->os_release), print_text(p, s->arch));
	for (size_t i = 0; i < p->n_types; i++)
		printf("value\t%s\t%s\n", print_text(p, p->types[i].name),
		       print_text(p, p->types[i].unit));
	printf("samples\t%" PRIu64 "\nlost_records\t%" PRIu64 "\nlost_samples\t%" PRIu64 "\n",
	       s->samples, s->lost_records, s->lost_samples);
	printf("unmapped\t%" PRIu64 "\nnot_unwound\t%" PRIu64 "\ndeferred\t%" PRIu64 "\n",
	       s->unmapped, s->not_unwound, s->deferred);
	printf("unwound\t%" PRIu64 "\nunwound_short\t%" PRIu64 "\nunwound_lost\t%" PRIu64 "\n",
	       s->unwound, s->unwound_short, s->unwound_lost);
	printf("late\t%" PRIu64 "\nunkept_mappings\t%" PRIu64 "\nunknown_records\t%" PRIu64 "\n",
	       s->late, s->unkept_mappings, s->unknown_records);
	printf("damaged_records\t%" PRIu64 "\ntruncated\t%d\npipe\t%d\n", s->damaged_records,
	       s->truncated, s->pipe);
	if (s->damage.code != UX_OK)
		printf("damage\t%s at %" PRIu64 "\n", s->damage.text, s->damage.off);
}

int main(int argc, char **argv)
{
	bool summary = argc == 3 && strcmp(argv[1], "--summary") == 0;
	bool timed = argc == 3 && strcmp(argv[1], "--time") == 0;
	bool unwinds = argc == 3 && strcmp(argv[1], "--unwind") == 0;
	static struct ux_profile_unwind unwind;
	struct ux_process_cache_opts opts = {.size = sizeof(opts)};
	struct ux_profile_sources sources = {0};
	int fd = argc >= 2 ? open(argv[argc - 1], O_RDONLY | O_CLOEXEC) : -1;
	struct ux_profile p = {0};
	struct ux_perf_summary s;
	struct ux_error err = UX_ERROR_INIT;
	if (fd < 0) {
		fprintf(stderr, "usage: print_perf [--summary | --time | --unwind] FILE\n");
		return 2;
	}
	uint64_t start = ux_clock_ns();
	enum ux_code code = ux_profile_init(&p, &err);
	p.keep_times = !summary && !timed;
	unwind.sources = &sources;
	if (code == UX_OK)
		code = ux_process_cache_create(&opts, &sources.cache, &err);
	if (code == UX_OK)
		code = ux_perf_data_read(
			(struct ux_perf_source){.fd = fd, .unwind = unwinds ? &unwind : NULL}, &p,
			&s, &err);
	uint64_t took = ux_clock_ns() - start;
	if (code != UX_OK)
		fprintf(stderr, "print_perf: %s at %" PRIu64 "\n", err.text, err.off);
	else if (timed)
		printf("%" PRIu64 " samples, %" PRIu64 " us\n", s.samples, took / 1000);
	else if (summary)
		print_summary(&p, &s);
	for (size_t i = 0; code == UX_OK && p.keep_times && i < p.samples.size; i++)
		print_sample(&p, &p.samples.data[i]);
	if (unwinds && code == UX_OK)
		fprintf(stderr, "%" PRIu64 " unwound, %" PRIu64 " short, %" PRIu64 " lost\n",
			s.unwound, s.unwound_short, s.unwound_lost);
	ux_profile_unwind_deinit(&unwind);
	ux_process_cache_free(sources.cache);
	ux_profile_deinit(&p);
	close(fd);
	return code == UX_OK ? 0 : 1;
}
