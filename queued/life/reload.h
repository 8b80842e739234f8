/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h - other settings while jobs wait and run.
 *
 * What is counted by tenant, pool and licence is counted anew from the jobs, so that the state is
 * as it would be after a start with these settings. Nobody is stopped: gangs run on where they are,
 * beyond a smaller limit too, and those of a tenant that is gone wait (UnknownTenant).
 */
#ifndef QUEUED_LIFE_RELOAD_H
#define QUEUED_LIFE_RELOAD_H

#include "core/state.h"

/* After the load: the settings of state_create() were read from a configuration with this digest;
 * another than the store knows is one generation more. */
void reload_started(struct state *s, uint64_t digest);
/* These settings are in force from now on; the old ones are not looked at any more. */
void reload_apply(struct state *s, const struct ev_config *ev, struct effects *fx);

#endif
