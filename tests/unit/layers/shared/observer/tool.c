/* SPDX-License-Identifier: MIT */
/* tool: a program as a compiler runs it: "[--fail] [--kill] -o OUTPUT INPUT" writes a word of its library's and the input. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) const char *tool_word(void);

#ifdef TOOL_LIBRARY
const char *tool_word(void)
{
	return "translated ";
}
#else
int main(int argc, char **argv)
{
	FILE *input = NULL, *output = NULL;
	char text[256] = "";

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--fail") == 0)
			return 3;
		if (strcmp(argv[i], "--kill") == 0)
			(void)raise(SIGKILL);
		if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			output = fopen(argv[++i], "w");
		else if (argv[i][0] != '-')
			input = fopen(argv[i], "r");
	}
	if (!input || !output)
		return 2;
	(void)fgets(text, sizeof(text), input);
	return fprintf(output, "%s%s", tool_word(), text) < 0 || fclose(output) != 0 || fclose(input) != 0;
}
#endif
