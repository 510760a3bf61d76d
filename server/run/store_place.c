/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the store's place in the settings. */
#include "serve.h"

struct ux_store_place ux_store_place_of(const struct ux_settings *s, const char *dir)
{
	return (struct ux_store_place){.dir = dir,
				       .index = s->index,
				       .replica = s->index_replica,
				       .node = s->node,
				       .blobs = s->blobs,
				       .s3_endpoint = s->s3_endpoint,
				       .s3_public_endpoint = s->s3_public_endpoint,
				       .s3_region = s->s3_region,
				       .s3_keys = s->s3_keys,
				       .s3_cafile = s->s3_cafile,
				       .s3_host_style = s->s3_style == UX_S3_STYLE_HOST,
				       .blob_parts = s->blob_parts,
				       .blob_cache = s->blob_cache};
}
