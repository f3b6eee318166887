# SPDX-License-Identifier: GPL-2.0-or-later
# granule: choose the kernel page size at each boot.
#
#   make            the command for this machine and for arm64, and the boot manager for aa64 and x64
#   make demo       set up, and show the main job on real kernels under real firmware
#   make check      set up, and run all tests
#   make bench-boot boot times of granule-boot beside systemd-boot and GRUB
#   make bench-grub time to list a large menu of GRUB's
#   make check-long more executions of the fuzz targets, more random machines
#   make install    DESTDIR=, prefix=

VERSION := 0.1.0

BUILD := build
prefix := /usr/local
bindir := $(prefix)/bin
libdir := $(prefix)/lib
mandir := $(prefix)/share/man
sysconfdir := /etc
# kernel-install reads no folder below /usr/local.
kernelinstalldir := $(if $(filter /usr,$(prefix)),/usr/lib,$(sysconfdir))/kernel/install.d
unitdir := $(libdir)/systemd/system
presetdir := $(libdir)/systemd/system-preset

HOST := $(shell uname -m)
PYTHON := /usr/bin/python3
SETUP := tests/setup

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
CSTD := -std=c17
CFLAGS := -O2 -g
CPPFLAGS := -Iinclude -DGRANULE_VERSION='"$(VERSION)"'
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE

CORE := $(wildcard core/*.c)
USER := $(wildcard userspace/*.c userspace/loaders/*.c userspace/grub/*.c)
EFI_LIB := $(wildcard efi/lib/*.c)
EFI_BOOT := $(wildcard efi/boot/*.c)

# Sources that one kind of program does without. The command reads as plain files what the loader recorded in the
# device tree; on x64 there are no device trees and no compressed kernels.
DEVICE_TREE := core/device_tree.c efi/lib/efi_device_tree.c
host_WITHOUT := $(DEVICE_TREE)
asan_WITHOUT := $(DEVICE_TREE)
aarch64_WITHOUT := $(DEVICE_TREE)
x64_WITHOUT := $(DEVICE_TREE) core/gzip_head.c efi/lib/efi_zlib.c

LIBS := -lsmartcols -lblkid -lmount -lefivar -lefiboot -ljson-c
USER_CPPFLAGS := $(CPPFLAGS) -D_GNU_SOURCE -Iuserspace -DGRANULE_LIBDIR='"$(libdir)/granule"'

# One short line per step; V=1 shows the commands.
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n'
endif

.PHONY: all check check-long check-powercut demo bench-boot bench-grub deps install format clean check-unit check-fuzz check-cli check-walks check-e2e kernels peers quiet-deps install-units
.DELETE_ON_ERROR:
.SECONDARY:

# ---- what is built -------------------------------------------------------------------------------------------

EFI_PROGRAMS := $(BUILD)/granule-bootaa64.efi
ifeq ($(HOST),aarch64)
GRANULE := $(BUILD)/aarch64/granule
PROGRAMS := $(GRANULE)
# The x64 boot manager takes a cross compiler here; it is left out without one.
ifneq ($(shell command -v x86_64-linux-gnu-gcc),)
EFI_PROGRAMS += $(BUILD)/granule-bootx64.efi
endif
else
GRANULE := $(BUILD)/host/granule
PROGRAMS := $(GRANULE) $(BUILD)/aarch64/granule
EFI_PROGRAMS += $(BUILD)/granule-bootx64.efi
endif

# Programs of the end-to-end tests.
EFI_TESTS := $(foreach arch,$(EFI_PROGRAMS:$(BUILD)/granule-boot%.efi=%), \
	$(patsubst %.c,$(BUILD)/$(arch)/%.efi,$(wildcard tests/e2e/efi/*.c)))

all: $(PROGRAMS) $(EFI_PROGRAMS)

# ---- the command, for this machine ---------------------------------------------------------------------------

host_CC := gcc
host_CFLAGS := $(CFLAGS) $(HARDEN)
host_LDFLAGS := -pie -Wl,-z,relro,-z,now
host_LIBS := $(LIBS) -larchive -lz

# With sanitizers, for the tests.
asan_CC := gcc
asan_CFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan_LDFLAGS := -fsanitize=address,undefined
asan_LIBS := $(host_LIBS)

# ---- the command, for arm64 ----------------------------------------------------------------------------------

ifeq ($(HOST),aarch64)
aarch64_CC := gcc
aarch64_CFLAGS := $(host_CFLAGS)
aarch64_LDFLAGS := $(host_LDFLAGS)
aarch64_LIBS := $(host_LIBS)
else
SYSROOT := $(shell $(SETUP)/sysroot.sh --path)
# A folder of the cache that appears complete or not at all; a change of its script makes another one.
$(SYSROOT):
	$(SETUP)/sysroot.sh
aarch64_NEEDS := $(SYSROOT)
aa64_NEEDS := $(SYSROOT)
aarch64_CC := aarch64-linux-gnu-gcc
aarch64_CFLAGS := --sysroot=$(SYSROOT) $(host_CFLAGS)
aarch64_LDFLAGS := --sysroot=$(SYSROOT) $(host_LDFLAGS)
# libarchive goes in statically: its shared form wants libxml2 and ICU, 40 MB that a small guest does without.
aarch64_LIBS := $(LIBS) -Wl,-Bstatic -larchive -llzma -lzstd -llz4 -lz -Wl,-Bdynamic
endif

define command_rules
$(BUILD)/$(1)/core/%.o: core/%.c | $$($(1)_NEEDS)
	@mkdir -p $$(@D)
	$$(say) CC $$@
	$$(Q)$$($(1)_CC) $(CSTD) $(WARN) -Wconversion -ffreestanding $$($(1)_CFLAGS) $(CPPFLAGS) -MMD -MP -c $$< -o $$@
$(BUILD)/$(1)/userspace/%.o: userspace/%.c | $$($(1)_NEEDS)
	@mkdir -p $$(@D)
	$$(say) CC $$@
	$$(Q)$$($(1)_CC) $(CSTD) $(WARN) $$($(1)_CFLAGS) $(USER_CPPFLAGS) -MMD -MP -c $$< -o $$@
$(1)_OBJECTS := $(patsubst %.c,$(BUILD)/$(1)/%.o,$(filter-out $($(1)_WITHOUT),$(CORE) $(USER)))
$(BUILD)/$(1)/granule: $$($(1)_OBJECTS)
	$$(say) LINK $$@
	$$(Q)$$($(1)_CC) $$($(1)_LDFLAGS) $$^ $$($(1)_LIBS) -o $$@
endef
$(foreach variant,host asan aarch64,$(eval $(call command_rules,$(variant))))

# ---- EFI programs --------------------------------------------------------------------------------------------

EFI_OPTIMIZE := -Os
# What runs once for each of many entries is made for speed instead.
EFI_FAST := core/keyval core/version_order core/entry_order core/utf8 core/boot_counter
# The link sees the whole program and leaves out what it has no use for (-flto): a tenth of it.
EFI_CFLAGS = $(CSTD) $(WARN) $(EFI_OPTIMIZE) -flto=auto -g -ffreestanding -fPIC -fvisibility=hidden -fshort-wchar -fno-strict-aliasing \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fno-unwind-tables -fdata-sections -ffunction-sections \
	-Iefi/lib -DGNU_EFI_USE_MS_ABI
# Without --exclude-libs the functions of libraries would be exported, and so be kept, used or not.
comma := ,
space := $(subst ,, )
EFI_LDFLAGS := -nostdlib -shared -T efi/lib/efi.lds -Wl,$(subst $(space),$(comma),$(strip -Bsymbolic -znocombreloc \
	-zmax-page-size=4096 --no-undefined --gc-sections --exclude-libs=ALL --build-id=none))
# DllCharacteristics and the rest are checked and completed by pe-finish.
EFI_SECTIONS := -j .text -j .rodata -j .dynamic -j .dynsym -j .rela -j .data -j .reloc -j .sdmagic -j .sbat

ifeq ($(HOST),aarch64)
aa64_PREFIX :=
x64_PREFIX := x86_64-linux-gnu-
aa64_ROOT :=
else
aa64_PREFIX := aarch64-linux-gnu-
x64_PREFIX :=
aa64_ROOT := $(SYSROOT)
endif
x64_ROOT :=
aa64_CFLAGS := -mgeneral-regs-only -mstrict-align -mcmodel=tiny
x64_CFLAGS := -mno-red-zone -mgeneral-regs-only -maccumulate-outgoing-args -DGRANULE_ONLY_X64
aa64_LIBS := -l:libfdt.a -l:libz.a
aa64_ARCH := aarch64
x64_ARCH := x86_64
aa64_BFD := pei-aarch64-little
x64_BFD := pei-x86-64
# Our own start code and layout instead of gnu-efi's, whose images have a section that is writable and executable. Its
# headers are system headers here: they are not clean under our warnings.
define efi_rules
$(BUILD)/$(1)/%.o: %.c | $$($(1)_NEEDS)
	@mkdir -p $$(@D)
	$$(say) CC $$@
	$$(Q)$$($(1)_PREFIX)gcc $$(EFI_CFLAGS) $$($(1)_CFLAGS) $(CPPFLAGS) -isystem $$($(1)_ROOT)/usr/include/efi \
		-isystem $$($(1)_ROOT)/usr/include/efi/$$($(1)_ARCH) -isystem $$($(1)_ROOT)/usr/include \
		-isystem $$($(1)_ROOT)/usr/include/$$($(1)_ARCH)-linux-gnu -MMD -MP -c $$< -o $$@
$(BUILD)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(say) AS $$@
	$$(Q)$$($(1)_PREFIX)gcc $(CPPFLAGS) -c $$< -o $$@
$(EFI_FAST:%=$(BUILD)/$(1)/%.o): EFI_OPTIMIZE := -O2
$(1)_COMMON := $(BUILD)/$(1)/efi/lib/start-$$($(1)_ARCH).o $(BUILD)/$(1)/efi/lib/sections.o \
	$(patsubst %.c,$(BUILD)/$(1)/%.o,$(filter-out $($(1)_WITHOUT),$(CORE) $(EFI_LIB))) efi/lib/efi.lds
$(1)_LINK = $$($(1)_PREFIX)gcc $(EFI_CFLAGS) $$($(1)_CFLAGS) $(EFI_LDFLAGS) $$(filter %.o,$$^) -L$$($(1)_ROOT)/usr/lib \
	-L$$($(1)_ROOT)/usr/lib/$$($(1)_ARCH)-linux-gnu $$($(1)_LIBS) -lgnuefi -o $$@
$(1)_FINISH = $$($(1)_PREFIX)objcopy -O $$($(1)_BFD) --subsystem=efi-app --file-alignment=512 \
	--section-alignment=4096 --strip-all $(EFI_SECTIONS) $$< $$@ && $(BUILD)/pe-finish $$@
$(BUILD)/$(1)/granule-boot.so: $(patsubst %.c,$(BUILD)/$(1)/%.o,$(filter-out $($(1)_WITHOUT),$(EFI_BOOT))) $$($(1)_COMMON)
	$$(say) LINK $$@
	$$(Q)$$($(1)_LINK)
$(BUILD)/granule-boot$(1).efi: $(BUILD)/$(1)/granule-boot.so $(BUILD)/pe-finish
	$$(say) EFI $$@
	$$(Q)$$($(1)_FINISH)
# Programs of tests and benchmarks, each of one source file, over the same library.
$(BUILD)/$(1)/tests/%.so: $(BUILD)/$(1)/tests/%.o $$($(1)_COMMON)
	$$(say) LINK $$@
	$$(Q)$$($(1)_LINK)
$(BUILD)/$(1)/tests/%.efi: $(BUILD)/$(1)/tests/%.so $(BUILD)/pe-finish
	$$(say) EFI $$@
	$$(Q)$$($(1)_FINISH)
endef
$(foreach arch,aa64 x64,$(eval $(call efi_rules,$(arch))))

$(BUILD)/pe-finish: efi/tools/pe-finish.c core/pe.c core/error.c $(wildcard include/granule/*.h)
	@mkdir -p $(BUILD)
	$(say) CC $@
	$(Q)gcc $(CSTD) $(WARN) -O1 $(CPPFLAGS) $(filter %.c,$^) -o $@

# ---- set-up --------------------------------------------------------------------------------------------------

deps:
	@$(SETUP)/deps.sh

kernels:
	@$(SETUP)/kernels.sh 4k 64k 16k

peers:
	@$(SETUP)/peers.sh trixie-arm64 bookworm-arm64 bookworm-shim-arm64
	@# Mirrors give up old releases one day; without it the test of that shim is skipped.
	@$(SETUP)/peers.sh forky-arm64 || true
	@$(SETUP)/peers.sh bullseye-shim-arm64 || true

# ---- tests ---------------------------------------------------------------------------------------------------

UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_RUNS := 20000

$(BUILD)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) $(patsubst %.c,$(BUILD)/asan/%.o,$(CORE))
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)gcc $(CSTD) $(WARN) $(asan_CFLAGS) $(CPPFLAGS) $(filter %.c %.o,$^) -lcmocka -larchive -lz -lfdt -o $@

$(BUILD)/fuzz/core/%.o: core/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)clang $(CSTD) -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all $(CPPFLAGS) -MMD -MP \
		-c $< -o $@

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(patsubst %.c,$(BUILD)/fuzz/%.o,$(CORE))
	$(say) CC $@
	$(Q)clang $(CSTD) -Wall -Wextra -Werror -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(CPPFLAGS) $(filter %.c %.o,$^) $(FUZZ_LIBS) -o $@
FUZZ_LIBS := -lz -lfdt
# Something to compare with.
$(BUILD)/fuzz/fuzz_sha256: FUZZ_LIBS += -lcrypto

check-unit: $(UNIT)
	@for t in $(UNIT); do $$t || exit 1; done

# New inputs go to a folder of the build; the corpus in the tree is only read.
check-fuzz: $(patsubst %,$(BUILD)/fuzz/fuzz_%,$(FUZZ))
	@for t in $(FUZZ); do \
		mkdir -p $(BUILD)/fuzz/new/$$t; \
		echo "== fuzz $$t: $(FUZZ_RUNS) executions"; \
		$(BUILD)/fuzz/fuzz_$$t -runs=$(FUZZ_RUNS) -seed=1 -max_len=4096 -verbosity=0 -print_final_stats=0 \
			-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/new/$$t tests/fuzz/corpus/$$t || exit 1; \
	done

# Parts of the command that a test calls by themselves: with sanitizers, and as they are shipped, where faults are
# injected.
define tool_rules
$(BUILD)/%/$(1)-tool: tests/cli/$(1)_tool.c $(asan_OBJECTS) $($(notdir $(GRANULE:%/granule=%))_OBJECTS)
	$$(say) CC $$@
	$$(Q)$$($$*_CC) $(CSTD) $(WARN) $$($$*_CFLAGS) $(USER_CPPFLAGS) $$($$*_LDFLAGS) $$< \
		$$(filter-out %/main.o,$$($$*_OBJECTS)) $$($$*_LIBS) -o $$@
endef
$(foreach tool,state grub,$(eval $(call tool_rules,$(tool))))

# Modules of the command without its main(), for tests of one of them.
$(BUILD)/asan/probe: tests/cli/probe.c $(patsubst %.c,$(BUILD)/asan/%.o,$(filter-out $(asan_WITHOUT) userspace/main.c,$(CORE) $(USER)))
	$(say) CC $@
	$(Q)gcc $(CSTD) $(WARN) $(asan_CFLAGS) $(USER_CPPFLAGS) $^ $(asan_LIBS) -o $@

check-cli: $(BUILD)/asan/granule $(BUILD)/asan/probe $(GRANULE) $(EFI_PROGRAMS) $(BUILD)/aa64/granule-boot.so $(BUILD)/asan/state-tool \
	$(GRANULE:granule=state-tool) $(BUILD)/asan/grub-tool $(GRANULE:granule=grub-tool)
	$(PYTHON) -m pytest -q -p no:cacheprovider -n 2 --dist loadfile tests/cli

# The random ones of these, 250 walks and 80 heaps of garbage. GRANULE_WALK=LOADER:SEED plays one walk again.
check-walks: $(BUILD)/asan/granule $(GRANULE)
	GRANULE_SEEDS=10 $(PYTHON) -m pytest -q -p no:cacheprovider tests/cli/test_walks.py tests/cli/test_garbage.py

check-e2e: all kernels peers $(EFI_TESTS)
	$(PYTHON) -m pytest -q -p no:cacheprovider -n 2 tests/e2e

# Packages first, then a fresh make that finds them.
check: deps
	@$(MAKE) --no-print-directory all check-unit check-fuzz check-cli check-e2e

# More of what is random, and tests that are for the most part repetitions; takes about half an hour on two cores.
check-long: deps
	@$(MAKE) --no-print-directory check-fuzz FUZZ_RUNS=200000
	@$(MAKE) --no-print-directory all $(BUILD)/asan/granule $(GRANULE:granule=state-tool) $(GRANULE:granule=grub-tool)
	@GRANULE_FAULTS=all $(PYTHON) -m pytest -q -p no:cacheprovider -n 2 tests/cli/test_faults.py tests/cli/test_grub_faults.py
	@$(MAKE) --no-print-directory check-walks
	@GRANULE_SEEDS=60 GRANULE_LONG=1 $(MAKE) --no-print-directory check-e2e

# 300 power cuts, in commands and in the boot manager, which take about half an hour on two cores; and half as many on
# machines that GRUB boots. CUTS= says how many; GRANULE_CUT_SEED=NAME:NUMBER repeats the one that a failure names.
CUTS := 300
check-powercut: deps
	@$(MAKE) --no-print-directory all kernels peers
	GRANULE_CUTS=$(CUTS) $(PYTHON) -m pytest -q -p no:cacheprovider -n 2 tests/e2e/test_power_cuts.py tests/e2e/test_grub_cuts.py

# ---- benchmarks ----------------------------------------------------------------------------------------------

BENCH := $(BUILD)/aa64/tests/bench/floor.efi $(BUILD)/aarch64/tests/bench/init

$(BUILD)/aarch64/tests/bench/%: tests/bench/%.c | $(aarch64_NEEDS)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(aarch64_CC) $(CSTD) $(WARN) $(aarch64_CFLAGS) -D_GNU_SOURCE -static $< -o $@

# Boots granule-boot and its peers in guest time; BENCH_FLAGS=--markdown prints the tables of docs/benchmarks.md.
bench-boot: deps
	@$(MAKE) --no-print-directory -s $(BUILD)/granule-bootaa64.efi $(BENCH) peers
	@$(SETUP)/kernels.sh 4k
	@$(PYTHON) tests/bench/boot.py $(BENCH_FLAGS)

# `granule list` of a grub.cfg of 5 MB with 3000 entries.
bench-grub: $(GRANULE)
	@$(PYTHON) tests/bench/grub_list.py $(BENCH_FLAGS)

# ---- the demo ------------------------------------------------------------------------------------------------

demo: deps
	@$(MAKE) --no-print-directory -s all
	@$(SETUP)/kernels.sh 4k 64k
	@$(PYTHON) tests/e2e/demo.py

# ---- the rest ------------------------------------------------------------------------------------------------

IN_BINDIR = 's|:/usr/local/bin$$|:$(bindir)|'

install: all install-units
	install -D -m 755 $(GRANULE) $(DESTDIR)$(bindir)/granule
	for f in $(EFI_PROGRAMS); do install -D -m 644 $$f $(DESTDIR)$(libdir)/granule/$$(basename $$f) || exit 1; done
	install -D -m 644 docs/granule.1 $(DESTDIR)$(mandir)/man1/granule.1
	install -D -m 644 docs/granule.conf.5 $(DESTDIR)$(mandir)/man5/granule.conf.5
	install -D -m 644 docs/granule-boot.7 $(DESTDIR)$(mandir)/man7/granule-boot.7
	install -D -m 644 docs/granule-grub.7 $(DESTDIR)$(mandir)/man7/granule-grub.7
	@mkdir -p $(BUILD)
	sed $(IN_BINDIR) userspace/systemd/95-granule.install >$(BUILD)/hook
	install -D -m 755 $(BUILD)/hook $(DESTDIR)$(kernelinstalldir)/95-granule.install
	for d in kernel/postinst.d kernel/postrm.d initramfs/post-update.d; do \
		sed $(IN_BINDIR) userspace/debian/$$(basename $$d) >$(BUILD)/hook && \
		install -D -m 755 $(BUILD)/hook $(DESTDIR)$(sysconfdir)/$$d/zzz-granule || exit 1; done
	sed 's|GRANULE:-granule}|GRANULE:-$(bindir)/granule}|' grub.d/09_granule >$(BUILD)/hook
	install -D -m 755 $(BUILD)/hook $(DESTDIR)$(sysconfdir)/grub.d/09_granule
	@rm -f $(BUILD)/hook
	install -D -m 644 docs/granule-verify.service.8 $(DESTDIR)$(mandir)/man8/granule-verify.service.8

# systemd looks below /usr/local/lib, too. What its units run is found in bindir.
install-units:
	for f in userspace/systemd/*.service; do \
		install -d $(DESTDIR)$(unitdir) && sed 's|=granule |=$(bindir)/granule |' $$f >$(DESTDIR)$(unitdir)/$$(basename $$f) || exit 1; \
	done
	install -D -m 644 userspace/systemd/bless-boot.conf $(DESTDIR)$(unitdir)/systemd-bless-boot.service.d/granule.conf
	install -D -m 644 userspace/systemd/granule.preset $(DESTDIR)$(presetdir)/80-granule.preset

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
