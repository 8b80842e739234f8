/* SPDX-License-Identifier: Apache-2.0 */
/* core_running.c - a job that runs, for tests of what comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake_core.h"

struct job *core_running(struct core *c, struct spec *spec)
{
    struct answer a = core_submit(c, spec);

    assert_int_equal(a.code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, a.job, POD_RUNNING);
    assert_int_equal(core_job(c, a)->state, JOB_RUNNING);
    return core_job(c, a);
}
