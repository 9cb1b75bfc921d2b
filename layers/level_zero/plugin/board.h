/* SPDX-License-Identifier: MIT */
/*
 * board: which revision of its hardware a board is, as the kernel knows it. Drivers
 * before the IP version (Intel's up to 22.x) do not say this in Level Zero: their uuid
 * only says where the board is plugged in. Thread-safe.
 */
#ifndef LEVEL_ZERO_BOARD_H
#define LEVEL_ZERO_BOARD_H

#include <stdbool.h>
#include <stdint.h>

/* Where Linux shows the devices of the PCI bus. */
#define LZ_BOARD_DEVICES "/sys/bus/pci/devices"

/* A device's address on the PCI bus, and what its driver says that it is. */
struct lz_board {
	uint32_t domain, bus, device, function;
	uint32_t vendor_id, device_id;
};

/* false: the kernel does not show such a device at that address in the directory, or not its revision. */
bool lz_board_revision(const char *devices, const struct lz_board *board, uint64_t *ret_revision);

#endif
