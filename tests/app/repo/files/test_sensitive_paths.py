"""Which files are taken for ones with secrets, by their names."""

import pytest

from laguna_tui.repo.files.sensitive_paths import sensitive_reason

SECRET = """
.env .ENV .env.local .env.production config/.env prod.env .envrc .flaskenv id_rsa keys/id_ed25519 server.pem SERVER.PEM
tls/private.key x.p12 x.pfx x.jks release.keystore passwords.kdbx putty.ppk .netrc _netrc .npmrc .pypirc .pgpass
.git-credentials .htpasswd credentials.json gcp/credentials.json client_secret_123.json service-account.json
service_account_prod.json my-service-account.json application_default_credentials.json kubeconfig prod.kubeconfig
.kube/config .docker/config.json secrets.yaml secrets.yml config/secrets.toml terraform.tfstate .cargo/credentials.toml
.ssh/config home/.ssh/known_hosts .aws/config .aws/credentials .gnupg/pubring.kbx .config/gcloud/x.db
.password-store/mail.gpg .secrets/x /home/me/.ssh/id_rsa ~/.aws/credentials .env. .Env\u200b .ｅnv
""".split()

PUBLIC = """
.env.example .env.sample .env.template .env.production.example .env.dist example.env id_rsa.pub deploy.pub
public.pem jwt-public.key cacert.pem environment.py src/env.ts .envoy.yaml config.json docker/config.json keys.py
key.py secrets.py tests/test_credentials.py .env/lib/python3/site.py README.md .npmignore monkey.py config/gcloud.py
ssh/client.go aws/main.tf tokenizer.json
""".split()


@pytest.mark.parametrize("path", SECRET)
def test_a_file_with_secrets_is_known_by_its_name(path: str):
    assert sensitive_reason(path)


@pytest.mark.parametrize("path", PUBLIC)
def test_examples_public_keys_and_code_are_no_secrets(path: str):
    assert sensitive_reason(path) == ""


def test_the_reason_is_a_clause_about_the_file():
    assert sensitive_reason(".env") == "holds the settings and secrets of an environment"
    assert sensitive_reason("a/id_rsa") == "holds private keys"
    assert sensitive_reason(".ssh/config") == "is in a folder of credentials"
