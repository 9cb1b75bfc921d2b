# SPDX-License-Identifier: MIT
# drivers.sh: sourced. use_driver NAME: an environment with that OpenCL driver
# alone and no vendor cache of programs, below the directory $work. The layer's library
# comes from $LAYER, an absolute path.

use_driver()
{
	case $1 in
	neo) library=$(ls /usr/lib/*/intel-opencl/libigdrcl.so) ;;
	rusticl) library=$(ls /usr/lib/*/libRusticlOpenCL.so.1) ;;
	pocl) library=$(ls /usr/lib/*/libpocl.so.2*.*.* | head -n 1) ;;
	oclgrind) library=$(ls /usr/lib/oclgrind/liboclgrind-rt-icd.so) ;;
	amd)	# with a device that runs nothing
		ls /usr/l*/*/libamdocl64.so >/dev/null 2>&1 || {
			echo "SKIPPED: there is no libamdocl64.so"
			exit 77
		}
		library=$(dirname "$LAYER")/liboffline_amd.so
		;;
	*)
		echo "no such driver: $1" >&2
		exit 2
		;;
	esac
	mkdir -p "$work/vendors" "$work/pocl" "$work/home"
	echo "$library" >"$work/vendors/driver.icd"
	export OCL_ICD_VENDORS="$work/vendors" HOME="$work/home"
	export XDG_CACHE_HOME="$work/home/cache" XDG_CONFIG_HOME="$work/home/config"
	export POCL_CACHE_DIR="$work/pocl" POCL_KERNEL_CACHE=0
	# Mesa's cache has no programs, and without it rusticl 26 takes seconds to read its built-ins.
	export MESA_SHADER_CACHE_DIR="$work/mesa" RUSTICL_ENABLE=llvmpipe
	export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=tgllp
	# Since 2023 the driver wants these too, and has a cache of its own.
	export HardwareInfoOverride=1x6x16 UseAubStream=0 NEO_CACHE_PERSISTENT=0
	export CKCACHE_DIR="$work/cache" CKCACHE_CAPTURE=eager CKCACHE_READ_ONLY_DIRS=
	cd "$work"
}

# with_layer COMMAND...: for the command, or function, alone.
with_layer()
{
	(
		export OPENCL_LAYERS="$LAYER"
		"$@"
	)
}
