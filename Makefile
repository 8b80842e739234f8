# SPDX-License-Identifier: Apache-2.0
# The only makefile: everything is built below $(B), objects in $(B)/obj mirror the sources.
# Layers become archives, linked lowest last: util, core (with spec, cluster, life, view and port), store | kube | rpc | http, shell.
# `make help` lists the targets. V=1 shows commands, CI=1 makes warnings errors.

B ?= build
V ?= 0
ifeq ($(origin CC),default)
CC := gcc
endif
PROTOC_C ?= protoc-c
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= $(PREFIX)/etc
VERSION := $(shell cat VERSION)

DEBIAN_PACKAGES := build-essential pkg-config protobuf-c-compiler libprotobuf-c-dev libzmq3-dev \
	liblmdb-dev libcurl4-openssl-dev libcjson-dev libyaml-dev libmicrohttpd-dev libsodium-dev \
	uthash-dev libcmocka-dev universal-ctags python3 openssl iproute2 clang clang-format clang-tidy \
	libclang-rt-14-dev cppcheck shellcheck codespell scdoc mandoc valgrind

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
# gcc only: texts for people are cut to their field on purpose, by snprintf
WARN += $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
OPT ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
PKGS := libzmq libprotobuf-c lmdb libcurl libcjson yaml-0.1 libmicrohttpd libsodium
# LIBS is asked for at the first link, when `make deps all` has installed what it names
LIBS = $(eval LIBS := $$(shell pkg-config --libs $(PKGS)))$(LIBS)
CPPFLAGS := -D_GNU_SOURCE -DQUEUED_VERSION='"$(VERSION)"' -Iqueued -Iinclude -Iclient/lib -I$(B)/proto
ALL_CFLAGS = -std=c11 $(OPT) -fPIC -fno-common $(WARN) $(if $(CI),-Werror) $(SANFLAGS) \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null) $(CFLAGS)
LINK = $(CC) $(SANFLAGS) $(LDFLAGS) -o $@
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@echo "  $(1)")
ifneq ($(findstring NDEBUG,$(CFLAGS) $(CPPFLAGS) $(OPT)),)
$(error NDEBUG is never set: asserts belong to the product)
endif
MORE = $(MAKE) --no-print-directory
O := $(B)/obj
objs = $(patsubst %.c,$(O)/%.o,$(wildcard $(1)))
UTIL_OBJS := $(call objs,queued/util/*.c)
CORE_OBJS := $(call objs,queued/spec/*.c queued/cluster/*.c queued/core/*.c queued/life/*.c queued/view/*.c queued/port/*.c)
PROTO_OBJS := $(patsubst proto/%.proto,$(O)/proto/%.pb-c.o,$(wildcard proto/*.proto))
SHELL_OBJS := $(filter-out $(O)/queued/main.o,$(call objs,queued/*.c))
CLIENT_OBJS := $(call objs,client/lib/*.c)

ARCHIVES := $(B)/libshell.a $(B)/librpc.a $(B)/libkube.a $(B)/libstore.a $(B)/libcore.a \
	$(B)/libproto.a $(B)/libutil.a
UNIT_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
PROP_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/prop/prop_*.c))
BENCH_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
INTEGRATION_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/integration/test_*.c))
INTEGRATION_SCRIPTS := $(wildcard tests/integration/test_*.py tests/integration/test_*.sh)

all: $(B)/queued $(B)/queuectl $(B)/queuesim $(B)/libqueued.a $(B)/libqueued.so.0 ## daemon, command line, simulator, library

$(O)/%.o: %.c | $(B)/proto.stamp
	@mkdir -p $(@D)
	$(call say,CC $<)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
# Generated code is not ours to keep free of warnings.
$(O)/proto/%.pb-c.o: $(B)/proto.stamp
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -w -c $(B)/proto/$*.pb-c.c -o $@

$(B)/proto.stamp: $(wildcard proto/*.proto)
	@mkdir -p $(B)/proto
	$(Q)$(PROTOC_C) --proto_path=proto --c_out=$(B)/proto $(notdir $^)
	@touch $@
$(patsubst proto/%.proto,$(B)/proto/%.pb-c.h,$(wildcard proto/*.proto)): $(B)/proto.stamp ;

$(B)/libutil.a: $(UTIL_OBJS)
$(B)/libcore.a: $(CORE_OBJS)
$(B)/libproto.a: $(PROTO_OBJS)
$(B)/libstore.a: $(call objs,queued/store/*.c)
$(B)/libkube.a: $(call objs,queued/kube/*.c)
$(B)/librpc.a: $(call objs,queued/rpc/*.c)
$(B)/libshell.a: $(SHELL_OBJS)
$(B)/libclient.a: $(CLIENT_OBJS)
$(B)/libfake.a: $(call objs,tests/fake/*.c)
$(B)/lib%.a:
	@mkdir -p $(@D) && rm -f $@
	$(Q)ar rcs $@ $^

$(B)/queued: $(O)/queued/main.o $(ARCHIVES)
	$(call say,LINK $@)
	$(Q)$(LINK) $^ $(LIBS)

$(B)/queuectl: $(call objs,client/cli/*.c) $(B)/libclient.a $(B)/libproto.a $(B)/libshell.a $(B)/libcore.a $(B)/libutil.a
	$(call say,LINK $@)
	$(Q)$(LINK) $^ $(LIBS)

$(B)/queuesim: $(call objs,client/sim/*.c) $(B)/libshell.a $(B)/libcore.a $(B)/libutil.a
	$(Q)$(LINK) $^ $(shell pkg-config --libs yaml-0.1) -lm

# The installed library: client code with what it needs of util and the wire; only queued_* is visible.
LIBQUEUED_OBJS := $(CLIENT_OBJS) $(UTIL_OBJS) $(O)/proto/queue.pb-c.o
$(B)/libqueued.a: $(LIBQUEUED_OBJS)
$(B)/libqueued.so.0: $(LIBQUEUED_OBJS) client/lib/libqueued.map
	$(Q)$(LINK) -shared -Wl,-soname,libqueued.so.0 -Wl,--version-script=client/lib/libqueued.map \
		$(LIBQUEUED_OBJS) $(shell pkg-config --libs libzmq libprotobuf-c yaml-0.1 libsodium)

TEST_ARCHIVES := $(B)/libfake.a $(B)/libclient.a $(ARCHIVES)
TEST_BINS := $(UNIT_BINS) $(PROP_BINS) $(BENCH_BINS) $(INTEGRATION_BINS)
.SECONDARY: $(patsubst $(B)/%,$(O)/%.o,$(TEST_BINS))
$(TEST_BINS): $(B)/%: $(O)/%.o $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(LINK) $< $(TEST_ARCHIVES) $(LIBS) -lcmocka

SIM_ARCHIVES := $(B)/libfake.a $(filter-out $(B)/librpc.a $(B)/libkube.a,$(ARCHIVES))
$(B)/tests/sim: $(call objs,tests/sim/*.c) $(SIM_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS)
# The same with another hash function (and no sanitizer): nothing may depend on the order of a hash table.
ALTHASH := $(B)/althash/tests/sim
althash:
	@+$(MORE) B=$(B)/althash SAN= CFLAGS='$(CFLAGS) -DHASH_FUNCTION=HASH_FNV -w' $(ALTHASH)
$(B)/tests/standin: $(call objs,tests/fake/standin/*.c)
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(shell pkg-config --libs libmicrohttpd libcjson)

.PHONY: all althash standin check test check-unit check-integration check-sim sim sim-many purity tidy
standin: $(B)/tests/standin ## the stand-in API server
check test: all check-unit check-sim purity tidy check-integration ## every test that needs Debian packages only
	@tests/cases.py $(B)/ran-unit $(B)/ran-integration
check-unit: $(UNIT_BINS) $(PROP_BINS) ## unit and property tests
	@RAN=$(B)/ran-unit tests/run.sh $^
check-integration: all standin $(INTEGRATION_BINS) $(B)/tests/bench/fixed_case ## the real daemon against the stand-in API server
	@B=$(abspath $(B)) STANDIN=$(abspath $(B)/tests/standin) SAN=$(SAN) RAN=$(B)/ran-integration tests/run.sh $(INTEGRATION_BINS) $(INTEGRATION_SCRIPTS)
SIM_RUN = tests/sim/run.py $(if $(SAN),--pairs 2) --sim $(B)/tests/sim --other $(ALTHASH) --replay tests/sim/seeds.txt
check-sim: $(B)/tests/sim althash
	@$(SIM_RUN) --seeds 60 --turns 300
sim-many: $(B)/tests/sim althash ## SEEDS=2000 simulations from FIRST=1, with a table of what they met
	@$(SIM_RUN) --first $(or $(FIRST),1) --seeds $(or $(SEEDS),2000) --turns $(or $(TURNS),500) --least 100
sim: $(B)/tests/sim ## one simulation: SEED=n TURNS=n
	@$< --seed $(or $(SEED),1) --turns $(or $(TURNS),500) --table
purity: $(CORE_OBJS) $(UTIL_OBJS) ## what the core may call
	@SAN=$(SAN) COVERAGE=$(findstring coverage,$(OPT)) tests/purity.sh $(O)
tidy: ## sizes, layers, names, the walk of docs/architecture.md
	@tests/tidy.sh

.PHONY: asan ubsan tsan valgrind coverage fuzz bench controlplane check-e2e chaos demo mutant
asan: ## the tests with address, undefined and leak sanitizers
	@+$(MORE) B=build-asan SAN=address,undefined OPT='-O1 -g' check-unit check-sim check-integration
ubsan: ## the tests with the undefined sanitizer alone
	@+$(MORE) B=build-ubsan SAN=undefined check-unit check-sim check-integration
tsan: ## unit tests with the thread sanitizer
	@+$(MORE) B=build-tsan SAN=thread check-unit
valgrind: $(UNIT_BINS) $(PROP_BINS) ## unit tests under valgrind
	@WRAPPER="valgrind -q --error-exitcode=9 --leak-check=full" tests/run.sh $^
coverage: ## lines that the tests reach; fails below MIN (80) percent (needs gcovr)
	@+$(MORE) B=build-coverage OPT='-O0 -g --coverage' LDFLAGS=--coverage check-unit check-sim check-integration
	gcovr -r . --exclude tests --exclude build --fail-under-line $(or $(MIN),80) build-coverage/obj

$(B)/tests/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -o $@ $< $(TEST_ARCHIVES) $(LIBS)
fuzz: ## libFuzzer: T=target SECS=seconds, seeds in tests/fuzz/corpus/T (needs clang)
	@+$(MORE) B=build-fuzz CC=clang SAN=fuzzer-no-link,address,undefined build-fuzz/tests/fuzz_$(or $(T),wire)
	@mkdir -p build-fuzz/corpus/$(or $(T),wire)
	build-fuzz/tests/fuzz_$(or $(T),wire) -max_total_time=$(or $(SECS),60) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=build-fuzz/$(or $(T),wire)- build-fuzz/corpus/$(or $(T),wire) tests/fuzz/corpus/$(or $(T),wire)
bench: all standin $(BENCH_BINS) ## the benchmarks, as tables (bench_bind is run by hand)
	@rc=0; for b in $(filter %/bench_%,$^); do $$b || rc=1; done; exit $$rc

controlplane: ## real kube-apiserver, etcd and kwok, built once into a cache (needs Go)
	@tests/e2e/controlplane/build.sh
check-e2e: all ## cases on a real API server as the minimal user; without Go they are named and skipped
	@B=$(abspath $(B)) tests/e2e/suite --ran $(B)/ran-suite && tests/cases.py $(B)/ran-suite
chaos: all controlplane ; @B=$(abspath $(B)) tests/e2e/chaos ## everything fails at random, MINUTES=20, SEED=1
demo: all standin ; @B=$(abspath $(B)) tests/e2e/demo ## daemon, API server, 16 nodes, five jobs; DEMO_KEEP=1 stays
mutant: ## a broken daemon that the kill test must catch: M=name of a tests/e2e/mutants/*.patch
	@rm -rf build-mutant-$(M) && mkdir -p build-mutant-$(M)/tree/build
	@cp -pR Makefile VERSION queued client include proto build-mutant-$(M)/tree/
	@! [ -e $(B)/obj ] || cp -pR $(B)/obj $(B)/proto $(B)/proto.stamp build-mutant-$(M)/tree/build/
	@patch -s -d build-mutant-$(M)/tree -p1 < tests/e2e/mutants/$(M).patch
	@+$(MORE) -C build-mutant-$(M)/tree B=build build/queued
	@cp build-mutant-$(M)/tree/build/queued build-mutant-$(M)/queued

C_FILES = $(shell find queued client include tests -name '*.[ch]')
SH_FILES = .ci/run $(shell find tests deploy -name '*.sh')
.PHONY: format format-check lint clang-tidy cppcheck shellcheck codespell man docs man-lint
format: ## clang-format in place
	@clang-format -i $(C_FILES)
format-check: ## clang-format would change nothing
	@clang-format --dry-run --Werror $(C_FILES)
lint: clang-tidy cppcheck shellcheck codespell man-lint tidy purity ## every static check
clang-tidy: $(B)/proto.stamp
	@printf '%s\n' $(shell find queued client -name '*.c') | xargs -P 2 -n 8 sh -c 'clang-tidy --quiet "$$@" -- \
		$(subst ",\",$(subst ',,$(CPPFLAGS))) -std=c11' clang-tidy 2>&1 | { ! grep -E 'warning:|error:'; }
# uninitvar and autoVariables: it does not see through the loops of uthash, nor that a call ends before its caller
cppcheck:
	@cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability -j 2 \
		--suppress=missingIncludeSystem --suppress=autoVariables --suppress=uninitvar -D_GNU_SOURCE -DQUEUED_VERSION='""' -Iqueued -Iinclude -Iclient/lib queued client
shellcheck:
	@shellcheck $(SH_FILES)
codespell:
	@codespell --quiet-level 3 -L nd,statics,keep-alives,fo,stroe,wieght,ttests --skip '*.sum,*.mod,./tests/data,*/data/*,*/corpus/*,*/golden/*' *.md VERSION queued client include \
		proto docs deploy .ci tests
compile_commands.json: ## for editors (needs bear)
	bear -- $(MORE) B=build-bear all

MAN_PAGES := $(patsubst docs/man/%.scd,$(B)/man/%,$(wildcard docs/man/*.scd))
.PHONY: install uninstall dist deps clean distclean help
man docs: $(MAN_PAGES) ## the manual pages
$(B)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	$(Q)scdoc < $< > $@
# scdoc writes paragraph macros that mandoc skips; everything else counts
man-lint: $(MAN_PAGES)
	@mandoc -T lint -W warning $^ | { ! grep -v 'skipping paragraph macro'; }

INSTALLED := $(BINDIR)/queued $(BINDIR)/queuectl $(BINDIR)/queuesim $(LIBDIR)/libqueued.a $(LIBDIR)/libqueued.so.0 \
	$(LIBDIR)/libqueued.so $(LIBDIR)/pkgconfig/libqueued.pc \
	$(patsubst include/%,$(INCLUDEDIR)/%,$(wildcard include/*.h)) \
	$(foreach m,$(notdir $(MAN_PAGES)),$(MANDIR)/man$(lastword $(subst ., ,$(m)))/$(m))
install: all man ## into $(DESTDIR)$(PREFIX)
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) $(SYSCONFDIR)/queued)
	install $(B)/queued $(B)/queuectl $(B)/queuesim $(DESTDIR)$(BINDIR)
	install -m 644 $(B)/libqueued.a $(DESTDIR)$(LIBDIR)
	install $(B)/libqueued.so.0 $(DESTDIR)$(LIBDIR)
	ln -sf libqueued.so.0 $(DESTDIR)$(LIBDIR)/libqueued.so
	install -m 644 $(wildcard include/*.h) $(DESTDIR)$(INCLUDEDIR)
	for m in $(MAN_PAGES); do install -D -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/} || exit 1; done
	printf '%s\n' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' 'Name: libqueued' 'Version: $(VERSION)' \
		'Description: client library of the queued batch queue' 'Requires.private: libzmq libprotobuf-c yaml-0.1 libsodium' \
		'Libs: -L$${libdir} -lqueued' 'Cflags: -I$${includedir}' > $(DESTDIR)$(LIBDIR)/pkgconfig/libqueued.pc
uninstall: ## what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
dist: ## source archive of the last commit
	@mkdir -p $(B) && git archive --prefix=queued-$(VERSION)/ -o $(B)/queued-$(VERSION).tar.gz HEAD
	@echo $(B)/queued-$(VERSION).tar.gz
deps: ## install the Debian packages that are missing (as root)
	@missing=; for p in $(DEBIAN_PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' \
		|| missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then echo "deps: all packages are there"; \
	elif [ "$$(id -u)" -ne 0 ]; then echo "deps: not root; run: sudo apt-get install$$missing" >&2; exit 1; \
	else apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; fi
clean: ; rm -rf $(B) ## remove $(B)
distclean: ## remove all that was made
	rm -rf build build-* compile_commands.json tags
help: ## this list
	@sed -n 's/^\([a-z][a-z_ .-]*\):[^#]*## /\1@/p' Makefile | awk -F @ '{ printf "%-22s %s\n", $$1, $$2 }'

-include $(shell find $(O) -name '*.d' 2>/dev/null)
