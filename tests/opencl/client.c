/* SPDX-License-Identifier: MIT */
/* client: main. */
#include "tests/opencl/client.h"

int main(int argc, char **argv)
{
	struct client client;
	const struct scenario *scenario = client_begin(&client, argv);

	(void)argc;
	scenario->run(&client);
	if (client.queue)
		printf("release queue %d\n", clReleaseCommandQueue(client.queue));
	if (scenario->has_session)
		printf("release context %d\n", clReleaseContext(client.context));
	return fflush(stdout) ? 2 : 0;
}
