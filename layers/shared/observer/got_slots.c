/* SPDX-License-Identifier: MIT */
/*
 * got_slots: first which of an object's undefined symbols are the functions, then
 * the relocations against these.
 */
#include "layers/shared/observer/got_slots.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#define IS_POINTER(type) ((type) == R_X86_64_64)
#define KNOWN true
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#define IS_POINTER(type) ((type) == R_AARCH64_ABS64)
#define KNOWN true
#else
#define IS_SLOT(type) ((type) && false)
#define IS_POINTER(type) ((type) && false)
#define KNOWN false
#endif

bool drv_slots_known(void)
{
	return KNOWN && sizeof(void *) == 8;
}

#if __ELF_NATIVE_CLASS == 64
#define SYMBOL_OF ELF64_R_SYM
#define TYPE_OF ELF64_R_TYPE
#else
#define SYMBOL_OF ELF32_R_SYM
#define TYPE_OF ELF32_R_TYPE
#endif

struct tables {
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *relocations, *calls;
	size_t relocation_count, call_count, relative_count;
	size_t symbol_count;	/* of those that may be undefined */
	bool bound_at_once;	/* no call is bound when it is first made */
};

/* GNU's hash table holds the defined symbols only, which stand last. */
static size_t first_defined(const void *gnu_hash)
{
	return ((const uint32_t *)gnu_hash)[1];
}

static bool read_tables(const struct drv_loaded *object, struct tables *ret)
{
	const void *gnu_hash = NULL, *hash = NULL;
	ElfW(Xword) type = DT_RELA;

	*ret = (struct tables){ 0 };
	for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			ret->symbols = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			ret->strings = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		case DT_RELA:
			ret->relocations = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			ret->relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELACOUNT:
			ret->relative_count = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			ret->calls = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			ret->call_count = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_PLTREL:
			type = entry->d_un.d_val;
			break;
		case DT_BIND_NOW:
			ret->bound_at_once = true;
			break;
		case DT_FLAGS:
			ret->bound_at_once |= entry->d_un.d_val & DF_BIND_NOW;
			break;
		case DT_FLAGS_1:
			ret->bound_at_once |= entry->d_un.d_val & DF_1_NOW;
			break;
		case DT_GNU_HASH:
			gnu_hash = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			hash = drv_loaded_at(object, entry->d_un.d_ptr);
			break;
		default:
			break;
		}
	}
	if (gnu_hash)
		ret->symbol_count = first_defined(gnu_hash);
	else if (hash)
		ret->symbol_count = ((const uint32_t *)hash)[1];
	return ret->symbols && ret->strings && type == DT_RELA &&
	       (ret->symbol_count || (!ret->call_count && !ret->relocation_count));
}

#define BEGINNINGS 1024

struct wanted {
	const struct drv_slot_function *functions;
	size_t count;
	bool begin_so[BEGINNINGS];	/* most names, above all those of C++, begin like none of them */
};

/* Of the first four bytes: an index of begin_so. */
static size_t beginning_of(const char *name)
{
	size_t mixed = 0;

	for (int i = 0; i < 4 && name[i]; i++)
		mixed = mixed * 37 + (uint8_t)name[i];
	return mixed % BEGINNINGS;
}

static struct wanted want(const struct drv_slot_function *functions, size_t count)
{
	struct wanted wanted = { .functions = functions, .count = count };

	for (size_t i = 0; i < count; i++)
		wanted.begin_so[beginning_of(functions[i].name)] = true;
	return wanted;
}

static const struct drv_slot_function *find(const struct wanted *wanted, const char *name)
{
	if (!wanted->begin_so[beginning_of(name)])
		return NULL;
	for (size_t i = 0; i < wanted->count; i++) {
		if (strcmp(wanted->functions[i].name, name) == 0)
			return &wanted->functions[i];
	}
	return NULL;
}

struct hooking {
	const struct drv_loaded *object, *c_library;
	const struct tables *tables;
	const struct drv_slot_function **of_symbol;	/* NULL: none of them */
	bool elsewhere;
	bool changed;
	void *opened;		/* the page that was made writable; NULL: none */
	int protection;		/* what it has otherwise */
};

/*
 * How the page of a slot is mapped. What is to be read-only once it is relocated
 * is rounded down to whole pages, as ld.so does: the rest of its last page stays writable.
 */
static int protection_of(const struct drv_loaded *object, uintptr_t slot, uintptr_t page)
{
	int protection = -1;

	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		uintptr_t start = object->base + header->p_vaddr, end = start + header->p_memsz;

		if (header->p_type == PT_GNU_RELRO) {
			start &= ~(page - 1);
			end &= ~(page - 1);
		}
		if (slot < start || slot >= end)
			continue;
		if (header->p_type == PT_GNU_RELRO)
			return PROT_READ;
		if (header->p_type == PT_LOAD && !(header->p_flags & PF_X))
			protection = header->p_flags & PF_W ? PROT_READ | PROT_WRITE : PROT_READ;
	}
	return protection;	/* -1: text that is relocated is not touched */
}

/* As it was; where that fails it is merely less protected. */
static void protect_again(struct hooking *hooking, uintptr_t page)
{
	if (hooking->opened)
		(void)mprotect(hooking->opened, page, hooking->protection);
}

/*
 * Whether the page may be writable. Of pages to be protected it is until the dynamic linker has written all that is
 * to stand there, which it does in a thread that loads the object. The kernel adds 0 to a word there, if it can;
 * where it must not be asked, nobody knows.
 */
static bool may_be_writable(void **slot)
{
	uint32_t nobody = 0;

	return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, NULL, slot,
		       FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) >= 0 || errno != EFAULT;
}

/* Most slots of an object lie on one page, which stays writable for the next: the calls take 20 µs or more. */
static bool write_word(struct hooking *hooking, void **slot, void *now, void *value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)slot & ~(page - 1));
	int protection = protection_of(hooking->object, (uintptr_t)slot, page);

	if (protection < 0)
		return false;
	if (!(protection & PROT_WRITE) && hooking->opened != start) {
		/* The linker would write to what is protected again. */
		if (may_be_writable(slot) || mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
			return false;
		protect_again(hooking, page);
		hooking->opened = start;
		hooking->protection = protection;
	}
	/* What is in an object's data its code may change. */
	return __atomic_compare_exchange_n(slot, &now, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void hook(struct hooking *hooking, const ElfW(Rela) *relocation)
{
	const struct drv_slot_function *function;
	size_t symbol = SYMBOL_OF(relocation->r_info);
	unsigned long type = TYPE_OF(relocation->r_info);
	void **slot, *now;
	bool weak;

	if (symbol >= hooking->tables->symbol_count || !hooking->of_symbol[symbol] ||
	    !(IS_SLOT(type) || (IS_POINTER(type) && relocation->r_addend == 0)))
		return;
	function = hooking->of_symbol[symbol];
	slot = (void **)(hooking->object->base + relocation->r_offset);
	if ((uintptr_t)slot % sizeof(*slot)) {
		hooking->elsewhere = true;
		return;
	}
	weak = ELF64_ST_BIND(hooking->tables->symbols[symbol].st_info) == STB_WEAK;
	/* A thread that binds it may be faster, once. */
	for (int i = 0; i < 3; i++) {
		now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (now == function->hook || (!now && weak))
			return;
		if (now != function->genuine && !drv_loaded_contains(hooking->object, now) &&
		    !(hooking->c_library && drv_loaded_contains(hooking->c_library, now)))
			break;
		if (write_word(hooking, slot, now, function->hook)) {
			hooking->changed = true;
			return;
		}
	}
	hooking->elsewhere = true;
}

enum cmn_status drv_slots_hook(const struct drv_loaded *object, const struct drv_loaded *c_library,
			       const struct drv_slot_function *functions, size_t count)
{
	const struct wanted wanted = want(functions, count);
	struct hooking hooking = { .object = object, .c_library = c_library };
	struct tables tables;
	bool any = false;

	if (!drv_slots_known() || !read_tables(object, &tables))
		return CMN_MISS;
	hooking.tables = &tables;
	hooking.of_symbol = calloc(tables.symbol_count + 1, sizeof(*hooking.of_symbol));
	if (!hooking.of_symbol)
		return CMN_MISS;
	for (size_t i = 1; i < tables.symbol_count; i++) {
		const ElfW(Sym) *symbol = &tables.symbols[i];

		if (symbol->st_shndx != SHN_UNDEF)
			continue;
		hooking.of_symbol[i] = find(&wanted, tables.strings + symbol->st_name);
		any = any || hooking.of_symbol[i];
	}
	for (size_t i = 0; any && i < tables.call_count; i++)
		hook(&hooking, &tables.calls[i]);
	for (size_t i = tables.relative_count; any && i < tables.relocation_count; i++)
		hook(&hooking, &tables.relocations[i]);
	protect_again(&hooking, (uintptr_t)sysconf(_SC_PAGESIZE));
	free(hooking.of_symbol);
	if (hooking.elsewhere)
		return CMN_MISS;
	return hooking.changed && !tables.bound_at_once && tables.call_count ? CMN_BUSY : CMN_OK;
}
