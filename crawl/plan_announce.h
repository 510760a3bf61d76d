/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a plan to a server, and fetches the server's knowledge of earlier ones: POST
 * /v1/crawl/packages. */
#ifndef UX_PLAN_ANNOUNCE_H
#define UX_PLAN_ANNOUNCE_H

#include "crawl_client.h"
#include "crawl_plan.h"

struct ux_crawl_announced {
	uint64_t fresh; /* packages that were new to the server */
	uint64_t known;
	uint64_t again; /* packages among them that were queued again */
};

/*
 * Fetches the states that earlier crawls left of the plan's repositories, one for each in `known`.
 * A state from another mirror, or for another purpose, counts as empty, except for its date.
 */
enum ux_code ux_crawl_known(struct ux_crawl_client *c, const struct ux_crawl_plan *plan,
			    const struct ux_crawl_choice *choice, struct ux_repository_state *known,
			    struct ux_error *err) ux_must;

/*
 * Announces the packages of each repository that was read and has changed, a thousand at a time.
 * The state of a repository is kept only if all of it was chosen, so that an interrupted or
 * narrower crawl is never taken for a whole one. Codes of ux_crawl_client_call().
 */
enum ux_code ux_crawl_announce(struct ux_crawl_client *c, const struct ux_crawl_plan *plan,
			       const struct ux_crawl_choice *choice, struct ux_crawl_announced *ret,
			       struct ux_error *err) ux_must;

#endif
