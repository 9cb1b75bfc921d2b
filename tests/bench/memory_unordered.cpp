/* SPDX-License-Identifier: MIT */
/*
 * memory_unordered: what a runtime writes first: a std::unordered_map for
 * each of the three, all behind one std::mutex. No builds, no eviction. Keys
 * are made beforehand, which favours it.
 */
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/bench/memory_items.h"

namespace {

using Map = std::unordered_map<std::string, memory_value *>;

struct Keys {
	std::string Program, Kernel, FastKernel;
};

struct Maps {
	std::mutex Mutex;
	Map Programs, Kernels, FastKernels;
	std::vector<Keys> Made;
	memory_item *First;
	bool Counted;
};

std::string bytesOf(const void *Data, size_t Size)
{
	return std::string(static_cast<const char *>(Data), Size);
}

void *fill(memory_items *Items)
{
	auto *M = new Maps;

	M->First = Items->items;
	M->Counted = Items->counted;
	for (memory_item &Item : Items->items) {
		memory_key Key;
		memory_key_make(&Item, &Key);
		Keys Made;
		Made.Program = bytesOf(Key.data, Key.len);
		const memory_value *Program = &Item.program;	/* a kernel's key has its program's handle */
		const std::string Name(Item.name, Item.name_len);
		Made.Kernel = bytesOf(&Program, sizeof(Program)) + Name;
		Made.FastKernel = bytesOf(&Item.constants_hash, sizeof(Item.constants_hash)) +
				  bytesOf(&Item.devices[0], sizeof(Item.devices[0])) + Name;
		M->Programs.emplace(Made.Program, &Item.program);
		M->Kernels.emplace(Made.Kernel, &Item.kernel);
		M->FastKernels.emplace(Made.FastKernel, &Item.kernel);
		M->Made.push_back(Made);
	}
	return M;
}

memory_value *find(Maps *M, const Map &In, const std::string &Key)
{
	std::lock_guard<std::mutex> Lock(M->Mutex);
	auto Found = In.find(Key);

	if (Found == In.end())
		return nullptr;
	if (M->Counted)
		memory_value_retain(Found->second);
	return Found->second;
}

const Keys &keysOf(Maps *M, memory_item *Item)
{
	return M->Made[static_cast<size_t>(Item - M->First)];
}

memory_value *hitProgram(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return find(M, M->Programs, keysOf(M, Item).Program);
}

memory_value *hitKernel(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return find(M, M->Kernels, keysOf(M, Item).Kernel);
}

memory_value *hitFastKernel(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return find(M, M->FastKernels, keysOf(M, Item).FastKernel);
}

void release(void *Of)
{
	delete static_cast<Maps *>(Of);
}

} // namespace

const memory_contender memory_unordered = {
	"unordered_map", fill, { hitProgram, hitKernel, hitFastKernel }, release
};
