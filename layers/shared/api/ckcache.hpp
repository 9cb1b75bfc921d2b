/* SPDX-License-Identifier: MIT */
/**
 * @file ckcache.hpp
 * ckcache.h for C++11 and later: bytes as std::vector, descriptions that free themselves, failures
 * as exceptions, and the functions of oneDNN's two proposals under their names. Header only; link
 * libckcache. Each function is the C function of ckcache.h that it names, whose contract is there;
 * a status below 0 becomes ckcache::error.
 */
#ifndef CKCACHE_HPP
#define CKCACHE_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ckcache.h"

namespace ckcache {

/** Ids, blobs and data. */
using bytes = std::vector<std::uint8_t>;

/** A function of ckcache.h failed. */
class error : public std::runtime_error {
public:
	/** With the status's phrase as its text. */
	explicit error(ckcache_status status)
		: std::runtime_error(ckcache_status_string(status)), status_(status) {}
	/** What the function returned. */
	ckcache_status status() const noexcept { return status_; }

private:
	ckcache_status status_;
};

/** The driver could not build a program. The handle is the caller's, to ask for its log and to release. */
class build_error : public error {
public:
	/** With CKCACHE_ERROR_BUILD. */
	explicit build_error(_cl_program *program) : error(CKCACHE_ERROR_BUILD), program_(program) {}
	/** Not released by this object, which may be copied. */
	_cl_program *program() const noexcept { return program_; }

private:
	_cl_program *program_;
};

/** Throws unless the status is CKCACHE_OK or, with miss, CKCACHE_MISS; true: CKCACHE_OK. */
inline bool check(ckcache_status status, bool miss = false)
{
	if (status != CKCACHE_OK && !(miss && status == CKCACHE_MISS))
		throw error(status);
	return status == CKCACHE_OK;
}

/** @cond */
namespace detail {
/* What a function of the "Sizes" convention returns; the size may change between two calls. */
template <typename Function> bytes read(Function function)
{
	for (;;) {
		std::size_t size = 0;
		check(function(&size, static_cast<std::uint8_t *>(nullptr)));
		bytes result(size);
		if (!size)
			return result;
		ckcache_status status = function(&size, result.data());
		if (status == CKCACHE_ERROR_BUFFER_TOO_SMALL)
			continue;
		check(status);
		result.resize(size);
		return result;
	}
}
} // namespace detail
/** @endcond */

/**
 * @name Settings, as "Persistent Cache in oneDNN" names them
 * @{
 */
/** ckcache_set_persistent() */
inline void set_persistent_cache(bool enable, ckcache_api api)
{
	check(ckcache_set_persistent(api, enable));
}
/** ckcache_get_persistent() */
inline bool get_persistent_cache(ckcache_api api)
{
	int enabled = 0;
	check(ckcache_get_persistent(api, &enabled));
	return enabled != 0;
}
/** ckcache_set_capacity(); bytes, 0: no bound */
inline void set_persistent_cache_capacity(std::uint64_t capacity)
{
	check(ckcache_set_capacity(capacity));
}
/** ckcache_get_capacity() */
inline std::uint64_t get_persistent_cache_capacity()
{
	std::uint64_t capacity = 0;
	check(ckcache_get_capacity(&capacity));
	return capacity;
}
/** ckcache_set_dir() */
inline void set_persistent_cache_dir(const std::string &dir)
{
	check(ckcache_set_dir(dir.c_str()));
}
/** ckcache_get_dir(); empty: there is no cache on disk */
inline std::string get_persistent_cache_dir()
{
	bytes dir = detail::read([](std::size_t *size, std::uint8_t *to) {
		return ckcache_get_dir(size, reinterpret_cast<char *>(to));
	});
	return dir.empty() ? std::string() : std::string(dir.begin(), dir.end() - 1);
}
/** ckcache_flush() */
inline void flush()
{
	check(ckcache_flush());
}
/** @} */

/** What kind of blob that is: ckcache_blob_get_kind() */
inline ckcache_kind blob_kind(const bytes &blob)
{
	ckcache_kind kind = CKCACHE_KIND_PROGRAMS;
	check(ckcache_blob_get_kind(blob.size(), blob.data(), &kind));
	return kind;
}

/** A description (struct ckcache_desc), which it owns; it can be moved, not copied. */
class desc {
public:
	/** Takes one that a function of ckcache.h made, of so many OpenCL programs. */
	explicit desc(ckcache_desc *made = nullptr, std::size_t count = 0) noexcept
		: desc_(made), count_(count) {}
	/** ckcache_opencl_desc_new() */
	desc(_cl_context *context, _cl_device_id *device, const std::vector<ckcache_program> &programs)
		: desc_(nullptr), count_(programs.size())
	{
		check(ckcache_opencl_desc_new(context, device, programs.size(), programs.data(), &desc_));
	}
	/** ckcache_opencl_device_desc_new() */
	desc(_cl_device_id *device, const ckcache_library &library) : desc_(nullptr)
	{
		check(ckcache_opencl_device_desc_new(device, &library, &desc_));
	}
	desc(const desc &) = delete;
	desc &operator=(const desc &) = delete;
	/** The other one is empty afterwards. */
	desc(desc &&other) noexcept : desc_(other.desc_), count_(other.count_) { other.desc_ = nullptr; }
	/** The other one is empty afterwards. */
	desc &operator=(desc &&other) noexcept
	{
		desc taken(std::move(other));
		std::swap(desc_, taken.desc_);
		std::swap(count_, taken.count_);
		return *this;
	}
	~desc() { ckcache_desc_free(desc_); }

	/** Borrowed; nullptr: empty. */
	ckcache_desc *get() const noexcept { return desc_; }

	/** ckcache_desc_get_id(); empty: it has none */
	bytes get_id() const
	{
		return detail::read([this](std::size_t *size, std::uint8_t *to) {
			return ckcache_desc_get_id(desc_, size, to);
		});
	}
	/** ckcache_desc_evict(); storage may be nullptr: the machine's cache */
	void evict(const ckcache_storage *storage = nullptr) { check(ckcache_desc_evict(desc_, storage)); }

	/** ckcache_opencl_get_blob(): one blob for all programs, of which there must be as many; empty: there can be none */
	bytes get_blob(const std::vector<_cl_program *> &programs) const
	{
		if (programs.size() != count_)
			throw error(CKCACHE_ERROR_INVALID_ARGUMENT);
		return detail::read([this, &programs](std::size_t *size, std::uint8_t *to) {
			return ckcache_opencl_get_blob(desc_, programs.data(), size, to);
		});
	}
	/** ckcache_opencl_create_from_blob(); the caller releases the programs */
	std::vector<_cl_program *> create_from_blob(const bytes &blob) const
	{
		std::vector<_cl_program *> programs(count_);
		check(ckcache_opencl_create_from_blob(desc_, blob.size(), blob.data(), programs.data()));
		return programs;
	}
	/** ckcache_opencl_build(); the caller releases the programs. What could not be built is in a build_error. */
	std::vector<_cl_program *> build(const ckcache_storage *storage = nullptr,
					 ckcache_origin *ret_origin = nullptr) const
	{
		std::vector<_cl_program *> programs(count_);
		ckcache_status status = ckcache_opencl_build(desc_, storage, programs.data(), ret_origin);
		if (status == CKCACHE_ERROR_BUILD)
			throw build_error(programs[0]);
		check(status);
		return programs;
	}

private:
	ckcache_desc *desc_;
	std::size_t count_ = 0;
};

/** ckcache_desc_load_batch(); the storage must outlive the next build of each */
inline void load_batch(const ckcache_storage &storage, const std::vector<const desc *> &descs)
{
	std::vector<ckcache_desc *> all;
	for (const desc *one : descs)
		all.push_back(one->get());
	check(ckcache_desc_load_batch(&storage, all.size(), all.data()));
}

/** The functions of "Add Persistent Cache API for OpenCL Engine". */
namespace ocl_interop {

/**
 * A device, a context, and what the library learned about the device. oneDNN's engine has the
 * library's version and hash by itself; here the library names itself (struct ckcache_library). The
 * handles are borrowed.
 */
class engine {
public:
	/** Of data that the library has just learned; empty: nothing. */
	engine(_cl_device_id *device, _cl_context *context, const ckcache_library &library, bytes data)
		: device_(device), context_(context), desc_(device, library), data_(std::move(data)) {}

	/** As it was given. */
	_cl_device_id *device() const noexcept { return device_; }
	/** As it was given. */
	_cl_context *context() const noexcept { return context_; }
	/** What the library learned. */
	const bytes &data() const noexcept { return data_; }
	/** Of the device and the library. */
	const ckcache::desc &desc() const noexcept { return desc_; }

private:
	_cl_device_id *device_;
	_cl_context *context_;
	ckcache::desc desc_;
	bytes data_;
};

/** The id of the blob of an engine of that device. */
inline bytes get_engine_cache_blob_id(_cl_device_id *device, const ckcache_library &library)
{
	return ckcache::desc(device, library).get_id();
}
/** The blob of an engine; empty if it has no data: do not pass that to make_engine(). */
inline bytes get_engine_cache_blob(const engine &an_engine)
{
	return detail::read([&an_engine](std::size_t *size, std::uint8_t *to) {
		return ckcache_device_get_blob(an_engine.desc().get(), an_engine.data().size(),
					       an_engine.data().data(), size, to);
	});
}
/** An engine from a blob; refuses blobs like ckcache_device_get_data(). */
inline engine make_engine(_cl_device_id *device, _cl_context *context, const ckcache_library &library,
			  const bytes &cache_blob)
{
	ckcache::desc desc(device, library);
	return engine(device, context, library,
		      detail::read([&desc, &cache_blob](std::size_t *size, std::uint8_t *to) {
			      return ckcache_device_get_data(desc.get(), cache_blob.size(),
							     cache_blob.data(), size, to);
		      }));
}

} // namespace ocl_interop
} // namespace ckcache

#endif
