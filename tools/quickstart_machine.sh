# SPDX-License-Identifier: MIT
# What quickstart.sh knows of machines: what building needs and how each
# distribution calls it, and the drivers. Sourced, does nothing by itself.
# shellcheck shell=sh

# Names of packages: what is needed, then Debian and Ubuntu, Fedora, Arch, openSUSE, Alpine, and
# words for all others; "+" stands for a blank, "-" for a package that is not known there.
package_table='
compiler	gcc+libc6-dev	gcc	gcc	gcc	gcc+musl-dev	gcc+12+or+clang+14
cmake	cmake	cmake	cmake	cmake	cmake	CMake+3.20
ninja	ninja-build	ninja-build	ninja	ninja	ninja	Ninja+or+make
pkg-config	pkg-config	pkgconf-pkg-config	pkgconf	pkgconf-pkg-config	pkgconf	pkg-config
xxhash	libxxhash-dev	xxhash-devel	xxhash	xxhash-devel	xxhash-dev	xxHash
deflate	libdeflate-dev	libdeflate-devel	libdeflate	libdeflate-devel	libdeflate-dev	libdeflate
json	libjson-c-dev	json-c-devel	json-c	libjson-c-devel	json-c-dev	json-c
uthash	uthash-dev	uthash-devel	uthash	uthash-devel	uthash-dev	uthash
sodium	libsodium-dev	libsodium-devel	libsodium	libsodium-devel	libsodium-dev	libsodium
opencl	opencl-c-headers	opencl-headers	opencl-headers	opencl-headers	opencl-headers	the+OpenCL+headers
loader	ocl-icd-libopencl1	OpenCL-ICD-Loader	ocl-icd	libOpenCL1	opencl-icd-loader	an+OpenCL+loader
level-zero	libze-dev	oneapi-level-zero-devel	level-zero-headers	level-zero-devel	level-zero-dev	the+Level+Zero+headers
intel	intel-opencl-icd	intel-opencl	intel-compute-runtime	intel-opencl	-	intel-compute-runtime
mesa	mesa-opencl-icd	mesa-libOpenCL	opencl-mesa	Mesa-libRusticlOpenCL	mesa-rusticl	Mesa'"'"'s+rusticl
rusticl	mesa-opencl-icd	mesa-libOpenCL	opencl-mesa	Mesa-libRusticlOpenCL	mesa-rusticl	Mesa'"'"'s+rusticl
pocl	pocl-opencl-icd	pocl	pocl	pocl	pocl	pocl
darktable	darktable	darktable	darktable	darktable	darktable	darktable
clblast	clblast-utils	-	clblast	-	-	CLBlast+with+its+tuners
'

# read_distribution: into $distribution (its name) and $family (debian, fedora, arch, suse, alpine,
# other). The variable is systemd's.
read_distribution()
{
	distribution='this system' family=other
	for file in "${SYSTEMD_OS_RELEASE-}" /etc/os-release /usr/lib/os-release; do
		[ -r "$file" ] && break
	done
	[ -r "$file" ] || return 0
	name=$(sed -n 's/^NAME=//p' "$file" | tr -d "\"'")
	distribution=${name:-$distribution}
	for id in $(sed -n 's/^ID=//p; s/^ID_LIKE=//p' "$file" | tr -d "\"'"); do
		case $id in
		debian | ubuntu) family=debian ;;
		fedora | rhel | centos) family=fedora ;;
		arch) family=arch ;;
		suse | opensuse*) family=suse ;;
		alpine) family=alpine ;;
		*) continue ;;
		esac
		break
	done
}

# packages_of NEED...: their names for $family.
packages_of()
{
	case $family in
	debian) column=2 ;;
	fedora) column=3 ;;
	arch) column=4 ;;
	suse) column=5 ;;
	alpine) column=6 ;;
	*) column=7 ;;
	esac
	for need in "$@"; do
		echo "$package_table" | awk -F '\t' -v need="$need" -v column="$column" \
			'$1 == need && $column != "-" { print $column }'
	done | if [ "$family" = other ]; then
		tr '+\n' ' ,' | sed 's/,$//; s/,/, /g'
	else
		tr '+\n' '  ' | sed 's/ $//'
	fi
}

# install_command: of $family.
install_command()
{
	case $family in
	debian) echo sudo apt-get install ;;
	fedora) echo sudo dnf install ;;
	arch) echo sudo pacman -S ;;
	suse) echo sudo zypper install ;;
	alpine) echo sudo apk add ;;
	esac
}

# how_to_install NEED...: what to type, or what to look for.
how_to_install()
{
	if [ "$family" = other ]; then
		packages_of "$@"
	else
		echo "$(install_command) $(packages_of "$@")"
	fi
}

has_header()
{
	echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1
}

# missing_needs: what building and running lack, by the table's words.
missing_needs()
{
	command -v cc >/dev/null || echo compiler
	command -v cmake >/dev/null || echo cmake
	command -v ninja >/dev/null || command -v make >/dev/null || echo ninja
	command -v pkg-config >/dev/null || echo pkg-config
	pkg-config --exists libxxhash 2>/dev/null || echo xxhash
	pkg-config --exists libdeflate 2>/dev/null || echo deflate
	pkg-config --exists json-c 2>/dev/null || echo json
	has_header uthash.h || echo uthash
	has_header sodium.h || echo sodium
	has_header CL/cl_layer.h || echo opencl
	echo 'int main(void) { return 0; }' |
		cc -x c - -o /dev/null -l:libOpenCL.so.1 2>/dev/null || echo loader
}

# gpu_driver: which driver the GPU of this machine wants, intel or mesa; nothing for none and for
# NVIDIA's, whose driver is one with the kernel's and comes from who installed that.
gpu_driver()
{
	for vendor in /sys/class/drm/renderD*/device/vendor; do
		case $(cat "$vendor" 2>/dev/null) in
		0x8086) echo intel ;;
		0x1002) echo mesa ;;
		esac
	done | head -n 1
}

# use_only FILE: sets the loader to the driver of that vendors' file; 1 if there is none.
use_only()
{
	mkdir -p "$work/vendors-$1"
	cat "${OPENCL_VENDOR_PATH:-/etc/OpenCL/vendors}/$1.icd" >"$work/vendors-$1/$1.icd" 2>/dev/null ||
		return 1
	export OCL_ICD_VENDORS="$work/vendors-$1"
	unset OCL_ICD_FILENAMES
}

# use_driver NAME: sets the environment in which its device is there; 1 if it is not installed.
use_driver()
{
	case $1 in
	gpu) ;;
	mesa)
		# Mesa's drivers of real GPUs, of which Mesa wants to be told.
		use_only rusticl || return
		export RUSTICL_ENABLE=iris,radeonsi,panfrost,freedreno,asahi
		;;
	intel)
		# Intel's driver compiles for a Tiger Lake that is not there, and runs nothing.
		use_only intel || return
		export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=tgllp \
			HardwareInfoOverride=1x6x16 UseAubStream=0
		;;
	rusticl)
		# On the CPU; said to be a GPU, as darktable refuses others.
		use_only rusticl || return
		export RUSTICL_ENABLE=llvmpipe RUSTICL_DEVICE_TYPE=gpu
		;;
	pocl) use_only pocl ;;
	esac
}

# devices NAME: the devices of that driver, a name a line; with "gpu" and "mesa", GPUs alone.
devices()
(
	use_driver "$1" || exit 0
	cd "$work" || exit 0
	case $1 in
	gpu | mesa) type=gpu ;;
	*) type= ;;
	esac
	timeout 120 "$ckcache" worker opencl 3>&1 >/dev/null 2>&1 </dev/null |
		awk -F '\t' -v type="$type" '$1 == "device" && (type == "" || $6 == type) { print $4 }'
)

# driver_text NAME
driver_text()
{
	case $1 in
	gpu) echo "this machine's GPU" ;;
	mesa) echo "this machine's GPU, with Mesa's rusticl" ;;
	intel) echo "Intel's compiler without hardware" ;;
	rusticl) echo "Mesa's rusticl, on the CPU" ;;
	pocl) echo "pocl, on the CPU" ;;
	esac
}
