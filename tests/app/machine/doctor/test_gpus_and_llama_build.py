"""What the doctor says of cards, drivers and the llama.cpp that should use them, on machines that are not here."""

import signal

import pytest

from laguna_engine.native.child import Output
from laguna_tui.machine.doctor.checks import examine
from laguna_tui.machine.doctor.findings import FindingStatus
from laguna_tui.machine.doctor.gpus import Vendor, detect_graphics
from laguna_tui.machine.doctor.llama_build import AMX_HEADER
from tests.app.machine.doctor.simulated import (
    AMX,
    CPU_ONLY,
    CUDA_BUILD,
    DRIVER,
    GIB,
    NO_AVX2,
    PCI_AMD,
    PCI_ARC,
    PCI_INTEL,
    PCI_NVIDIA,
    RTX_3060,
    RTX_3090,
    SITE,
    Simulated,
    answer,
    loads,
    nvidia,
)


def found(machine, check):
    """The findings of one check."""
    return [finding for finding in examine(machine) if finding.check == check]


def one(machine, check):
    findings = found(machine, check)
    assert len(findings) == 1
    return findings[0]


def test_a_gpu_that_a_cpu_build_cannot_use_is_a_warning():
    finding = one(Simulated(nvidia(RTX_3090)), "llama.cpp")
    assert finding.status is FindingStatus.WARN
    there, reason = finding.found.split(": ")
    assert there == "this llama.cpp cannot use the GPU of this machine (NVIDIA GeForce RTX 3090)"
    assert reason == "it was built for the processor only"
    assert finding.todo == "run: laguna-tui setup gpu"


def test_a_gpu_that_is_used_passes():
    devices = (("NVIDIA GeForce RTX 3090", "gpu"), ("Some Processor 9000", "cpu"))
    machine = Simulated({**nvidia(RTX_3090), **loads(answer(devices, ("CUDA", "CPU")))}, CUDA_BUILD)
    finding = one(machine, "llama.cpp")
    assert (finding.status, finding.todo) == (FindingStatus.OK, "")
    assert "NVIDIA GeForce RTX 3090" in finding.found
    assert one(machine, "GPU libraries").status is FindingStatus.OK


def test_a_cuda_build_that_finds_no_card_is_not_called_a_cpu_build():
    finding = one(Simulated(nvidia(RTX_3090), CUDA_BUILD), "llama.cpp")
    assert finding.status is FindingStatus.WARN
    assert finding.found.endswith("it was built for CUDA, and CUDA finds no card")


def test_the_card_is_reported_with_its_memory_and_the_driver_with_its_cuda():
    machine = Simulated(nvidia(RTX_3090))
    assert one(machine, "graphics card").found == "NVIDIA GeForce RTX 3090, 24.0 GiB, 22.5 GiB free"
    assert one(machine, "NVIDIA driver").found == "550.54.14, supports CUDA up to 12.4"


def test_two_cards_are_two_findings_and_are_counted_together():
    machine = Simulated(nvidia(RTX_3060, RTX_3060))
    assert len(found(machine, "graphics card")) == 2
    assert "cannot use the GPUs of this machine (2 x NVIDIA GeForce RTX 3060)" in one(machine, "llama.cpp").found


def test_a_driver_too_old_for_every_wheel_is_a_warning_that_says_what_is_new_enough():
    row = "Tesla K80, 470.82.01, 11441, 11441, 3.7"
    finding = one(Simulated(nvidia(row, header="CUDA Version: 11.4")), "NVIDIA driver")
    assert finding.status is FindingStatus.WARN
    assert "too old for every prebuilt wheel" in finding.found
    assert "525 or newer" in finding.todo


def test_the_cuda_version_is_derived_from_the_drivers_branch():
    row = "NVIDIA GeForce RTX 3090, 535.104.05, 24576, 23012, 8.6"
    assert detect_graphics(Simulated(nvidia(row, header="no table today"))).cuda == (12, 2)


def test_a_driver_that_knows_no_compute_capability_is_asked_again_without_it():
    commands = {
        "nvidia-smi": "CUDA Version: 11.4",
        "nvidia-smi --query-gpu": "NVIDIA GeForce RTX 3090, 470.82.01, 24576, 23012",
        "nvidia-smi --query-gpu=name,driver_version,memory.total,memory.free,compute_cap": Output(
            2, 'Field "compute_cap" is not a valid field to query.'
        ),
    }
    card = detect_graphics(Simulated(commands)).cards[0]
    assert (card.name, card.capability) == ("NVIDIA GeForce RTX 3090", None)


def test_a_card_that_shares_memory_says_nothing_of_its_own():
    machine = Simulated(nvidia("NVIDIA GB10, 580.95.05, [N/A], [N/A], 12.1", header="CUDA Version: 13.0"))
    assert one(machine, "graphics card").found == "NVIDIA GB10"
    assert detect_graphics(machine).cards[0].capability == (12, 1)


def test_a_card_on_the_bus_without_nvidia_smi_asks_for_the_driver_before_the_wheel():
    machine = Simulated(files={**CPU_ONLY, **PCI_NVIDIA})
    assert "install NVIDIA's driver" in one(machine, "NVIDIA driver").todo
    assert one(machine, "llama.cpp").todo.startswith("fix the driver first")


def test_a_loaded_driver_without_nvidia_smi_is_distinguished_from_none():
    machine = Simulated(files={**CPU_ONLY, **PCI_NVIDIA, **DRIVER})
    finding = one(machine, "NVIDIA driver")
    assert finding.found == "driver 550.54.14 is loaded, but nvidia-smi is not installed"
    assert detect_graphics(machine).cuda == (12, 4)
    assert one(machine, "llama.cpp").todo == "run: laguna-tui setup gpu"


def test_an_nvidia_smi_that_hangs_is_a_finding_and_no_hang():
    machine = Simulated({"nvidia-smi": None}, {**CPU_ONLY, **PCI_NVIDIA})
    finding = one(machine, "NVIDIA driver")
    assert finding.found == "nvidia-smi does not respond"
    assert "restart the machine" in finding.todo


def test_an_nvidia_smi_that_fails_is_quoted():
    said = Output(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    machine = Simulated({"nvidia-smi": said}, {**CPU_ONLY, **PCI_NVIDIA})
    assert "couldn't communicate" in one(machine, "NVIDIA driver").found


def test_in_wsl_the_driver_belongs_into_windows():
    files = {**CPU_ONLY, **PCI_NVIDIA, "/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2"}
    machine = Simulated(files=files)
    assert "in Windows" in one(machine, "NVIDIA driver").todo
    assert one(machine, "system").found.endswith("inside WSL")


def test_a_container_without_a_card_has_a_remedy():
    machine = Simulated(files={**CPU_ONLY, "/.dockerenv": ""})
    assert "--gpus all" in one(machine, "graphics card").todo
    assert one(machine, "system").found.endswith("inside a container")


def test_an_amd_card_is_found_on_the_bus_with_its_memory():
    machine = Simulated(files={**CPU_ONLY, **PCI_AMD, "/opt/rocm/.info/version": "7.2.1-81\n"})
    assert one(machine, "graphics card").found == "AMD graphics 0x744c, 24.0 GiB, 23.0 GiB free"
    assert one(machine, "ROCm").found.startswith("7.2")
    assert one(machine, "llama.cpp").status is FindingStatus.WARN


def test_an_amd_card_without_rocm_may_go_through_vulkan_or_needs_one_of_them():
    assert one(Simulated(files={**CPU_ONLY, **PCI_AMD}), "ROCm").status is FindingStatus.OK
    assert one(Simulated({"ldconfig -p": ""}, {**CPU_ONLY, **PCI_AMD}), "ROCm").status is FindingStatus.WARN


@pytest.mark.parametrize(
    "files",
    [PCI_INTEL, {**PCI_AMD, "/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total": f"{GIB // 2}\n"}],
)
def test_small_cards_inside_processors_are_listed_but_not_recommended(files):
    machine = Simulated(files={**CPU_ONLY, **files})
    assert one(machine, "graphics card").status is FindingStatus.OK
    assert one(machine, "llama.cpp").status is FindingStatus.OK


def test_a_card_of_intel_s_behind_a_bridge_is_used_through_vulkan():
    machine = Simulated(files={**CPU_ONLY, **PCI_INTEL, **PCI_ARC})
    assert one(machine, "Vulkan").found == "the loader is installed for Intel graphics 0xe20b"
    assert one(machine, "llama.cpp").todo == "run: laguna-tui setup gpu"
    without = Simulated({"ldconfig -p": ""}, machine.files)
    assert "libvulkan1" in one(without, "Vulkan").todo


def test_a_vulkan_plug_in_that_finds_no_card_lacks_the_card_s_driver():
    plugin = f"{SITE}/laguna_ggml_plugins/libggml-vulkan.so"
    machine = Simulated(files={**CPU_ONLY, **PCI_AMD, plugin: ""})
    finding = one(machine, "llama.cpp")
    assert finding.found.endswith("it was built for Vulkan, and Vulkan finds no card")
    assert "mesa-vulkan-drivers" in finding.todo
    machine.commands[f"ldd {plugin}"] = "\tlibggml-base.so.0 => not found\n\tlibvulkan.so.1 => not found\n"
    assert one(machine, "GPU libraries").todo == "install the Vulkan loader (libvulkan1, vulkan-loader)"


def test_apple_silicon_shares_its_memory_and_is_used_through_metal():
    commands = {
        "sysctl -n machdep.cpu.brand_string": "Apple M3 Pro\n",
        **loads(answer((("Apple M3 Pro", "gpu"),), ("MTL", "CPU"))),
    }
    machine = Simulated(commands, system="Darwin", processor="arm64", memory=36)
    assert detect_graphics(machine).cards[0].vendor is Vendor.APPLE
    assert one(machine, "graphics card").found == "Apple M3 Pro, shares 36 GiB with the processor"
    assert one(machine, "llama.cpp").status is FindingStatus.OK


def test_missing_cuda_libraries_are_named_with_what_brings_them():
    ldd = (
        "\tlibcudart.so.12 => not found\n\tlibcublas.so.12 => not found\n\tlibc.so.6 => /lib/libc.so.6\n"
        "\tlibcublasLt.so.12 => not found\n"
    )
    error = '{"error": "llama.cpp cannot be loaded (libcudart.so.12: cannot open shared object file)"}'
    machine = Simulated({**nvidia(RTX_3090), f"ldd {SITE}": ldd, **loads(error)}, CUDA_BUILD)
    finding = one(machine, "GPU libraries")
    assert finding.status is FindingStatus.FAIL
    assert finding.found == "missing: libcudart.so.12, libcublas.so.12, libcublasLt.so.12"
    assert "nvidia-cuda-runtime-cu12, nvidia-cublas-cu12" in finding.todo
    assert "see the missing libraries" in one(machine, "llama.cpp").todo


def test_libraries_inside_nvidia_packages_are_not_missing():
    files = {**CUDA_BUILD, f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12": ""}
    machine = Simulated({**nvidia(RTX_3090), f"ldd {SITE}": "\tlibcudart.so.12 => not found\n"}, files)
    assert one(machine, "GPU libraries").status is FindingStatus.OK


def test_a_plug_in_is_a_build_for_cards_and_its_libraries_are_looked_for():
    plugin = f"{SITE}/laguna_ggml_plugins/libggml-cuda-sm86.so"
    ldd = "\tlibggml-base.so.0 => not found\n\tlibcudart.so.13 => not found\n"
    machine = Simulated({**nvidia(RTX_3090), f"ldd {plugin}": ldd}, {**CPU_ONLY, plugin: ""})
    finding = one(machine, "GPU libraries")
    assert finding.found == "missing: libcudart.so.13"
    assert "it was built for CUDA" in one(machine, "llama.cpp").found


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Output(-signal.SIGILL), "instructions that this processor does not have"),
        (Output(-signal.SIGSEGV), "it crashed with SIGSEGV"),
        (Output(None, timed_out=True), "did not respond in time"),
        (Output(1, errors="Traceback\nImportError: no such thing\n"), "ImportError: no such thing"),
        ('{"error": "ggml is 0.1, this engine was written for 0.2"}', "ggml is 0.1"),
    ],
)
def test_a_llama_cpp_that_does_not_load_is_a_failure_with_its_reason_and_a_way_back(said, words):
    finding = one(Simulated(loads(said)), "llama.cpp")
    assert finding.status is FindingStatus.FAIL
    assert words in finding.found
    assert "laguna-tui setup gpu" in finding.todo


def test_without_the_bindings_the_app_must_be_installed_again():
    finding = one(Simulated(files={}), "llama.cpp")
    assert finding.status is FindingStatus.FAIL
    assert "pipx install" in finding.todo


def test_a_processor_without_avx2_is_a_warning_that_names_the_way_out():
    finding = one(Simulated(files={**CPU_ONLY, **NO_AVX2}), "processor")
    assert finding.status is FindingStatus.WARN
    assert "without AVX2" in finding.found
    assert "--source" in finding.todo


def test_a_build_without_avx2_on_a_processor_that_has_it_is_mentioned():
    machine = Simulated(loads(answer(features="CPU : SSE3 = 1 | ")))
    assert "built without" in one(machine, "processor").found


def test_the_build_its_kernels_and_its_plugin_are_named():
    machine = Simulated(loads(answer(features="CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 1 | AMX_INT8 = 0 | ")))
    assert one(machine, "llama.cpp").found == (
        "llama-cpp-python 0.3.36, ggml 0.25.3, runs on the processor"
        " (backends: CPU; kernels: AVX2, AVX512; GPU plug-in: none)"
    )
    said = loads(answer((("RTX 3090", "gpu"),), ("CUDA", "CPU")))
    plugin = {f"{SITE}/laguna_ggml_plugins/libggml-cuda-sm86.so": ""}
    assert one(Simulated(said, {**CPU_ONLY, **plugin}), "llama.cpp").found == (
        "llama-cpp-python 0.3.36, ggml 0.25.3, runs on RTX 3090"
        " (backends: CUDA, CPU; kernels: AVX2; GPU plug-in: ggml-cuda-sm86)"
    )
    assert one(Simulated(said, CUDA_BUILD), "llama.cpp").found.endswith("GPU plug-in: none, built for CUDA)")


def test_kernels_that_an_old_gcc_miscompiled_are_rebuilt_with_the_fix():
    machine = Simulated(loads(answer(faults={"AMX": "it crashes with SIGSEGV"})), files={**CPU_ONLY, **AMX})
    finding = one(machine, "kernels")
    assert finding.status is FindingStatus.WARN
    assert "AMX: it crashes with SIGSEGV" in finding.found
    assert f"CMAKE_ARGS=-DGGML_NATIVE=on CXXFLAGS='-include {AMX_HEADER}' /app/bin/python" in finding.todo
    assert "--no-binary llama-cpp-python llama-cpp-python==0.3.36" in finding.todo
    assert AMX_HEADER.is_file()
    assert one(machine, "llama.cpp").status is FindingStatus.OK


def test_kernels_that_the_system_forbids_are_left_out_of_the_build():
    machine = Simulated(loads(answer(faults={"AMX": "it crashes with SIGILL"})), files={**CPU_ONLY, **AMX})
    assert "CMAKE_ARGS='-DGGML_NATIVE=off -DGGML_AVX512=on -DGGML_AVX512_VNNI=on'" in one(machine, "kernels").todo


def test_a_build_for_a_card_is_built_for_it_again():
    devices = (("RTX 3090", "gpu"), ("Some Processor 9000", "cpu"))
    machine = Simulated(loads(answer(devices, faults={"CPU_REPACK": "its products are wrong"})), files=CUDA_BUILD)
    assert "CMAKE_ARGS='-DGGML_CPU_REPACK=off -DGGML_CUDA=on'" in one(machine, "kernels").todo


def test_kernels_that_work_are_not_mentioned():
    assert found(Simulated(), "kernels") == []
