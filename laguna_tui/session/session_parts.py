"""An open session's agent, tools and context, and how they switch to another engine or model."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laguna_engine.config import Speculation
from laguna_tui.base.errors import UserError
from laguna_tui.models.entry import ModelEntry, ToolSet
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.session.model_options import agent_options
from laguna_tui.session.values import SessionOptions

if TYPE_CHECKING:
    from laguna_tui.agent.changes import Changes
    from laguna_tui.agent.loop import Agent
    from laguna_tui.agent.permission_gate import PermissionGate
    from laguna_tui.agent.tools.base.model_profile import ModelProfile
    from laguna_tui.agent.tools.base.tool import Tool
    from laguna_tui.agent.tools.mcp.mcp_config import McpServer
    from laguna_tui.agent.tools.mcp.mcp_tools import McpTools
    from laguna_tui.agent.tools.registry import Toolbox
    from laguna_tui.agent.turn_history import TurnHistory
    from laguna_tui.backends.local.backend import LocalBackend
    from laguna_tui.backends.remote import RemoteBackend
    from laguna_tui.sandbox.runner import CommandRunner
    from laguna_tui.session.workspace_context import WorkspaceContext


_OWN_TOOLS_ONLY = "{title} uses its own tools only, so the MCP servers of {sources} are not started."
_NO_CALLS = "{title} cannot call tools, so the MCP servers of {sources} are not started."


class McpServers:
    """The MCP servers of a session, started with the first model that gets their tools."""

    def __init__(
        self,
        folder: Path,
        state: Path | None,
        commands: "Callable[[], CommandRunner]",
        clients: "Sequence[McpServer]" = (),
    ) -> None:
        """Start nothing yet.

        Args:
            folder: the workspace.
            state: the user's state folder; None trusts no folder and saves nothing.
            commands: returns the runner whose sandbox and policy apply to them.
            clients: servers of the program that the session is for.
        """
        self._folder, self._state, self._commands, self._clients = folder, state, commands, clients
        self._tools: McpTools | None = None
        self._offered: tuple[Tool[Any], ...] | None = None
        self._problem = self._unused = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about them, as sentences."""
        found = (self._problem, self._unused, *(self._tools.notes if self._tools is not None else ()))
        return tuple(filter(None, found))

    def added_to(self, profile: "ModelProfile", entry: ModelEntry) -> "ModelProfile":
        """Return the profile with their tools appended; unchanged for a model whose tools are fixed."""
        from laguna_tui.agent.tools.mcp.mcp_tools import McpTools

        if self._tools is None and not self._problem:
            try:
                self._tools = McpTools(self._folder, self._state, self._commands, clients=self._clients)
            except UserError as error:
                # A mistake in the user's file is no reason to have no session.
                self._problem = str(error)
        tools, self._unused = self._tools, ""
        if tools is None:
            return profile
        if entry.tools is not ToolSet.FULL or not profile.tools:
            if tools.sources:
                reason = _OWN_TOOLS_ONLY if profile.tools else _NO_CALLS
                self._unused = reason.format(title=entry.title, sources=" and ".join(tools.sources))
            return profile
        if self._offered is None:
            self._offered = tools.offer()
        return replace(profile, tools=(*profile.tools, *self._offered))

    def text(self) -> str:
        """Return all servers and what each offers, for the user."""
        from laguna_tui.agent.tools.mcp.mcp_tools import overview_text

        return overview_text(self._tools.overview() if self._tools is not None else (), self.notes)

    def close(self) -> None:
        """Stop the running ones. Idempotent."""
        if self._tools is not None:
            self._tools.close()


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What a session's tools work with, whichever model calls them.

    Attributes:
        changes: they change files through it.
        permissions: what they may do.
        commands: returns what runs the model's commands.
        history: undoes turns.
    """

    changes: "Changes"
    permissions: "PermissionGate"
    commands: "Callable[[], CommandRunner]"
    history: "TurnHistory"


@dataclass(slots=True)
class SessionParts:
    """The conversation's agent, its tools and the folder's context.

    All of them outlive a switch of models, except the toolbox: each model has its own tools.
    """

    toolbox: "Toolbox"
    agent: "Agent"
    context: "WorkspaceContext"
    changes: "Changes"
    servers: "McpServers"

    @classmethod
    def begin(
        cls,
        backend: "LocalBackend | RemoteBackend",
        selection: ModelSelection,
        folder: Path,
        state: Path | None,
        services: SessionServices,
        options: SessionOptions,
    ) -> "SessionParts":
        """Begin a conversation with a backend of this model; what it opened is closed if that fails.

        Args:
            backend: what generates.
            selection: its model.
            folder: the workspace.
            state: the user's state folder; None for none.
            services: what its tools work with.
            options: how the session is opened.
        """
        from laguna_tui.agent.loop import Agent
        from laguna_tui.agent.profile import profile_of
        from laguna_tui.agent.tools.registry import Toolbox
        from laguna_tui.repo.files.workspace import Workspace
        from laguna_tui.session.workspace_context import WorkspaceContext

        entry, settings = selection.entry, selection.settings
        with ExitStack() as undo:
            workspace = Workspace(folder)
            gate = services.permissions
            context = WorkspaceContext(workspace, settings, state, options.wait_s, gate.permissions.readable)
            undo.callback(context.close)
            servers = McpServers(folder, state, services.commands, options.clients)
            undo.callback(servers.close)
            profile = servers.added_to(profile_of(entry, writes_calls=backend.writes_calls), entry)
            toolbox = Toolbox(
                profile,
                workspace,
                codebase=context.codebase,
                changes=services.changes,
                commands=services.commands,
                permissions=gate,
                state=state,
            )
            undo.callback(toolbox.close)
            attacher = context.attacher(backend, profile)
            answers = agent_options(settings, entry)
            agent = Agent(backend, toolbox, answers, attacher=attacher, history=services.history)
            undo.pop_all()
        return cls(toolbox, agent, context, services.changes, servers)

    def use_backend(self, backend: "LocalBackend | RemoteBackend") -> None:
        """Switch to a fresh backend of the same model."""
        self.agent.use_backend(backend, self.context.attacher(backend, self.toolbox.profile))

    def use_model(self, backend: "LocalBackend | RemoteBackend", selection: ModelSelection, mode: Speculation) -> None:
        """Switch to another model, which reads the conversation again."""
        from laguna_tui.agent.profile import profile_of

        options = agent_options(selection.settings, selection.entry)
        options = replace(options, drafting=replace(options.drafting, enabled=mode is not Speculation.OFF))
        profile = profile_of(selection.entry, writes_calls=backend.writes_calls)
        toolbox = self.toolbox.with_profile(self.servers.added_to(profile, selection.entry))
        self.agent.use_model(backend, options, toolbox, self.context.attacher(backend, toolbox.profile))
        self.toolbox = toolbox

    def close(self) -> None:
        """Close everything but the engine. Idempotent."""
        self.toolbox.close()
        self.context.close()
        self.servers.close()
