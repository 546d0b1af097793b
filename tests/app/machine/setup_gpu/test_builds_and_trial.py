"""The parts of `setup gpu` that need no index: which build fits, what a trial amounts to, wheels, environments."""

import errno
import json
import os
import signal
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.native.child import Output, outside_python
from laguna_tui.base.errors import UserError
from laguna_tui.machine.doctor.gpus import detect_graphics
from laguna_tui.machine.doctor.llama_build import AMX_HEADER
from laguna_tui.machine.setup_gpu.builds import (
    BUILDS,
    build_command,
    build_needs,
    choose_builds,
    missing_packages,
    named_builds,
)
from laguna_tui.machine.setup_gpu.installer import without_credentials
from laguna_tui.machine.setup_gpu.pip import PythonEnvironment, SetupFailed, Wheel, _check_hashes
from laguna_tui.machine.setup_gpu.rollback import Rollback, _paths, installed
from laguna_tui.machine.setup_gpu.trial import trial_result, try_nano
from tests.app.machine.doctor.simulated import (
    AMX,
    CPU_ONLY,
    DRIVER,
    PCI_AMD,
    PCI_ARC,
    PCI_INTEL,
    PCI_NVIDIA,
    RTX_3060,
    RTX_3090,
    SITE,
    Simulated,
    nvidia,
)
from tests.app.machine.setup_gpu import fake_builds


def tags(machine):
    return [tag.name for tag in choose_builds(detect_graphics(machine), machine)]


def card(name, driver, cuda, capability, **more):
    return Simulated(nvidia(f"{name}, {driver}, 8192, 8000, {capability}", header=f"CUDA Version: {cuda}"), **more)


@pytest.mark.parametrize(
    ("driver", "cuda", "capability", "first"),
    [
        ("595.45.04", "13.2", "8.6", "sm86"),
        ("595.45.04", "13.2", "8.0", "cu132"),
        ("580.65.06", "13.0", "12.0", "sm120"),
        ("580.65.06", "13.0", "7.5", "sm75"),
        ("580.65.06", "13.0", "8.9", "sm89"),
        ("580.65.06", "13.0", "9.0", "cu130"),
        ("575.51.03", "12.9", "12.0", "cu125"),
        ("550.54.14", "12.4", "8.6", "cu124"),
        ("535.54.03", "12.2", "8.9", "cu122"),
        ("525.60.13", "12.0", "8.6", "cu118"),
        ("580.65.06", "13.0", "6.1", "cu125"),
        ("520.61.05", "11.8", "7.5", "cu118"),
        ("470.82.01", "11.4", "8.6", "vulkan-plugin"),
        ("550.54.14", "12.4", "5.2", "vulkan-plugin"),
        ("525.60.13", "12.0", "9.0", "vulkan-plugin"),
    ],
)
def test_the_newest_build_that_driver_and_card_can_run_comes_first(driver, cuda, capability, first):
    assert tags(card("Some Card", driver, cuda, capability))[0] == first


def test_with_two_cards_the_build_must_run_on_both():
    old = "NVIDIA GeForce GTX 1080, 580.65.06, 8192, 8000, 6.1"
    machine = Simulated(nvidia(RTX_3060, old, header="CUDA Version: 13.0"))
    assert tags(machine)[0] == "cu125"


def test_a_plug_in_is_only_for_cards_that_all_run_its_code():
    two = Simulated(nvidia(RTX_3060, "Tesla T4, 580.65.06, 15360, 15000, 7.5", header="CUDA Version: 13.0"))
    assert tags(two)[0] == "cu130"


def test_a_plug_in_has_the_version_of_the_llama_cpp_beside_which_it_goes():
    assert BUILDS["sm86"].requirement == "laguna-ggml-cuda-sm86==0.3.36"
    assert BUILDS["vulkan-plugin"].requirement == "laguna-ggml-vulkan==0.3.36"
    assert BUILDS["cu130"].requirement == "llama-cpp-python==0.3.36"


def test_the_others_follow_in_the_order_in_which_they_are_tried():
    assert tags(card("Some Card", "550.54.14", "12.4", "8.6")) == [
        "cu124",
        "cu123",
        "cu122",
        "cu121",
        "cu118",
        "vulkan-plugin",
        "vulkan",
    ]


def test_amd_takes_rocm_of_the_wheels_version_and_else_vulkan():
    files = {**CPU_ONLY, **PCI_AMD}
    assert tags(Simulated(files={**files, "/opt/rocm/.info/version": "7.2.1-81"})) == [
        "rocm72",
        "vulkan-plugin",
        "vulkan",
    ]
    assert tags(Simulated(files={**files, "/opt/rocm/.info/version": "6.4.0-47"})) == ["vulkan-plugin", "vulkan"]


def test_a_card_of_intel_s_takes_vulkan_and_the_graphics_in_its_processors_only_when_named():
    assert tags(Simulated(files={**CPU_ONLY, **PCI_INTEL, **PCI_ARC})) == ["vulkan-plugin", "vulkan"]
    assert [build.name for build in named_builds("vulkan")] == ["vulkan-plugin", "vulkan"]
    assert [build.name for build in named_builds("cu124")] == ["cu124"]


def test_a_loaded_driver_is_enough_where_nvidia_smi_is_not_installed():
    assert tags(Simulated(files={**CPU_ONLY, **PCI_NVIDIA, **DRIVER}))[0] == "cu124"


def test_apple_takes_metal():
    machine = Simulated({"sysctl -n": "Apple M3"}, system="Darwin", processor="arm64")
    assert tags(machine) == ["metal"]


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Simulated(), "no graphics card was found"),
        (Simulated(files={**CPU_ONLY, **PCI_INTEL}), "--tag vulkan"),
        (Simulated(files={**CPU_ONLY, **PCI_NVIDIA}), "fix the driver first"),
        (Simulated({"nvidia-smi": None}, {**CPU_ONLY, **PCI_NVIDIA, **DRIVER}), "fix the driver first"),
        (Simulated({"ldconfig -p": ""}, {**CPU_ONLY, **PCI_NVIDIA}), "fix the driver first"),
        (Simulated({"ldconfig -p": ""}, {**CPU_ONLY, **PCI_ARC}), r"install the Vulkan loader \(libvulkan1"),
        (card("NVIDIA GH200", "550.54.14", "12.4", "9.0", processor="aarch64"), "laguna-tui setup gpu --source"),
    ],
)
def test_where_no_build_fits_the_reason_says_what_to_do(machine, words):
    with pytest.raises(UserError, match=words):
        tags(machine)


def test_a_driver_too_old_without_vulkan_is_to_be_updated():
    machine = card("NVIDIA GeForce RTX 3090", "470.82.01", "11.4", "8.6")
    machine.commands["ldconfig -p"] = ""
    with pytest.raises(UserError, match=r"no prebuilt wheel fits driver 470.82.01 \(CUDA 11.4\).*update NVIDIA's"):
        tags(machine)


def test_the_runtime_packages_are_those_of_the_builds_own_toolkit():
    assert BUILDS["cu118"].packages == ("nvidia-cuda-runtime-cu11==11.8.*", "nvidia-cublas-cu11==11.11.*")
    assert BUILDS["cu124"].packages == ("nvidia-cuda-runtime-cu12==12.4.*", "nvidia-cublas-cu12==12.4.*")
    assert BUILDS["cu130"].packages == ("nvidia-cuda-runtime==13.0.*", "nvidia-cublas==13.0.*")


def test_the_runtime_is_fetched_only_where_the_machine_lacks_it():
    tag = BUILDS["cu124"]
    assert missing_packages(tag, Simulated()) == tag.packages
    assert missing_packages(tag, Simulated({"ldconfig -p": "libcudart.so.12 => x\nlibcublas.so.12 => x"})) == ()
    files = {f"{SITE}/nvidia/a/lib/libcudart.so.12": "", "/cuda/lib64/libcublas.so.12": "", **CPU_ONLY}
    assert missing_packages(tag, Simulated(files=files, environment={"LD_LIBRARY_PATH": "/cuda/lib64"})) == ()
    assert missing_packages(BUILDS["vulkan"], Simulated()) == ()


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        (Simulated(nvidia(RTX_3090)), "'-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=86'"),
        (Simulated(nvidia(RTX_3090, "Tesla T4, 550.54.14, 15360, 15000, 7.5")), "ARCHITECTURES=75;86'"),
        (Simulated(files={**CPU_ONLY, **PCI_AMD}), "-DGGML_VULKAN=on"),
        (Simulated(files={**CPU_ONLY, **PCI_AMD, "/opt/rocm/.info/version": "6.4.0"}), "-DGGML_HIP=on"),
        (Simulated(system="Darwin", processor="arm64"), "-DGGML_METAL=on"),
        (Simulated(), "-DGGML_NATIVE=on"),
    ],
)
def test_the_source_build_is_for_the_cards_that_are_here(machine, options):
    command = build_command(detect_graphics(machine), machine)
    assert "CXXFLAGS" not in command
    assert options in command
    assert command.endswith("--no-binary llama-cpp-python llama-cpp-python==0.3.36")
    assert "compiler" in build_needs(detect_graphics(machine), machine)


def test_the_source_build_for_a_processor_with_amx_fixes_its_kernels():
    machine = Simulated(nvidia(RTX_3090), files={**CPU_ONLY, **AMX})
    assert f"CXXFLAGS='-include {AMX_HEADER}'" in build_command(detect_graphics(machine), machine)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Output(0, '{"error": "llama.cpp cannot be loaded (libcudart.so.12: cannot open shared object file: x)"}'),
         "it installs nvidia-cuda-runtime-cu12"),
        (Output(0, '{"error": "not enough memory"}'), "not enough memory"),
        (Output(0, '{"backends": ["CPU"], "devices": [], "tokens": 9, "seconds": 1}'), "finds no graphics card"),
        (Output(0, '{"backends": [], "devices": [{"name": "x", "kind": "gpu"}], "tokens": 0, "seconds": 1}'),
         "generated nothing"),
        (Output(-signal.SIGILL), "instructions that this processor does not have"),
        (Output(-signal.SIGABRT, errors="CUDA error: no kernel image"), "SIGABRT"),
        (Output(None, timed_out=True), "did not respond in time"),
        (Output(0, "not json"), "without an error message"),
    ],
)  # fmt: skip
def test_a_trial_that_does_not_count_says_why(answer, words):
    assert words in trial_result(answer).trouble


def test_nano_is_tried_on_the_llama_cpp_that_is_here():
    """A CPU build must be told from a GPU build by what really happens."""
    trial = try_nano(sys.executable, None)
    assert trial.gpus or "finds no graphics card (backends: CPU)" in trial.trouble
    assert not trial.gpus or trial.tokens > 0


def test_nano_is_tried_on_a_build_beside_the_installed_one(tmp_path):
    fake_builds.wheel(tmp_path, "pass")
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        archive.extractall(tmp_path / "site")
    assert "llama.cpp cannot be loaded" in try_nano(sys.executable, tmp_path / "site").trouble


def unpacked(folder):
    """A site folder with a build in it, and with a file of another package in a folder that both use."""
    with zipfile.ZipFile(fake_builds.wheel(folder, "pass", more={"include/llama.h": "a header"})) as archive:
        archive.extractall(folder / "site")
    (folder / "site/include/other.h").write_text("not ours")
    return folder / "site"


def test_the_real_llama_cpp_that_is_installed_would_be_set_aside_with_all_its_files():
    site = PythonEnvironment.of().site
    real = installed(site)
    metadata, *paths = _paths(real, site)
    assert metadata == "llama_cpp_python-0.3.36.dist-info"
    assert "llama_cpp" in paths
    files = {str(name) for name in real.files if name.suffix in (".so", ".py", ".dylib", ".h")}
    assert all(name in paths or name.startswith("llama_cpp/") for name in files)
    assert not {"include", "lib"} & set(paths)


def test_what_is_set_aside_and_put_back_is_what_was_there(tmp_path):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    before = fake_builds.listing(site)
    record = rollback.begin(site, "cu124", ())
    rollback.set_aside(record)
    assert [path.relative_to(site).as_posix() for path in site.rglob("*.h") if path.parent.parent == site] == [
        "include/other.h"
    ]
    assert installed(site) is None
    (site / "llama_cpp").mkdir()
    (site / "llama_cpp/new.so").write_text("of the new build")
    rollback.put_back(record)
    rollback.forget(record)
    assert fake_builds.listing(site) == before


def test_putting_back_continues_wherever_it_was_interrupted(tmp_path):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    before = fake_builds.listing(site)
    record = rollback.begin(site, "cu124", ())
    for count in range(len(record.paths)):
        rollback.set_aside(record)
        assert record.added == ("llama-cpp-python",)
        rollback.put_back(replace(record, paths=record.paths[count:]))
        assert record.replaced == (count > 0)
        rollback.put_back(record)
        assert fake_builds.listing(site) == before


def test_a_previous_build_that_is_gone_is_not_offered_for_a_rollback(tmp_path):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    record = rollback.begin(site, "cu124", ())
    rollback.set_aside(record)
    rollback.commit()
    assert rollback.last() == record
    fake_builds.without(Path(record.folder))
    assert rollback.last() is None


def test_a_build_that_was_not_installed_by_pip_is_left_alone(tmp_path):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    (site / "llama_cpp_python-0.3.36.dist-info/RECORD").unlink()
    with pytest.raises(SetupFailed) as error:
        rollback.begin(site, "cu124", ())
    assert str(error.value) == (
        "the build was not installed by pip, so it cannot be set aside; install laguna-tui with pipx first"
    )
    assert rollback.pending() is None


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_leaves_everything_as_it_was(tmp_path, monkeypatch):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    done = rollback.begin(site, "cu124", ())
    rollback.set_aside(done)
    rollback.commit()
    unpacked(tmp_path)
    with monkeypatch.context() as crowded:
        crowded.setattr("laguna_tui.machine.setup_gpu.rollback.write_atomically", full)
        with pytest.raises(SetupFailed) as error:
            rollback.begin(site, "cu130", ())
    assert str(error.value) == (
        "the installed build cannot be set aside (No space left on device); make room on the disk and run this again"
    )
    assert rollback.pending() is None
    assert rollback.last() == done
    assert installed(site) is not None


def test_the_previous_build_of_the_last_setup_stays_until_the_next_one_has_succeeded(tmp_path):
    site, rollback = unpacked(tmp_path), Rollback(tmp_path / "state", "/a")
    first = rollback.begin(site, "cu124", ())
    rollback.set_aside(first)
    rollback.commit()
    unpacked(tmp_path)
    second = rollback.begin(site, "cu130", ())
    rollback.set_aside(second)
    assert rollback.last() == first
    rollback.commit()
    assert rollback.last() == second
    assert not Path(first.folder).exists()


def test_only_what_is_in_the_environment_itself_counts_as_installed(tmp_path):
    assert installed(tmp_path) is None
    assert installed(PythonEnvironment.of().site).version == "0.3.36"


def test_the_hash_is_that_of_the_file(tmp_path):
    (tmp_path / "x.whl").write_bytes(b"abc")
    found = Wheel.of(tmp_path / "x.whl").sha256
    assert found == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_environments_are_separate_and_a_damaged_record_is_ignored(tmp_path):
    one, other = Rollback(tmp_path, "/a"), Rollback(tmp_path, "/b")
    assert one.folder != other.folder
    one.prepare()
    old = '{"wheel": "a.whl", "tag": "cu124", "sha256": "", "packages": [], "plugin": false, "backup": ""}'
    foreign = '{"tag": "cu124", "packages": [], "plugin": false, "folder": "/home", "paths": []}'
    root, here = foreign.replace("/home", "/"), foreign.replace("/home", ".")
    for text in ("", "[]", '{"tag": 1}', old, foreign, root, here, "\xff"):
        (one.folder / "pending.json").write_text(text)
        assert one.pending() is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"managed": True}, "pipx install laguna-tui"),
        ({"has_pip": False}, "uv pip install --python /x/python pip"),
        ({"writable": False}, "as the user who installed"),
    ],
)
def test_an_environment_that_cannot_be_changed_says_what_to_do(change, words):
    good = PythonEnvironment("/x/python", "/x", Path("/x/lib"), has_pip=True, managed=False, writable=True)
    good.check()
    with pytest.raises(UserError, match=words):
        replace(good, **change).check()


def test_an_environment_made_as_pipx_does_has_pip_and_one_without_it_has_not(tmp_path):
    python = fake_builds.environment(tmp_path)
    assert PythonEnvironment.of(python).has_pip
    (fake_builds.site_of(tmp_path) / "pipx_shared.pth").unlink()
    assert not PythonEnvironment.of(python).has_pip


def test_credentials_in_an_address_are_not_shown():
    assert without_credentials("https://user:secret@host/whl/cu124") == "https://host/whl/cu124"
    assert without_credentials("https://host/a@b") == "https://host/a@b"


def test_pip_takes_no_module_from_its_folder_or_from_the_environment_but_knows_the_users_site():
    assert outside_python("/x/python") == ("/x/python", "-E", "-P")


@pytest.mark.parametrize(
    "form", [{"hashes": {"sha256": "ab12"}}, {"hash": "sha256=ab12"}], ids=["pip 23.1", "pip 22.2"]
)
def test_hashes_are_read_from_the_report_of_every_pip(tmp_path, form):
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"install": [{"download_info": {"archive_info": form}}]}))
    _check_hashes([Wheel(tmp_path / "x.whl", "ab12")], report)
    with pytest.raises(SetupFailed) as raised:
        _check_hashes([Wheel(tmp_path / "x.whl", "cd34")], report)
    assert str(raised.value) == "pip unpacked different bytes than it downloaded; run this again"
