/* SPDX-License-Identifier: MIT */
/*
 * stub_compiler: libstub_compiler.so.1, what the first stub driver opens as its
 * compiler. Its revision goes into every native.
 */
__attribute__((visibility("default"))) const char *stub_compiler_get_revision(void);

const char *stub_compiler_get_revision(void)
{
	return STUB_COMPILER_REVISION;
}
