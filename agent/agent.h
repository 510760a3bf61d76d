/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: as long as it runs, it finds the files that processes of this host run, and pushes the
 * symbols that a server lacks.
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
	 * Options of pushing: server, limits, debug_dirs, dry_run, result, ctx. The timeout limits
	 * one round: a query and the uploads after it.
	 */
	struct ux_push_options push;
	/* folder for known answers and the queue, created if missing; NULL: nothing is kept on
	 * disk */
	const char *state;
	uint64_t queue_max; /* maximum size in bytes of the queue on disk; 0: no queue */
	/*
	 * limit of processor time in any minute, in millionths of a core, for the agent and its
	 * children; 0: no limit, and normal priority
	 */
	uint64_t cpu_ppm;
	const char *const
		/* URLs of debuginfod servers; modules that they have are not uploaded */
		*debuginfod;
	size_t n_debuginfod;
	/* patterns of paths to skip, see struct ux_file_table */
	const char *const *exclude;
	size_t n_exclude;
	bool root_only; /* leave out files that others than root can change */
	bool jit;       /* also send snapshots of run-time code */
	/* host name under which the server lists files and run-time code; NULL: from uname(2) */
	const char *host;
	const char *metrics; /* address that serves metrics: "HOST:PORT", "unix:PATH"; NULL: none */
	bool once;           /* end after pushing the code that runs now */
	/* called at any time with news for the user, such as missing rights */
	void (*notice)(void *ctx, const char *text);
};

/* Counts of results. */
struct ux_agent_summary {
	struct ux_push_summary push;
	/* subject of a failure: an option's value; NULL: the server, or the host */
	const char *subject;
};

/*
 * Runs until the process ends, or with `once` until everything was sent. An unreachable server is
 * an error only with `once`. The process must have no other thread yet. UX_ENOMEM, UX_EIO.
 * UX_EUNAVAILABLE, UX_EDENIED: from the server.
 */
enum ux_code ux_agent_run(const struct ux_agent_options *options, struct ux_agent_summary *ret,
			  struct ux_error *err) ux_must;

#endif
