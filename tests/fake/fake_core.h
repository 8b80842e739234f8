/* SPDX-License-Identifier: Apache-2.0 */
/* fake_core.h - a state with a small site around it, driven event by event in tests.
 *
 * No store and no adapter: a test applies facts itself and looks at the state and at the effects
 * that were left since core_forget(). Tenant "t" exists; time stands until a test moves it.
 */
#ifndef QUEUED_FAKE_CORE_H
#define QUEUED_FAKE_CORE_H

#include "core/state.h"
#include "view/estimate.h"

#include "fake_site.h"

struct core {
    struct settings settings;
    struct state *state;
    struct effects fx;
    usec_t now;
    uint64_t n_requests;
    bool keeps_budgets; /* no budget is said to be gone with the service or a pod */
};

void core_init(struct core *c);
void core_fini(struct core *c);
/* For cmocka: a core that is up, with four nodes; at the end every invariant must hold. */
int core_set_up(void **state);
int core_tear_down(void **state);
/* The API server answers and the lists are complete. */
void core_up(struct core *c);
void core_node(struct core *c, struct node_fact *fact);
/* n nodes "n0".. of 8 H100, two a rack, two racks a block. */
void core_nodes(struct core *c, uint32_t n);
/* Admit and, if admitted, apply. true: it was admitted. */
bool core_apply(struct core *c, struct event *ev);
/* Submit (takes spec) under a new request id; the answer. */
struct answer core_submit(struct core *c, struct spec *spec);
/* The same with all of the event given but spec's digest, which is made from its content. */
struct answer core_ask(struct core *c, struct event *ev);
struct answer core_cancel(struct core *c, struct job_id id);
struct answer core_verb(struct core *c, struct job_id id, enum job_verb verb);
struct job *core_job(struct core *c, struct answer a);
/* Take decisions until there are none; how many. */
int core_cycle(struct core *c);
/* Let time pass and do what it brings. */
void core_pass(struct core *c, usec_t by);
/* Facts about all members, or one, of the present attempt. */
void core_see(struct core *c, const struct job *j, uint32_t member, enum pod_phase phase,
              int16_t exit_code);
void core_see_all(struct core *c, struct job_id id, enum pod_phase phase);
void core_gone(struct core *c, const struct job *j, uint32_t member);
void core_gone_all(struct core *c, struct job_id id);
void core_refuse(struct core *c, const struct job *j, uint32_t member, enum refusal_kind kind);
void core_service_gone(struct core *c, struct job_id id);
/* Said with a pod and with the service, too. */
void core_budget_gone(struct core *c, struct job_id id);
/* The effects of a kind left so far; the last of them (NULL none). */
unsigned core_count(const struct core *c, enum effect_kind kind);
const struct effect *core_last(const struct core *c, enum effect_kind kind);
void core_forget(struct core *c);
/* The job of a spec, placed in one decision, its pods seen Running. */
struct job *core_running(struct core *c, struct spec *spec);
/* When it will start, by a plan made now. */
struct estimate core_estimate(const struct core *c, const struct job *j);

#endif
