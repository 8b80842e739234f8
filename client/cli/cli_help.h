/* SPDX-License-Identifier: Apache-2.0 */
/* cli_help.h - help texts of the subcommands, examples first. The manual pages say more. */
#ifndef QUEUED_CLI_CLI_HELP_H
#define QUEUED_CLI_CLI_HELP_H

#define HELP_OVERVIEW                                                                              \
    "queuectl - submit and look at gangs of GPU pods\n\n"                                          \
    "  queuectl submit -f job.yaml            store a job\n"                                       \
    "  queuectl list                          my jobs\n"                                           \
    "  queuectl why resnet-ddp-7f3k           why it waits\n\n"                                    \
    "Commands (queuectl help COMMAND says more):\n"

#define HELP_COMMON                                                                                \
    "\nOptions of every command:\n"                                                                \
    "  --endpoint E   daemon, ipc:///path or tcp://HOST:PORT ($QUEUED_ENDPOINT)\n"                 \
    "  --timeout T    longest wait for an answer, like 10s\n"                                      \
    "  --color WHEN   auto, always, never (also NO_COLOR)\n"                                       \
    "  -o FORMAT      form of the output ($QUEUED_OUTPUT); where it may be json also a part of\n"  \
    "                 it: jsonpath='{.items[*].metadata.name}', "                                  \
    "custom-columns=JOB:.metadata.name\n"                                                          \
    "  -h, --help     help\n"                                                                      \
    "Exit codes: 0 good, 1 failed, 2 usage or invalid file, 3 not found, 4 not allowed, 5 "        \
    "conflict,\n"                                                                                  \
    "6 no answer, 7 refused; see queuectl(1)\n"

#define HELP_SUBMIT                                                                                \
    "  queuectl submit -f job.yaml\n"                                                              \
    "  queuectl submit -f - --set spec.maxRuntime=2h < job.yaml\n"                                 \
    "  queuectl submit -f jobs/ --tenant vision\n"                                                 \
    "  queuectl submit -f job.yaml --wait && echo good\n"                                          \
    "  queuectl submit -f short.yaml --print-spec\n\n"                                             \
    "queuectl submit -f FILE|DIR|- ...   store jobs; they are durable when this returns\n\n"       \
    "  -f FILE              YAML or JSON, several documents; a directory; - is stdin. "            \
    "Repeatable\n"                                                                                 \
    "  --set PATH=VALUE     change a field of the file. Repeatable\n"                              \
    "  --tenant T           submit to this tenant ($QUEUED_TENANT where the file names none)\n"    \
    "  --key K              submit key: the same key and spec give the same job\n"                 \
    "  --dry-run[=server]   check in the daemon, store nothing; =client: check the file only\n"    \
    "  --hold               store the jobs as Held; 'queuectl release' lets them wait\n"           \
    "  --require-feasible   refuse a job that no node could ever run\n"                            \
    "  --print-spec         print the canonical form and stop (-o json: as JSON)\n"                \
    "  --wait               wait for the end; exit with the job's code\n"                          \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_RUN                                                                                   \
    "  queuectl run -N 4 -g 8 --model H100 --image train:3 -t 24h -- torchrun train.py\n"          \
    "  queuectl run -g 1 --image ci:1 --rm -- pytest -q\n\n"                                       \
    "queuectl run [OPTIONS] -- PROGRAM [ARGUMENT...]   submit it as a job, show its logs, exit "   \
    "with its\ncode; Ctrl-C leaves the job to itself\n\n"                                          \
    "  -N, --nodes N        pods, each on its own GPUs (default 1)\n"                              \
    "  -g, --gpus N         GPUs of each\n"                                                        \
    "  --model M            GPU model\n"                                                           \
    "  --image I            of the container\n"                                                    \
    "  -e, --env K=V        variable. Repeatable\n"                                                \
    "  --mount CLAIM:/PATH[:ro]   volume. Repeatable\n"                                            \
    "  --cpu N, --memory B, --shm B   of each pod\n"                                               \
    "  -t, --time T         longest run, like 24h\n"                                               \
    "  --topology T         required:LEVEL, preferred:LEVEL, both with a blank between, or any\n"  \
    "  --workdir D          working directory\n"                                                   \
    "  --priority-class C, --tenant T, --name N, --key K   as in a job file\n"                     \
    "  --rm                 cancel the job when this is interrupted\n"                             \
    "  --no-logs            only states, on stderr\n"                                              \
    "  --print-spec         print the job file and stop\n"                                         \
    "  --timeout T          exit 124 after this time; the job goes on\n"

#define HELP_LIST                                                                                  \
    "  queuectl list\n"                                                                            \
    "  queuectl list -A --state pending,running --sort -age\n"                                     \
    "  queuectl list --tenant vision -l project=llm -o wide\n"                                     \
    "  while queuectl list --state active -q; do sleep 5; done\n\n"                                \
    "queuectl list   jobs, mine by default, oldest first\n\n"                                      \
    "  -A, --all-tenants    of every tenant that you may see\n"                                    \
    "  --tenant T           of a tenant and those below it\n"                                      \
    "  --user U             of a user\n"                                                           \
    "  --state S,...        pending, running ...; active: not finished\n"                          \
    "  -l KEY=VALUE,...     with these labels\n"                                                   \
    "  --sort KEY           age, name, state, gpus, priority, tenant; -KEY: the other way round\n" \
    "  --since T            submitted in the last T, like 1d, or after a time\n"                   \
    "  --array JOB          the indices of a job array that have begun\n"                          \
    "  --limit N            at most N jobs\n"                                                      \
    "  --continue TOKEN     go on after a list with --limit\n"                                     \
    "  -q, --quiet          print nothing; exit 1 when no job matches\n"                           \
    "  --columns C,...      only these columns of the wide form, like job,state,gpus\n"            \
    "  -w, --watch          then a row for each change; a terminal shows the list anew\n"          \
    "  --no-headers         without the line of titles\n"                                          \
    "  -o FORMAT            table, wide, json, jsonl, yaml, name, csv\n"

#define HELP_DESCRIBE                                                                              \
    "  queuectl describe resnet-ddp-7f3k\n"                                                        \
    "  queuectl describe resnet-ddp-7f3k --spec > job.yaml\n\n"                                    \
    "queuectl describe JOB   JOB: name, id or unique prefix\n\n"                                   \
    "  --spec               only the spec, as a job file\n"                                        \
    "  --events             its history, too, as far as it is kept\n"                              \
    "  -o FORMAT            table, json, yaml, name\n"

#define HELP_WHY                                                                                   \
    "  queuectl why resnet-ddp-7f3k\n"                                                             \
    "  queuectl why resnet-ddp-7f3k -o json\n\n"                                                   \
    "queuectl why JOB   the reason, its numbers, the next step; queued-reasons(7)\n\n"             \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_ESTIMATE                                                                              \
    "  queuectl estimate -f train.yaml\n"                                                          \
    "  queuectl estimate -f train.yaml --without gpu-017 --without gpu-018\n\n"                    \
    "queuectl estimate -f FILE   what why would say if the job were submitted now, and its\n"      \
    "                     predicted start; nothing is stored\n\n"                                  \
    "  -f, --file FILE      the job file; -: standard input\n"                                     \
    "  --tenant T           instead of the tenant in the file\n"                                   \
    "  --what-if nodes+N    as if there were N more nodes, healthy and empty\n"                    \
    "  --like NODE          they are copies of this node (of one that the job may use)\n"          \
    "  --in LEVEL=NAME      they are in this domain, which may be new (where the copied one is)\n" \
    "  --without NODE       as if this node took nothing new\n"                                    \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_CANCEL                                                                                \
    "  queuectl cancel resnet-ddp-7f3k --reason \"wrong data\"\n"                                  \
    "  queuectl cancel -l sweep=lr -y\n"                                                           \
    "  queuectl cancel --all --tenant vision\n"                                                    \
    "  queuectl cancel resnet-ddp-7f3k --force\n\n"                                                \
    "queuectl cancel JOB...   stop jobs; one that has ended stays as it is\n\n"                    \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may cancel\n"                            \
    "  --reason TEXT        kept with the job\n"                                                   \
    "  --grace T            kill what still runs after T, if checkpoint.grace is longer\n"         \
    "  --force              the same after one second, also of a job that is being stopped\n"      \
    "  -y, --yes            do not ask\n"                                                          \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_HOLD                                                                                  \
    "  queuectl hold resnet-ddp-7f3k --reason \"fix data path\"\n\n"                               \
    "queuectl hold JOB...   keep waiting jobs from starting; their age is kept\n\n"                \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may change\n"                            \
    "  -y, --yes            do not ask\n"                                                          \
    "  --reason TEXT        shown as the reason why they wait\n"                                   \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_RELEASE                                                                               \
    "  queuectl release resnet-ddp-7f3k\n\n"                                                       \
    "queuectl release JOB...   let held jobs wait for nodes again, with the age they have\n\n"     \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may change\n"                            \
    "  -y, --yes            do not ask\n"                                                          \
    "  --reason TEXT        kept with the event\n"                                                 \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_REQUEUE                                                                               \
    "  queuectl requeue resnet-ddp-7f3k --reason \"node gpu-017 looks slow\"\n\n"                  \
    "queuectl requeue JOB...   stop their pods and let them wait again, with the age they "        \
    "have\n\n"                                                                                     \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may change\n"                            \
    "  -y, --yes            do not ask\n"                                                          \
    "  --reason TEXT        kept with the attempt that ends\n"                                     \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_PREEMPT                                                                               \
    "  queuectl preempt llm-70b-q2vd --reason \"room for the release\"\n\n"                        \
    "queuectl preempt JOB...   tell running jobs to save, stop them after their "                  \
    "checkpoint.grace, "                                                                           \
    "and let\nthem wait again, with the age they have\n\n"                                         \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may change\n"                            \
    "  -y, --yes            do not ask\n"                                                          \
    "  --reason TEXT        kept with the attempt that ends\n"                                     \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_CHECKPOINTED                                                                          \
    "  queuectl checkpointed llm-70b-q2vd\n\n"                                                     \
    "queuectl checkpointed JOB...   say that jobs have just saved what they did: preemption "      \
    "counts\ntheir loss from now on, and one that was told to make room is stopped at once\n\n"    \
    "  -l KEY=VALUE,...     my jobs with these labels\n"                                           \
    "  --all --tenant T     all jobs of a tenant that you may change\n"                            \
    "  -y, --yes            do not ask\n"                                                          \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_POD_RUN                                                                               \
    "  queuectl pod-run -- torchrun train.py\n\n"                                                  \
    "queuectl pod-run [--] PROGRAM [ARGUMENT...]   in the command of a pod: run a program and "    \
    "send\nit the job's checkpoint.signal when a checkpoint is asked for; exits as it does\n"

#define HELP_PRIORITIZE                                                                            \
    "  queuectl prioritize resnet-ddp-7f3k low\n"                                                  \
    "  queuectl prioritize a-1x2y b-3z4w normal --reason \"release first\"\n\n"                    \
    "queuectl prioritize JOB... CLASS   another priority class for waiting jobs; age is kept\n\n"  \
    "  --reason TEXT        kept with the event\n"                                                 \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_UPDATE                                                                                \
    "  queuectl update resnet-ddp-7f3k --max-runtime 4h\n"                                         \
    "  queuectl update resnet-ddp-7f3k --topology \"required:block preferred:rack\"\n"             \
    "  queuectl update resnet-ddp-7f3k --tenant research --reason \"wrong budget\"\n\n"            \
    "queuectl update JOB...   change what waiting or held jobs ask for; their age is kept\n\n"     \
    "  --priority-class C   another priority class\n"                                              \
    "  --tenant T           move to another tenant that you may submit to\n"                       \
    "  --max-runtime T      longest run, like 2h or 1d12h\n"                                       \
    "  --topology T         required:LEVEL, preferred:LEVEL, both with a blank between, or any\n"  \
    "  --reason TEXT        kept with the event\n"                                                 \
    "  -o FORMAT            table, name, json, yaml\n"

#define HELP_WAIT                                                                                  \
    "  queuectl wait resnet-ddp-7f3k; echo $?\n"                                                   \
    "  queuectl wait a-1 b-2 --any --for running --timeout 10m\n\n"                                \
    "queuectl wait JOB...   block until jobs are where they should be\n\n"                         \
    "  --for WHAT           finished (default), running, scheduled\n"                              \
    "  --any, --all         one of them, or all (default)\n"                                       \
    "  --timeout T          exit 124 after this time; the jobs go on\n\n"                          \
    "One job: exits with its own code; 120 cancelled, 121 preempted, 122 lost, 123 timed out,\n"   \
    "1 failed without a code. Several: 0 or 1. 125: waiting itself failed\n"

#define HELP_WATCH                                                                                 \
    "  queuectl watch\n"                                                                           \
    "  queuectl watch resnet-ddp-7f3k --exit-when-done\n"                                          \
    "  queuectl watch -A --from 1200 -o jsonl\n\n"                                                 \
    "queuectl watch [JOB]   one line an event, new ones unless --from is given\n\n"                \
    "  -A, --all-tenants    of every tenant that you may see\n"                                    \
    "  --tenant T           of a tenant and those below it\n"                                      \
    "  --from N             events after number N; 0: all that are kept\n"                         \
    "  --exit-when-done     end when the job has ended, with its code\n"                           \
    "  -o FORMAT            table, jsonl\n"

#define HELP_LOGS                                                                                  \
    "  queuectl logs resnet-ddp-7f3k\n"                                                            \
    "  queuectl logs resnet-ddp-7f3k -f --rank 0-3 --tail 20\n\n"                                  \
    "queuectl logs JOB   what the pods of its last attempt have written, by kubectl and your own " \
    "rights\n\n"                                                                                   \
    "  -f, --follow         go on until they end; lines of all pods as they come\n"                \
    "  --role R             only pods of this role\n"                                              \
    "  --rank N,N-N         only pods of these ranks\n"                                            \
    "  -c, --container C    not the main one\n"                                                    \
    "  --tail N             only the last N lines of each\n"                                       \
    "  --since T            only what is younger, like 10m\n"                                      \
    "  --prefix             [worker-2] before each line, also where it is one pod\n"               \
    "  --timestamps         the time before each line\n"                                           \
    "  --download DIR       a file a pod\n"

#define HELP_ONE_POD                                                                               \
    "  --rank N             the pod of this rank (default: the first one)\n"                       \
    "  --role R             the first pod of this role\n"                                          \
    "  -c, --container C    not the main one\n"

#define HELP_EXEC                                                                                  \
    "  queuectl exec resnet-ddp-7f3k --rank 3 -- nvidia-smi\n\n"                                   \
    "queuectl exec JOB -- PROGRAM [ARGUMENT...]   in a pod, by kubectl exec\n\n" HELP_ONE_POD

#define HELP_SHELL                                                                                 \
    "  queuectl shell resnet-ddp-7f3k\n\n"                                                         \
    "queuectl shell JOB   /bin/sh in a pod, by kubectl exec\n\n" HELP_ONE_POD

#define HELP_ATTACH                                                                                \
    "  queuectl attach resnet-ddp-7f3k\n\n"                                                        \
    "queuectl attach JOB   to the program of a pod, by kubectl attach\n\n" HELP_ONE_POD

#define HELP_PORT_FORWARD                                                                          \
    "  queuectl port-forward resnet-ddp-7f3k 6006\n\n"                                             \
    "queuectl port-forward JOB [LOCAL:]PORT...   by kubectl port-forward\n\n" HELP_ONE_POD

#define HELP_TOP                                                                                   \
    "  queuectl top\n"                                                                             \
    "  queuectl top --tenant vision --interval 10s\n\n"                                            \
    "queuectl top   GPUs and tenants as bars, jobs with nodes and waiting ones; drawn anew until " \
    "Ctrl-C\non a terminal, once elsewhere\n\n"                                                    \
    "  --tenant T           only of a tenant and those below it\n"                                 \
    "  --interval T         between two looks (default 2s)\n"

#define HELP_NODES                                                                                 \
    "  queuectl nodes\n"                                                                           \
    "  queuectl nodes -o json\n\n"                                                                 \
    "queuectl nodes   nodes, their GPUs and who uses them\n\n"                                     \
    "  --unhealthy          only nodes that cannot be used\n"                                      \
    "  --pool NAME          only nodes of this pool\n"                                             \
    "  --no-headers         without the line of titles\n"                                          \
    "  -o FORMAT            table, wide, json, yaml, name, csv\n"

#define HELP_FREE                                                                                  \
    "  queuectl free\n"                                                                            \
    "  queuectl free --by rack -o json\n\n"                                                        \
    "queuectl free   by level and model: free GPUs, and the most pods of 1, 2, 4 and 8 GPUs that " \
    "one\n"                                                                                        \
    "domain of the level has room for. Quotas, taints and reservations are not looked at\n\n"      \
    "  --by LEVEL           only this level; cluster and host are levels, too\n"                   \
    "  --no-headers         without the line of titles\n"                                          \
    "  -o FORMAT            table, json, yaml, csv\n"

#define HELP_DRAIN                                                                                 \
    "  queuectl drain gpu-017 --reason \"disk swap\"\n"                                            \
    "  queuectl drain gpu-017 gpu-018 --requeue\n\n"                                               \
    "queuectl drain NODE...   place nothing new there until undrain; for administrators\n\n"       \
    "  --requeue            send the jobs on it back to the queue; running ones save first\n"      \
    "  --reason TEXT        shown with the node\n"

#define HELP_UNDRAIN                                                                               \
    "  queuectl undrain gpu-017\n\n"                                                               \
    "queuectl undrain NODE...   nodes take jobs again; for administrators\n"

#define HELP_TOPOLOGY                                                                              \
    "  queuectl topology\n"                                                                        \
    "  nvidia-smi topo -m > host.txt; queuectl topology --matrix host.txt\n\n"                     \
    "queuectl topology   free GPUs and places for 1, 2, 4 and 8 of them, by level\n\n"             \
    "  --matrix FILE        how the GPUs of one host are linked, from the text of\n"               \
    "                       nvidia-smi topo -m (- is standard input); asks no daemon\n"            \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_QUOTA                                                                                 \
    "  queuectl quota\n"                                                                           \
    "  queuectl quota vision\n\n"                                                                  \
    "queuectl quota [TENANT]   guaranteed, used and borrowed GPUs\n\n"                             \
    "  --no-headers         without the line of titles\n"                                          \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_EXPLAIN                                                                               \
    "  queuectl explain NeedsWholeNodes\n\n"                                                       \
    "queuectl explain [CODE]   what a reason means, its numbers, the next step; without a code "   \
    "the\n"                                                                                        \
    "                          list of all; no daemon is asked\n\n"                                \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_RESERVE                                                                               \
    "  queuectl reserve --nodes gpu-017,gpu-018 --from 2026-12-01T02:00:00Z --to +4h\n"            \
    "  queuectl reserve --domain block-1/rack-2 --tenant vision --from +2h --to +8h\n"             \
    "  queuectl reserve list\n"                                                                    \
    "  queuectl reserve cancel maintenance-k3x9\n\n"                                               \
    "queuectl reserve   keep nodes for a tenant, or for nobody (maintenance); for\n"               \
    "                   administrators. Jobs that end before it begins may use them until "        \
    "then\n\n"                                                                                     \
    "  --nodes NAME,...     these nodes\n"                                                         \
    "  --domain PATH        the nodes of a domain, as 'queuectl topology' writes it\n"             \
    "  -l KEY=VALUE         the nodes with these labels\n"                                         \
    "  --from TIME          2026-12-01T02:00:00Z, now (default), or +2h\n"                         \
    "  --to TIME            the same; +4h: four hours after the begin\n"                           \
    "  --tenant TENANT      whose jobs alone start there meanwhile; none: nobody's\n"              \
    "  --name NAME          instead of a made one\n"                                               \
    "  --reason TEXT        shown with the reservation\n"                                          \
    "  --dry-run            check it and name the jobs that would overlap\n"                       \
    "  -o FORMAT            of list: table, json, yaml\n"

#define HELP_DEFRAG                                                                                \
    "  queuectl defrag plan\n\n"                                                                   \
    "queuectl defrag plan   which running jobs would be moved next, for whom, at what cost;\n"     \
    "                       for administrators; nothing is moved by asking\n\n"                    \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_CONFIG                                                                                \
    "  queuectl config check queued.yaml\n"                                                        \
    "  queuectl config diff queued.yaml\n\n"                                                       \
    "queuectl config check FILE   is this file a good configuration of the daemon\n"               \
    "queuectl config diff FILE    what it would change of the daemon that runs; for\n"             \
    "                             administrators\n\n"                                              \
    "  -o FORMAT                  diff: table, json, yaml\n"

#define HELP_TENANT                                                                                \
    "  queuectl tenant get\n"                                                                      \
    "  queuectl tenant stop vision --reason \"moving the data\"\n"                                 \
    "  queuectl tenant resume vision\n\n"                                                          \
    "queuectl tenant get [TENANT]     state, jobs, weight and place in the order\n"                \
    "queuectl tenant stop TENANT...   no job of it and below starts; for its administrators\n"     \
    "queuectl tenant resume TENANT... jobs start again\n\n"                                        \
    "  --reason TEXT        of a stop; shown with the tenant and by why\n"                         \
    "  --no-headers         without the line of titles\n"                                          \
    "  -o FORMAT            of get: table, json, yaml\n"

#define HELP_COMPLETION                                                                            \
    "  queuectl completion bash > /etc/bash_completion.d/queuectl\n"                               \
    "  source <(queuectl completion bash)\n\n"                                                     \
    "queuectl completion bash   completes commands, options, jobs, nodes and tenants\n"

#define HELP_VERSION                                                                               \
    "  queuectl version\n\n"                                                                       \
    "queuectl version   of this program, and of the daemon when it answers\n\n"                    \
    "  --client             do not ask the daemon\n"                                               \
    "  -o FORMAT            table, json, yaml\n"

#define HELP_HELP "  queuectl help submit\n\nqueuectl help [COMMAND]\n"

#endif
