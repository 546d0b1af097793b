"""The report of a benchmark: the results, the machine and the files. Markdown to read, JSON to keep."""

import json
import math
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import psutil

from laguna_engine.native.library import device_descriptions, ggml_version
from laguna_tui import __version__
from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize
from laguna_tui.base.units import memory
from laguna_tui.bench.answer_runs import AnswerSample
from laguna_tui.bench.measurement import Measurement
from laguna_tui.bench.workload import BenchOptions
from laguna_tui.models.records import SHA256, fingerprint_of


@dataclass(frozen=True, slots=True)
class HostInfo:
    """The machine of a benchmark.

    Attributes:
        cpu: Name of the processor.
        cores: Physical cores.
        threads: Logical cores.
        memory: Bytes.
        system: Operating system and release.
        python: Version.
        devices: As llama.cpp describes them.
        llama_cpp_python: Version.
        ggml: Version.
        app: Version.
    """

    cpu: str
    cores: int
    threads: int
    memory: int
    system: str
    python: str
    devices: tuple[str, ...]
    llama_cpp_python: str
    ggml: str
    app: str

    @classmethod
    def here(cls) -> "HostInfo":
        """Describe this machine. Loads llama.cpp, which alone knows the devices."""
        logical = psutil.cpu_count() or 1
        return cls(
            cpu=_cpu_name(),
            cores=psutil.cpu_count(logical=False) or logical,
            threads=logical,
            memory=psutil.virtual_memory().total,
            system=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            devices=device_descriptions(),
            llama_cpp_python=version("llama-cpp-python"),
            ggml=ggml_version(),
            app=__version__,
        )

    def fields(self) -> dict[str, object]:
        """Return JSON-able values."""
        return asdict(self)

    def line(self) -> str:
        """Return one line of a report."""
        cores = f"{self.cores} cores" if self.cores == self.threads else f"{self.cores} cores, {self.threads} threads"
        return (
            f"{self.cpu}, {cores}, {memory(self.memory, 0)}; {', '.join(self.devices)}; "
            f"llama-cpp-python {self.llama_cpp_python} (ggml {self.ggml}), laguna-tui {self.app}"
        )


def load_average() -> float | None:
    """Return the load average of the last minute; None where the system does not report it."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


FORMAT = 1
"""Version of the JSON: increased when a reader of the old one would misread it."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model's file: name, size in bytes, and the hash that identifies it."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, progress: ProgressLine) -> "ModelFile":
        """Hash the whole file."""
        size = path.stat().st_size
        with ProgressLine(f"hashing {path.name}", quiet=not progress.visible) as line:
            return cls(path.name, size, fingerprint_of(path, SHA256, line.counter(size)).value)

    def line(self) -> str:
        """Return one line of a report."""
        return f"{self.name}, {self.size / 1e6:,.1f} MB, sha256 {self.sha256}"


@dataclass(slots=True)
class Report:
    """One benchmark, from its start until it is finished or interrupted."""

    kind: str
    options: BenchOptions
    machine: HostInfo
    model: ModelFile
    drafter: ModelFile | None
    load_before: float | None
    load_after: float | None = None
    interrupted: bool = False
    _body: dict[str, object] = field(default_factory=dict)
    _engine: dict[str, object] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, kind: str, options: BenchOptions, progress: ProgressLine) -> "Report":
        """Describe the machine and the files. The load average is that of other programs."""
        load = load_average()
        model = ModelFile.of(options.model, progress)
        drafter = None if options.drafter is None else ModelFile.of(options.drafter, progress)
        return cls(kind, options, HostInfo.here(), model, drafter, load)

    def finish(self, measurement: Measurement, *, interrupted: bool) -> None:
        """Add the results so far."""
        self.load_after, self.interrupted = load_average(), interrupted
        outcome, info, opened = measurement.outcome(), measurement.engine.info, measurement.engine.options
        self._engine = {} if opened is None else {"threads": opened.threads, "gpu_layers": opened.gpu_layers}
        self._body = {
            "rows": list(outcome.rows),
            "notes": list(outcome.notes),
            "prompts": [{"name": prompt.name, "tokens": len(prompt.tokens)} for prompt in measurement.engine.prompts],
            "engine": None
            if info is None
            else {"context": info.n_ctx, "kv": info.kv_type.value, "drafter": info.drafter},
            "warnings": [] if info is None else list(info.warnings),
            "samples": [_sample(sample) for sample in measurement.samples],
        }
        self._lines = markdown_table(outcome.columns, outcome.cells) if outcome.rows else ["Nothing was measured."]
        warnings = [] if info is None else [f"warning: {text}" for text in info.warnings]
        self._lines += ["", *(f"- {note}" for note in (*outcome.notes, *self._about(measurement), *warnings))]

    def markdown(self) -> str:
        """Return the table and the notes needed to read it."""
        title = f"## laguna-tui bench {self.kind}{', interrupted' if self.interrupted else ''}"
        return sanitize("\n".join([title, "", *self._lines])) + "\n"

    def json(self) -> str:
        """Return everything measured, as one JSON object; missing figures are null."""
        whole = {
            "format": FORMAT,
            "bench": self.kind,
            "interrupted": self.interrupted,
            "machine": {**self.machine.fields(), "load_before": self.load_before, "load_after": self.load_after},
            "model": asdict(self.model),
            "drafter": None if self.drafter is None else asdict(self.drafter),
            "options": {**self._options(), **self._engine},
            **self._body,
        }
        return json.dumps(_finite(whole), ensure_ascii=False, indent=1) + "\n"

    def _options(self) -> dict[str, object]:
        settings, sampling = self.options.settings, self.options.sampling
        return {
            "speculation": settings.speculation,
            "tokens": self.options.tokens,
            "repeats": self.options.repeats,
            "use": self.options.use,
            "sampling": asdict(sampling),
        }

    def _about(self, measurement: Measurement) -> list[str]:
        prompts, answers = len(measurement.engine.prompts), len(measurement.samples)
        loads = f"load average {_load(self.load_before)} before, {_load(self.load_after)} after"
        settings, opened = self.options.settings, measurement.engine.options
        threads = _threads(0 if opened is None else opened.threads)
        lines = [
            f"{prompts} prompts, {answers} answers of up to {self.options.tokens} tokens; "
            f"KV cache {'f16' if opened is None else opened.kv_type.value}, {threads}, {settings.speculation} mode, "
            f"temperature {self.options.sampling.temperature:g}",
            f"model: {self.model.line()}",
        ]
        lines += [] if self.drafter is None else [f"drafter: {self.drafter.line()}"]
        return [*lines, f"machine: {self.machine.line()}; {loads}"]


def _sample(sample: AnswerSample) -> dict[str, object]:
    return {
        "way": sample.way,
        "prompt": sample.prompt,
        "repeat": sample.repeat,
        "tokens": sample.stats.generated_tokens,
        "decode_s": sample.seconds,
        "prefill_s": sample.stats.prefill_s,
        "prompt_tokens": sample.stats.prompt_tokens,
        "cached_tokens": sample.stats.cached_tokens,
        "rounds": sample.stats.rounds,
        "drafted": sample.stats.drafted,
        "accepted": sample.stats.accepted,
    }


def _threads(count: int) -> str:
    return {0: "one thread per core", 1: "1 thread"}.get(count, f"{count} threads")


def _load(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _finite(value: object) -> object:
    """Return the value with None for infinities and NaN, which JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
