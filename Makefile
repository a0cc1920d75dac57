# SPDX-License-Identifier: GPL-2.0-or-later
#
# make                 library, egret and the programs of the tests
# make check           lint, unit tests, fuzz corpus, replay
# make BUILD=/tmp/b    build somewhere else (a relative or an absolute path)
# make CC=clang        the other compiler
# make SANITIZE=1      address and undefined behaviour, in build/san
# make WERROR=1 V=1    warnings are errors; commands are printed
# make check-unit T="addr loop"                 only these unit tests
# make LIB_DIRS="policy base" check-unit T=...  only a part of the tree

VERSION := 0.1.0

CC := gcc
FUZZ_CC := clang
AR ?= ar
PKG_CONFIG ?= pkg-config
INSTALL ?= install
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man

BUILD ?= $(if $(SANITIZE),build/san,build)
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' $(1) $(2))

# Lower layers come last: a static archive is searched from left to right.
LIB_DIRS ?= gateway relay resolver netns nft policy base
PACKAGES := libnl-3.0 libnl-route-3.0 libnftnl libmnl libcap libcares \
	    libseccomp libidn2 jansson

ifeq ($(filter clean format,$(MAKECMDGOALS)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(PACKAGES) && echo yes),yes)
$(error libraries are missing, see scripts/deps: \
	$(shell $(PKG_CONFIG) --print-errors --exists $(PACKAGES) 2>&1))
endif
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES))
endif

# Flags that only one compiler or one machine has are tried first. clang takes
# unknown warnings with a warning, so the trial makes warnings errors.
try = $(foreach f,$(1),$(shell $(CC) -Werror $(f) -x c -c -o /dev/null \
	/dev/null 2>/dev/null && echo $(f)))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	    -Wmissing-declarations -Wold-style-definition -Wvla -Wundef \
	    -Wformat=2 -Wimplicit-fallthrough -Wpointer-arith \
	    -Wwrite-strings -Wcast-qual -Wnull-dereference
WARNINGS_TRIED := $(call try,-Wlogical-op -Wduplicated-cond \
	    -Wduplicated-branches -Wjump-misses-init)
HARDENING := -fstack-protector-strong -fPIE -fno-common -fvisibility=hidden \
	     $(call try,-fstack-clash-protection -fcf-protection)
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all \
	     -fno-omit-frame-pointer
DEFINES := -D_GNU_SOURCE -DEGRET_VERSION='"$(VERSION)"'

# The sanitizers' own code defeats the data-flow behind the warning.
MODE := $(if $(SANITIZE),$(SAN_FLAGS) -Wno-null-dereference,\
	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)

CFLAGS ?= -O2 -g
BASE_CFLAGS := -std=gnu17 $(WARNINGS) -I. $(DEFINES) $(PKG_CFLAGS) \
	       $(if $(WERROR),-Werror)
ALL_CFLAGS := $(CFLAGS) $(BASE_CFLAGS) $(WARNINGS_TRIED) $(HARDENING) $(MODE)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed \
	       $(if $(SANITIZE),$(SAN_FLAGS)) $(LDFLAGS)
LDLIBS := $(PKG_LIBS) -pthread
CHECK_LIBS = $(shell $(PKG_CONFIG) --libs check)
FUZZ_CFLAGS := -O1 -g $(BASE_CFLAGS) $(SAN_FLAGS) -Wno-null-dereference

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
prog = $(patsubst tests/$(1)/%.c,$(BUILD)/$(2)/%,$(3))

LIB_SRC := $(foreach d,$(LIB_DIRS),$(sort $(wildcard $(d)/*.c)))
CMD_SRC := $(sort $(wildcard cmd/*.c))
T ?= *
UNIT_SRC := $(sort $(wildcard $(T:%=tests/unit/test_%.c)))
UNIT_SHARED := $(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
KERNEL_SRC := $(sort $(wildcard tests/integration/kernel/*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
REPLAY_SRC := $(sort $(wildcard tests/replay/*.c))
MAN_PAGES := $(wildcard docs/*.1 docs/*.5)

PRESETS := $(sort $(wildcard presets/*.hosts))
GEN_SRC := $(if $(filter policy,$(LIB_DIRS)),$(BUILD)/gen/presets_table.c)
gen_obj = $(patsubst $(BUILD)/gen/%.c,$(BUILD)/$(1)/gen/%.o,$(GEN_SRC))

LIB := $(BUILD)/libegret.a
CMD_LIB := $(BUILD)/libegretcmd.a
EGRET := $(if $(CMD_SRC),$(BUILD)/egret)
UNIT := $(call prog,unit,tests/unit,$(UNIT_SRC))
CORPUS := $(call prog,fuzz,tests/fuzz,$(FUZZ_SRC))
FUZZ := $(call prog,fuzz,fuzz,$(FUZZ_SRC))
KERNEL := $(call prog,integration/kernel,kernel,$(KERNEL_SRC))
BENCH := $(call prog,bench,bench,$(BENCH_SRC))
REPLAY := $(if $(REPLAY_SRC),$(BUILD)/tests/replay/runner)

.PHONY: all check check-unit check-fuzz-corpus check-replay tests fuzz bench \
	kernel lint print-cflags format format-check install uninstall clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(LIB) $(EGRET)
tests: all $(UNIT) $(CORPUS) $(KERNEL) $(REPLAY)
check: lint check-unit check-fuzz-corpus check-replay
fuzz: $(FUZZ)
bench: all $(BENCH)
kernel: $(KERNEL)

# Objects depend on the flags they were made with.
FLAGS := $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIB_SRC) $(CMD_SRC) $(PRESETS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The table of built-in presets; the flags say which files there are.
$(BUILD)/gen/presets_table.c: scripts/gen-presets $(PRESETS) $(BUILD)/flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)scripts/gen-presets $(PRESETS) >$@

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(LIB): $(call obj,$(LIB_SRC)) $(call gen_obj,obj) $(BUILD)/flags
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

# The commands without main(), for their unit tests.
$(CMD_LIB): $(call obj,$(filter-out cmd/main.c,$(CMD_SRC))) $(BUILD)/flags
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

define link
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(1)
endef

$(BUILD)/egret: $(call obj,$(CMD_SRC)) $(LIB)
	$(call link,$(LDLIBS))

# What several tests share is linked to those that call it.
$(BUILD)/tests/unit/shared.a: $(call obj,$(UNIT_SHARED))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o \
		$(BUILD)/tests/unit/shared.a $(CMD_LIB) $(LIB)
	$(call link,$(CHECK_LIBS) $(LDLIBS))

$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o \
		$(BUILD)/obj/tests/fuzz/runner.o $(LIB)
	$(call link,$(LDLIBS))

$(BUILD)/tests/replay/runner: $(call obj,$(REPLAY_SRC)) $(LIB)
	$(call link,$(LDLIBS))

$(BUILD)/kernel/%: $(BUILD)/obj/tests/integration/kernel/%.o $(LIB)
	$(call link,$(LDLIBS))

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIB)
	$(call link,$(LDLIBS))

# libFuzzer needs the library instrumented too, so it has objects of its own.
$(BUILD)/fuzz/obj/%.o: %.c
	$(call say,FUZZCC,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP \
		-c -o $@ $<

$(BUILD)/fuzz/obj/gen/%.o: $(BUILD)/gen/%.c
	$(call say,FUZZCC,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

$(BUILD)/fuzz/libegret.a: $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(LIB_SRC)) \
		$(call gen_obj,fuzz/obj)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/tests/fuzz/fuzz_%.o \
		$(BUILD)/fuzz/libegret.a
	$(call say,LINK,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $(SAN_FLAGS) -o $@ $^ $(LDLIBS)

check-unit: $(UNIT)
	$(Q)failed=0; for t in $(UNIT); do $$t || failed=1; done; exit $$failed

check-fuzz-corpus: $(CORPUS)
	$(Q)failed=0; for t in $(CORPUS); do \
		$$t tests/fuzz/corpus/$${t##*/fuzz_} || failed=1; \
	done; exit $$failed

check-replay: $(REPLAY)
	$(Q)$(if $(REPLAY),$(REPLAY) $(sort $(wildcard tests/replay/*.rpl)),:)

# For tools that parse the code themselves.
print-cflags:
	@printf '%s\n' '$(subst ','\'',$(BASE_CFLAGS))'

lint format:
	$(Q)scripts/$@

format-check:
	$(Q)scripts/format --check

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR)
	$(INSTALL) -m 755 $(BUILD)/egret $(DESTDIR)$(BINDIR)/egret
	$(Q)set -e; for page in $(MAN_PAGES); do \
		$(INSTALL) -d $(DESTDIR)$(MANDIR)/man$${page##*.}; \
		$(INSTALL) -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/; \
	done

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/egret
	$(Q)set -e; for page in $(MAN_PAGES); do \
		rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; \
	done

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
