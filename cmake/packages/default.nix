# SPDX-License-Identifier: MIT
# nix-build cmake/packages, in a checkout or an unpacked tarball.
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "ckcache";
  version = "0.2.0";
  src = pkgs.lib.cleanSource ../..;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config ];
  buildInputs = with pkgs; [
    curl hiredis json_c level-zero libdeflate libsodium ocl-icd opencl-headers openssl uthash xxHash
  ];
  # libsodium is loaded by its name at first use.
  postFixup = ''
    for file in $out/bin/ckcache $out/libexec/ckcache/ckcache-remote $out/lib/libckcache.so.1.*; do
      patchelf --add-rpath ${pkgs.lib.makeLibraryPath [ pkgs.libsodium ]} "$file"
    done
  '';
  meta = {
    description = "Cache for compiled compute kernels of OpenCL and Level Zero programs";
    homepage = "https://example.org/ckcache";
    license = pkgs.lib.licenses.mit;
    platforms = pkgs.lib.platforms.linux;
    mainProgram = "ckcache";
  };
}
