# SPDX-License-Identifier: Apache-2.0
# The only makefile: everything is built below $(B), objects in $(B)/obj mirror the sources.
# Layers become archives, linked lowest last: util, core, port, store | kube | rpc | http, shell.
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
	uthash-dev libcmocka-dev universal-ctags python3 openssl clang clang-format clang-tidy \
	libclang-rt-14-dev cppcheck shellcheck codespell scdoc mandoc

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPT ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
PKGS := libzmq libprotobuf-c lmdb libcurl libcjson yaml-0.1 libmicrohttpd libsodium
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
CPPFLAGS := -D_GNU_SOURCE -DQUEUED_VERSION='"$(VERSION)"' -Iqueued -Iinclude -Iclient/lib -I$(B)/proto
ALL_CFLAGS = -std=c11 $(OPT) -fPIC -fno-common $(WARN) $(if $(CI),-Werror) $(SANFLAGS) \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null) $(CFLAGS)
LINK = $(CC) $(SANFLAGS) $(LDFLAGS) -o $@
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@echo "  $(1)")
ifneq ($(findstring NDEBUG,$(CFLAGS) $(CPPFLAGS) $(OPT)),)
$(error NDEBUG is never set: asserts belong to the product)
endif

O := $(B)/obj
objs = $(patsubst %.c,$(O)/%.o,$(wildcard $(1)))
UTIL_OBJS := $(call objs,queued/util/*.c)
CORE_OBJS := $(call objs,queued/core/*.c)
PROTO_OBJS := $(patsubst proto/%.proto,$(O)/proto/%.pb-c.o,$(wildcard proto/*.proto))
SHELL_OBJS := $(filter-out $(O)/queued/main.o,$(call objs,queued/*.c))
CLIENT_OBJS := $(call objs,client/lib/*.c)

ARCHIVES := $(B)/libshell.a $(B)/librpc.a $(B)/libkube.a $(B)/libstore.a $(B)/libcore.a \
	$(B)/libproto.a $(B)/libutil.a
UNIT_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
PROP_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/prop/prop_*.c))
BENCH_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/bench_*.c))
INTEGRATION_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/integration/test_*.c))
INTEGRATION_SCRIPTS := $(wildcard tests/integration/test_*.py tests/integration/test_*.sh)

.PHONY: all
all: $(B)/queued $(B)/queuectl $(B)/libqueued.a $(B)/libqueued.so.0 ## daemon, command line and client library

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
$(patsubst proto/%.proto,$(B)/proto/%.pb-c.h,$(wildcard proto/*.proto)): $(B)/proto.stamp
	@:

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

$(B)/queuectl: $(call objs,client/cli/*.c) $(B)/libclient.a $(B)/libproto.a $(B)/libutil.a
	$(call say,LINK $@)
	$(Q)$(LINK) $^ $(LIBS)

# The installed library: client code with what it needs of util and the wire; only queued_* is visible.
LIBQUEUED_OBJS := $(CLIENT_OBJS) $(UTIL_OBJS) $(O)/proto/queue.pb-c.o
$(B)/libqueued.a: $(LIBQUEUED_OBJS)
$(B)/libqueued.so.0: $(LIBQUEUED_OBJS) client/lib/libqueued.map
	$(Q)$(LINK) -shared -Wl,-soname,libqueued.so.0 -Wl,--version-script=client/lib/libqueued.map \
		$(LIBQUEUED_OBJS) $(shell pkg-config --libs libzmq libprotobuf-c yaml-0.1 libsodium)

# ---- tests

TEST_ARCHIVES := $(B)/libfake.a $(B)/libclient.a $(ARCHIVES)
TEST_BINS := $(UNIT_BINS) $(PROP_BINS) $(BENCH_BINS) $(INTEGRATION_BINS)
.SECONDARY: $(patsubst $(B)/%,$(O)/%.o,$(TEST_BINS))
$(TEST_BINS): $(B)/%: $(O)/%.o $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(LINK) $< $(TEST_ARCHIVES) $(LIBS) -lcmocka

$(B)/tests/sim: $(call objs,tests/sim/*.c) $(TEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS)

$(B)/tests/standin: $(call objs,tests/fake/standin/*.c)
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(shell pkg-config --libs libmicrohttpd libcjson)

.PHONY: standin check-unit purity tidy
standin: $(B)/tests/standin ## the stand-in API server
check-unit: $(UNIT_BINS) $(PROP_BINS) ## unit and property tests
	@tests/run.sh $^
purity: $(CORE_OBJS) $(UTIL_OBJS) ## what the core may call
	@SAN=$(SAN) tests/purity.sh $(O)
tidy: ## sizes, layers, names, the walk of docs/architecture.md
	@tests/tidy.sh

-include $(shell find $(O) -name '*.d' 2>/dev/null)
