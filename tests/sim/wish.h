/* SPDX-License-Identifier: Apache-2.0 */
/* wish.h - the site of a simulation and the jobs that its users want, made from seeds.
 *
 * The same seed gives the same job, so a request can be repeated without keeping its spec.
 */
#ifndef QUEUED_SIM_WISH_H
#define QUEUED_SIM_WISH_H

#include "spec/settings.h"
#include "spec/spec.h"

/* Tenants, levels, models of the simulated site. site_fini() frees what it owns. */
void site_init(struct settings *s);
/* The same tenants with other rights (site_vary.c). */
void site_vary(struct settings *s, uint64_t seed);
/* Another configuration of the same site, made from all it ever had: tenants come, go and change
 * places; rights, weights, licences and pools are others. */
struct settings *site_change(const struct settings *all, uint64_t seed);
void site_free(struct settings *s);
void site_fini(struct settings *s);

/* A job; not yet checked, some are bad. submit_key NULL: none. is_staged: mostly a small gang of
 * several roles in order; often an array, held, or done once it is preempted. */
struct spec *wish_spec(uint64_t seed, bool is_staged, const char *submit_key);
/* A seed like this one, of a user who wants what can run and is in a hurry, or of any; and who
 * mostly asks for parts of nodes, which others want whole. */
uint64_t wish_mood(uint64_t seed, bool is_keen, bool is_crumbly);
/* The same job with MIG devices, or one that saves when it is asked; some stay what they were. */
void wish_widen(struct spec *s, uint64_t seed);
/* Its digest: not cryptographic, only equal for equal specs. */
void wish_digest(const struct spec *s, uint8_t ret[SPEC_DIGEST_BYTES]);

#endif
