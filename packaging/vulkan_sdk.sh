#!/bin/sh
# Puts what the Vulkan plug-in is built with into a folder: conda-forge's glslc, because it runs with an old glibc, the
# Vulkan loader, the SPIR-V headers, and the Vulkan headers of LunarG's SDK, checked by their hash.
#
#   sh packaging/vulkan_sdk.sh FOLDER
set -eu

SDK=1.4.341.0
SDK_SHA256=ed66477d587a5587dc3601b1c2cdcc1fab5529c505f53a00171876cecd9b4fbe

folder=${1:?name the folder to fill}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

curl -fsSL https://micro.mamba.pm/api/micromamba/linux-64/latest | tar -xj -C "$work" bin/micromamba
"$work/bin/micromamba" create -y -q -p "$folder" -c conda-forge shaderc libvulkan-loader spirv-headers
"$folder/bin/glslc" --version

curl -fsSL -o "$work/sdk.tar.xz" "https://sdk.lunarg.com/sdk/download/$SDK/linux/vulkansdk-linux-x86_64-$SDK.tar.xz"
echo "$SDK_SHA256  $work/sdk.tar.xz" | sha256sum --check
tar -xJf "$work/sdk.tar.xz" -C "$work" "$SDK/x86_64/include/vulkan" "$SDK/x86_64/include/vk_video"
cp -r "$work/$SDK"/x86_64/include/* "$folder/include/"
