"""The profile of models that cannot call tools: they answer from what comes with a question."""

from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.model_profile import ExampleQuestions, ModelProfile

CHAT = ModelProfile(
    system_prompt=system_prompt("chat"),
    tools=(),
    abilities="answers questions about code that you add with @.",
    examples=ExampleQuestions(
        defined="What does {name} do?",
        used="How is {name} used?",
        tested="How would you test {name}?",
    ),
    guard=lambda asked, before: Guard(),
    # There is nothing that a mode could forbid it.
    reads_reminders=False,
    describes_environment=False,
)
