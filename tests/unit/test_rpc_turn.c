/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_turn.c - what one look at the socket takes, over a real ROUTER and real DEALERs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include <zmq.h>

#include "../fake/fake_rpc.h"
#include "util/mem.h"

/* Answers that are there now. */
static unsigned count_answers(void *const *dealers, unsigned n)
{
    unsigned answers = 0;
    char buf[256];

    (void)usleep(200000); /* the way over the socket */
    for (unsigned i = 0; i < n; i++)
        while (zmq_recv(dealers[i], buf, sizeof(buf), ZMQ_DONTWAIT) >= 0)
            answers++;
    return answers;
}

/* Send n messages of a size, as many on each of four connections. Returns how many are answered
 * after one look at the socket; *ret_all: after all looks. */
static unsigned answered_at_once(struct fake_rpc *f, unsigned n, size_t size, unsigned *ret_all)
{
    char *bytes = xcalloc(1, size); /* no request: refused at once */
    void *dealers[4];
    unsigned first;

    for (unsigned i = 0; i < ARRAY_LEN(dealers); i++)
        dealers[i] = fake_rpc_connect(f, f->ipc);
    for (unsigned i = 0; i < n; i++)
        (void)zmq_send(dealers[i % ARRAY_LEN(dealers)], bytes, size, 0); /* counted below */
    (void)usleep(200000);
    (void)rpc_server_read(f->server, f->clock.now);
    first = count_answers(dealers, ARRAY_LEN(dealers));
    fake_rpc_turn(f);
    *ret_all = first + count_answers(dealers, ARRAY_LEN(dealers));
    for (unsigned i = 0; i < ARRAY_LEN(dealers); i++)
        (void)zmq_close(dealers[i]);
    free(bytes);
    return first;
}

static void a_turn_takes_so_many_messages_and_bytes_and_the_rest_later(void **state)
{
    unsigned first, all;

    first = answered_at_once(*state, 600, 40, &all);
    assert_in_range(first, 1, RPC_READ_MAX);
    assert_int_equal(all, 600);
    first = answered_at_once(*state, 80, RPC_MESSAGE_MAX, &all);
    assert_in_range(first, 1, RPC_READ_BYTES_MAX / RPC_MESSAGE_MAX);
    assert_int_equal(all, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_turn_takes_so_many_messages_and_bytes_and_the_rest_later,
                                        fake_rpc_set_up, fake_rpc_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
