/* SPDX-License-Identifier: Apache-2.0 */
/* The work that one request may cause. */
#include "request_work.h"

static bool request_goes_on(void *ctx)
{
	return ux_request_check(ctx) == UX_OK;
}

struct ux_work ux_request_work(struct ux_request *req)
{
	return (struct ux_work){
		.budget.left = UX_REQUEST_WORK_MAX, .go_on = request_goes_on, .ctx = req};
}

enum ux_code ux_request_work_code(const struct ux_work *work, struct ux_error *err)
{
	if (work->stopped)
		return UX_EUNAVAILABLE;
	return ux_error_set(
		err, UX_ELIMIT,
		"these addresses take too much work for one request; request fewer addresses");
}

enum ux_code ux_request_work_charge(struct ux_work *work, uint64_t n, struct ux_error *err)
{
	return ux_work_charge(work, n) ? UX_OK : ux_request_work_code(work, err);
}
