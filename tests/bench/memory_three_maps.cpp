/* SPDX-License-Identifier: MIT */
/*
 * memory_three_maps: the in-memory cache of the SYCL KernelProgramCache
 * document as it is written there: programs map, kernels map and Fast Kernel
 * Cache, each behind a mutex that Locked<> holds, std::hash of strings,
 * BuildResult with atomic state and pointer, mutex and condition variable,
 * getOrBuild by insertion, and the eviction list, whose programs move to its
 * end when they are fetched. Where the document leaves it open, what costs
 * less: keys are made beforehand, the list is found into without a search.
 */
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/bench/memory_items.h"

namespace {

enum class BuildState { InProgress, Done, Failed };

struct BuildError {
	std::string Msg;
	int Code = 0;
};

struct BuildResult {
	std::atomic<memory_value *> Ptr{ nullptr };
	std::atomic<BuildState> State{ BuildState::InProgress };
	BuildError Error;
	std::condition_variable MBuildCV;
	std::mutex MBuildResultMutex;

	BuildState waitUntilBuilt()
	{
		std::unique_lock<std::mutex> Lock(MBuildResultMutex);

		MBuildCV.wait(Lock, [this] { return State != BuildState::InProgress; });
		return State;
	}
};

/* Shared, so that a thread that waits or takes outlives an eviction. */
using BuildResultPtr = std::shared_ptr<BuildResult>;

template <typename T> class Locked {
	std::reference_wrapper<T> MValue;
	std::unique_lock<std::mutex> MLock;

public:
	Locked(T &Value, std::mutex &Mutex) : MValue(Value), MLock(Mutex) {}
	T &get() const { return MValue.get(); }
};

struct ProgramKey {
	uint64_t ImageId;
	std::string Constants;
	std::vector<void *> Devices;
	std::string Options;

	bool operator==(const ProgramKey &Other) const
	{
		return ImageId == Other.ImageId && Constants == Other.Constants &&
		       Devices == Other.Devices && Options == Other.Options;
	}
};

template <typename T> void combine(size_t &Seed, const T &Value)
{
	/* As boost::hash_combine does. */
	Seed ^= std::hash<T>()(Value) + 0x9e3779b9 + (Seed << 6) + (Seed >> 2);
}

struct ProgramKeyHash {
	size_t operator()(const ProgramKey &Key) const
	{
		size_t Seed = 0;

		combine(Seed, Key.ImageId);
		combine(Seed, Key.Constants);
		for (void *Device : Key.Devices)
			combine(Seed, Device);
		combine(Seed, Key.Options);
		return Seed;
	}
};

using FastKernelKey = std::tuple<std::string, void *, std::string>;

struct FastKernelKeyHash {
	size_t operator()(const FastKernelKey &Key) const
	{
		size_t Seed = 0;

		combine(Seed, std::get<0>(Key));
		combine(Seed, std::get<1>(Key));
		combine(Seed, std::get<2>(Key));
		return Seed;
	}
};

using EvictionList = std::list<ProgramKey>;

struct Program {
	BuildResultPtr Result;
	EvictionList::iterator Place;
};

using ProgramCache = std::unordered_map<ProgramKey, Program, ProgramKeyHash>;
using KernelByName = std::unordered_map<std::string, BuildResultPtr>;
using KernelCache = std::unordered_map<memory_value *, KernelByName>;
using FastKernelCache = std::unordered_map<FastKernelKey, BuildResultPtr, FastKernelKeyHash>;

class KernelProgramCache {
public:
	Locked<ProgramCache> acquireCachedPrograms() { return { MPrograms, MProgramsMutex }; }
	Locked<KernelCache> acquireKernelsPerProgram() { return { MKernels, MKernelsMutex }; }
	Locked<FastKernelCache> acquireFastKernels() { return { MFastKernels, MFastKernelsMutex }; }
	Locked<EvictionList> acquireEvictionList() { return { MEvictionList, MEvictionMutex }; }

	/* Acquire gives a result for the key and whether it was inserted; Build makes its value. */
	template <typename Acquire, typename Build>
	memory_value *getOrBuild(Acquire &&AcquireF, Build &&BuildF)
	{
		std::pair<BuildResultPtr, bool> Got = AcquireF();
		BuildResultPtr &Result = Got.first;

		if (!Got.second) {
			BuildState State = Result->State;

			if (State == BuildState::InProgress)
				State = Result->waitUntilBuilt();
			return State == BuildState::Done ? Result->Ptr.load() : nullptr;
		}
		memory_value *Value = BuildF();
		{
			std::lock_guard<std::mutex> Lock(Result->MBuildResultMutex);

			Result->Ptr = Value;
			Result->State = Value ? BuildState::Done : BuildState::Failed;
		}
		Result->MBuildCV.notify_all();
		return Value;
	}

	template <typename Build> memory_value *getProgram(const ProgramKey &Key, Build &&BuildF)
	{
		auto AcquireF = [&] {
			auto Programs = acquireCachedPrograms();
			auto Inserted = Programs.get().try_emplace(Key);
			Program &Found = Inserted.first->second;
			auto Eviction = acquireEvictionList();
			EvictionList &List = Eviction.get();

			if (Inserted.second) {
				Found.Result = std::make_shared<BuildResult>();
				Found.Place = List.insert(List.end(), Key);
			} else {
				List.splice(List.end(), List, Found.Place);
			}
			return std::make_pair(Found.Result, Inserted.second);
		};
		return getOrBuild(AcquireF, BuildF);
	}

	template <typename Build>
	memory_value *getKernel(memory_value *Of, const std::string &Name, Build &&BuildF)
	{
		auto AcquireF = [&] {
			auto Kernels = acquireKernelsPerProgram();
			auto Inserted = Kernels.get()[Of].try_emplace(Name);

			if (Inserted.second)
				Inserted.first->second = std::make_shared<BuildResult>();
			return std::make_pair(Inserted.first->second, Inserted.second);
		};
		return getOrBuild(AcquireF, BuildF);
	}

	memory_value *tryToGetKernelFast(const FastKernelKey &Key)
	{
		auto FastKernels = acquireFastKernels();
		auto Found = FastKernels.get().find(Key);

		return Found == FastKernels.get().end() ? nullptr : Found->second->Ptr.load();
	}

	void saveKernelFast(const FastKernelKey &Key, memory_value *Of, const std::string &Name)
	{
		auto Kernels = acquireKernelsPerProgram();
		auto FastKernels = acquireFastKernels();

		FastKernels.get().emplace(Key, Kernels.get()[Of][Name]);
	}

private:
	std::mutex MProgramsMutex, MKernelsMutex, MFastKernelsMutex, MEvictionMutex;
	ProgramCache MPrograms;
	KernelCache MKernels;
	FastKernelCache MFastKernels;
	EvictionList MEvictionList;
};

struct Keys {
	ProgramKey Program;
	std::string Name;
	FastKernelKey FastKernel;
};

struct Maps {
	KernelProgramCache Cache;
	std::vector<Keys> Made;
	memory_item *First;
	bool Counted;
};

Keys keysOf(const memory_item &Item)
{
	Keys Made;
	const auto *Constants = reinterpret_cast<const char *>(Item.constants);

	Made.Program.ImageId = Item.image;
	if (Item.key) {	/* a layer's key is one string of bytes */
		Made.Program.Constants.assign(reinterpret_cast<const char *>(Item.key),
					      Item.key_len);
	} else {
		Made.Program.Constants.assign(Constants, sizeof(Item.constants));
		Made.Program.Options = Item.options;
		Made.Program.Devices.assign(Item.devices, Item.devices + MEMORY_DEVICES);
	}
	Made.Name.assign(Item.name, Item.name_len);
	Made.FastKernel = FastKernelKey(std::string(Constants, sizeof(Item.constants)),
					Item.devices[0], Made.Name);
	return Made;
}

void *fill(memory_items *Items)
{
	auto *M = new Maps;

	M->First = Items->items;
	M->Counted = Items->counted;
	for (memory_item &Item : Items->items) {
		M->Made.push_back(keysOf(Item));
		const Keys &Key = M->Made.back();
		memory_value *Program = M->Cache.getProgram(Key.Program, [&] { return &Item.program; });
		(void)M->Cache.getKernel(Program, Key.Name, [&] { return &Item.kernel; });
		M->Cache.saveKernelFast(Key.FastKernel, Program, Key.Name);
	}
	return M;
}

const Keys &madeOf(Maps *M, memory_item *Item)
{
	return M->Made[static_cast<size_t>(Item - M->First)];
}

memory_value *retained(const Maps *M, memory_value *Value)
{
	if (Value && M->Counted)
		memory_value_retain(Value);
	return Value;
}

memory_value *hitProgram(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return retained(M, M->Cache.getProgram(madeOf(M, Item).Program, [] {
		return static_cast<memory_value *>(nullptr);
	}));
}

memory_value *hitKernel(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return retained(M, M->Cache.getKernel(&Item->program, madeOf(M, Item).Name, [] {
		return static_cast<memory_value *>(nullptr);
	}));
}

memory_value *hitFastKernel(void *Of, memory_item *Item)
{
	auto *M = static_cast<Maps *>(Of);

	return retained(M, M->Cache.tryToGetKernelFast(madeOf(M, Item).FastKernel));
}

void release(void *Of)
{
	delete static_cast<Maps *>(Of);
}

} // namespace

const memory_contender memory_three_maps = {
	"three maps", fill, { hitProgram, hitKernel, hitFastKernel }, release
};
