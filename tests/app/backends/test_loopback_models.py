"""What other programs serve on this machine is found at the ports that are asked, and costs nothing where none does."""

from laguna_tui.backends.endpoint import loopback_models
from tests.scripted_endpoint import endpoint


def test_the_models_of_each_endpoint_are_found():
    with endpoint(models=("a", "b")) as served:
        port = int(served.url.rsplit(":", 1)[1].removesuffix("/v1"))
        found = loopback_models({port: "Ollama", 9: "vLLM"}, wait_s=60)
    assert [(model.url, model.name, model.owner) for model in found] == [
        (served.url, "a", "Ollama"),
        (served.url, "b", "Ollama"),
    ]


def test_an_endpoint_that_wants_a_key_is_passed_over():
    with endpoint(key="secret") as served:
        port = int(served.url.rsplit(":", 1)[1].removesuffix("/v1"))
        assert loopback_models({port: "vLLM"}, wait_s=60) == ()
