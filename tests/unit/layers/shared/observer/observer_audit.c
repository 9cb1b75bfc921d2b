/* SPDX-License-Identifier: MIT */
/* observer_audit: a library for LD_AUDIT (rtld-audit(7)) that is told of each binding and changes none. */
#include <link.h>
#include <stdint.h>

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version);
__attribute__((visibility("default"))) unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
__attribute__((visibility("default"))) uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index,
							      uintptr_t *from, uintptr_t *to,
							      unsigned int *flags, const char *name);

unsigned int la_version(unsigned int version)
{
	return version;
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)map, (void)space, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
		       unsigned int *flags, const char *name)
{
	(void)index, (void)from, (void)to, (void)flags, (void)name;
	return symbol->st_value;
}
