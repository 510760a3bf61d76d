/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: finds the files that processes of this host run, and pushes the symbols that a server
 * lacks, as long as it runs.
 */
#ifndef UX_AGENT_H
#define UX_AGENT_H

#include "host_watch.h"
#include "push_run.h"

enum {
	UX_AGENT_MEMORY = 40 << 20, /* bytes of anonymous memory for an extraction */
	UX_AGENT_MEMORY_DWARF = 100 << 20,
};

struct ux_agent_options {
	/*
	 * How files are pushed: server, limits, debug_dirs, dry_run, result, ctx. Its timeout is
	 * for one round: a query and the uploads after it.
	 */
	struct ux_push_options push;
	/* folder of known answers and of the queue, made when missing; NULL: nothing is kept */
	const char *state;
	uint64_t queue_max; /* bytes of symbols that wait on disk for the server; 0: none */
	/*
	 * processor time, in millionths of a core, that the agent and its children use in any
	 * minute; 0: no limit, and no low priority
	 */
	uint64_t cpu_ppm;
	const char *const
		*debuginfod; /* URLs of servers; modules that they have are not uploaded */
	size_t n_debuginfod;
	/* patterns of paths that are left out, see struct ux_file_table */
	const char *const *exclude;
	size_t n_exclude;
	bool jit;            /* snapshots of run-time code are sent, too */
	const char *host;    /* under which they are listed; NULL: uname(2)'s */
	const char *metrics; /* where they are served: "HOST:PORT", "unix:PATH"; NULL: nowhere */
	bool once;           /* ends when what runs now was pushed */
	/* called with news for the user, such as rights that are lacking; at any time */
	void (*notice)(void *ctx, const char *text);
};

/* Counts of results. */
struct ux_agent_summary {
	struct ux_push_summary push;
	/* what a failure is about: an option's value; NULL: the server, or the host */
	const char *subject;
};

/*
 * Runs until the process ends; with `once`, until all is done. A server that is away is an error
 * only with `once`. To be called by the only thread of the process. Codes: UX_ENOMEM, UX_EIO;
 * UX_EUNAVAILABLE, UX_EDENIED: of the server.
 */
enum ux_code ux_agent_run(const struct ux_agent_options *options, struct ux_agent_summary *ret,
			  struct ux_error *err) ux_must;

#endif
